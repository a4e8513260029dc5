#include "lib/vault_crypto/secret_name.hpp"

#include <fmt/format.h>

#include <string_view>

namespace plimsoll::vault {
namespace {

Result<void> check_part(std::string_view role, std::string_view part) {
  if (part.empty() || part.size() > kMaxName) {
    return fail(Errc::kInvalidArgument,
                fmt::format("{} of {} bytes; 1 to {} are allowed", role, part.size(), kMaxName));
  }
  if (part.find('\0') != std::string_view::npos) {
    return fail(Errc::kInvalidArgument, fmt::format("{} with a NUL byte", role));
  }
  return {};
}

void append_number(std::string& to, std::uint64_t value) {
  for (int shift = 56; shift >= 0; shift -= 8) to += static_cast<char>(value >> shift & 0xff);
}

}  // namespace

Result<void> check_name(const SecretName& name) {
  auto tenant = check_part("tenant", name.tenant);
  if (!tenant) return tenant;
  return check_part("path", name.path);
}

std::string context_of(const SecretName& name, std::uint64_t version) {
  std::string context = "plimsoll vault secret";
  append_number(context, name.tenant.size());
  context += name.tenant;
  append_number(context, name.path.size());
  context += name.path;
  append_number(context, version);
  return context;
}

}  // namespace plimsoll::vault
