#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "lib/core/result.hpp"

namespace plimsoll::rls {

/// Most bytes of one value of an identity, roles together counting as one.
inline constexpr std::size_t kMaxIdentityBytes = 8192;

/// On whose behalf SQL runs. Checked when made, so that a queue never meets a bad one; values go to
/// the server as parameters, so quotes, colons and line breaks are ordinary characters.
class Identity {
 public:
  /// `user` and `actor` may be empty, which policies see as absent. `actor` is who acts for the
  /// user (support staff, a service), for queues whose settings have it. Roles travel as an array
  /// of text, in their order.
  ///
  /// Errors: kInvalidArgument: an empty tenant, a NUL byte, more than kMaxIdentityBytes.
  [[nodiscard]] static Result<Identity> make(std::string tenant, std::string user,
                                             const std::vector<std::string>& roles = {},
                                             std::string actor = {});

  [[nodiscard]] const std::string& tenant() const noexcept { return tenant_; }
  [[nodiscard]] const std::string& user() const noexcept { return user_; }
  /// As PostgreSQL writes an array: `{"a","b"}`.
  [[nodiscard]] const std::string& roles() const noexcept { return roles_; }
  [[nodiscard]] const std::string& actor() const noexcept { return actor_; }

 private:
  Identity() = default;

  std::string tenant_;
  std::string user_;
  std::string roles_;
  std::string actor_;
};

}  // namespace plimsoll::rls
