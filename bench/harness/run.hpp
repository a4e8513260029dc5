#pragma once

#include <string_view>

namespace plimsoll::bench {

/// What main does: gate, flags, registration by `register`, run, exit code. See usage() for the
/// codes.
[[nodiscard]] int run(int argc, char** argv, std::string_view group, void (*register_all)());

}  // namespace plimsoll::bench
