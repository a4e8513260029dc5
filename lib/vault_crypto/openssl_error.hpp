#pragma once

#include <string_view>

#include "lib/core/result.hpp"

namespace plimsoll::vault {

/// kInternal with `what` and OpenSSL's own reason; empties this thread's OpenSSL error queue.
[[nodiscard]] tl::unexpected<Error> openssl_failure(std::string_view what);

}  // namespace plimsoll::vault
