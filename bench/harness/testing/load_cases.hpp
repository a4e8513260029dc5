#pragma once

namespace plimsoll::bench::testing {

/// Registers the probe's cases about load reports and counted work.
void register_load_cases();

}  // namespace plimsoll::bench::testing
