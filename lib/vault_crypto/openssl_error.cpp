#include "lib/vault_crypto/openssl_error.hpp"

#include <fmt/format.h>
#include <openssl/err.h>

#include <array>

namespace plimsoll::vault {

tl::unexpected<Error> openssl_failure(std::string_view what) {
  std::array<char, 256> reason{"no reason given"};
  if (const auto code = ERR_get_error(); code != 0) {
    ERR_error_string_n(code, reason.data(), reason.size());
  }
  ERR_clear_error();
  return fail(Errc::kInternal, fmt::format("{}: {}", what, reason.data()));
}

}  // namespace plimsoll::vault
