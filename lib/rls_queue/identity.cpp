#include "lib/rls_queue/identity.hpp"

#include <fmt/format.h>

#include <string_view>
#include <utility>

namespace plimsoll::rls {
namespace {

Result<void> check(std::string_view what, std::string_view value) {
  if (const auto nul = value.find('\0'); nul != std::string_view::npos) {
    return fail(Errc::kInvalidArgument,
                fmt::format("identity: the {} holds a NUL at byte {}", what, nul));
  }
  if (value.size() > kMaxIdentityBytes) {
    return fail(Errc::kInvalidArgument, fmt::format("identity: the {} has {} bytes, at most {} are "
                                                    "allowed",
                                                    what, value.size(), kMaxIdentityBytes));
  }
  return {};
}

// Every element is quoted, so that NULL, braces and commas in a role's name mean nothing.
std::string array_of(const std::vector<std::string>& elements) {
  std::string array = "{";
  for (const auto& element : elements) {
    array += array.size() > 1 ? ",\"" : "\"";
    for (const char c : element) {
      if (c == '"' || c == '\\') array += '\\';
      array += c;
    }
    array += '"';
  }
  return array + '}';
}

}  // namespace

Result<Identity> Identity::make(std::string tenant, std::string user,
                                const std::vector<std::string>& roles, std::string actor) {
  if (tenant.empty()) {
    return fail(Errc::kInvalidArgument,
                "identity: the tenant is empty, and would read nobody's rows; name one");
  }
  Identity made;
  made.tenant_ = std::move(tenant);
  made.user_ = std::move(user);
  made.roles_ = array_of(roles);
  made.actor_ = std::move(actor);
  if (auto bad = check("tenant", made.tenant_); !bad) return fail(std::move(bad.error()));
  if (auto bad = check("user", made.user_); !bad) return fail(std::move(bad.error()));
  if (auto bad = check("list of roles", made.roles_); !bad) return fail(std::move(bad.error()));
  if (auto bad = check("actor", made.actor_); !bad) return fail(std::move(bad.error()));
  return made;
}

}  // namespace plimsoll::rls
