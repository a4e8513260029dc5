#pragma once

namespace plimsoll::bench::testing {

/// Cases of the probe that kill the session's server and fail for want of it.
void register_server_cases();

}  // namespace plimsoll::bench::testing
