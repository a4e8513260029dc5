#include "lib/kv_store/checks.hpp"

#include <fmt/format.h>

#include "lib/core/utf8.hpp"

namespace plimsoll::kv {
namespace {

Result<void> check_text(std::string_view what, std::string_view role, std::string_view text,
                        std::size_t longest) {
  if (text.size() > longest) {
    return fail(Errc::kInvalidArgument,
                fmt::format("kv {}: the {} has {} bytes, at most {} are allowed", what, role,
                            text.size(), longest));
  }
  const auto fault = utf8_fault(text);
  if (!fault) return {};
  return fail(Errc::kInvalidArgument,
              text[*fault] == '\0'
                  ? fmt::format("kv {}: the {} holds a NUL at byte {}", what, role, *fault)
                  : fmt::format("kv {}: the {} is not UTF-8 at byte {}", what, role, *fault));
}

Result<void> check_name(std::string_view what, std::string_view role, std::string_view text,
                        std::size_t longest) {
  if (!text.empty()) return check_text(what, role, text, longest);
  return fail(Errc::kInvalidArgument, fmt::format("kv {}: the {} is empty", what, role));
}

Result<void> check_count(std::string_view what, std::string_view role, std::size_t count,
                         std::size_t most) {
  if (count >= 1 && count <= most) return {};
  return fail(Errc::kInvalidArgument,
              fmt::format("kv {}: {} is {}, it must be from 1 to {}", what, role, count, most));
}

}  // namespace

Result<void> check_tenant(std::string_view what, std::string_view tenant) {
  return check_name(what, "tenant", tenant, kMaxTenantBytes);
}

Result<void> check_key(std::string_view what, std::string_view key) {
  return check_name(what, "key", key, kMaxKeyBytes);
}

Result<void> check_prefix(std::string_view what, std::string_view prefix) {
  return check_text(what, "prefix", prefix, kMaxKeyBytes);
}

Result<void> check_write(std::string_view what, const Write& write) {
  if (auto bad = check_key(what, write.key); !bad) return bad;
  if (auto bad = check_text(what, "value", write.value, kMaxValueBytes); !bad) return bad;
  if (!write.ttl || (*write.ttl >= kMinTtl && *write.ttl <= kMaxTtl)) return {};
  return fail(Errc::kInvalidArgument,
              fmt::format("kv {}: the ttl is {} ms, it must be from {} to {}", what,
                          write.ttl->count(), kMinTtl.count(), kMaxTtl.count()));
}

Result<void> check_keys(std::string_view what, const std::vector<std::string>& keys) {
  if (auto bad = check_count(what, "the number of keys", keys.size(), kMaxBatch); !bad) return bad;
  for (const std::string& key : keys) {
    if (auto bad = check_key(what, key); !bad) return bad;
  }
  return {};
}

Result<void> check_writes(std::string_view what, const std::vector<Write>& writes) {
  auto counted = check_count(what, "the number of writes", writes.size(), kMaxBatch);
  if (!counted) return counted;
  std::size_t bytes = 0;
  for (const Write& write : writes) {
    if (auto bad = check_write(what, write); !bad) return bad;
    bytes += write.value.size();
  }
  if (bytes <= kMaxBatchBytes) return {};
  return fail(Errc::kInvalidArgument,
              fmt::format("kv {}: the values have {} bytes together, at most {} are allowed", what,
                          bytes, kMaxBatchBytes));
}

Result<void> check_expected(std::string_view what, Version expected) {
  if (expected >= kAbsent) return {};
  return fail(Errc::kInvalidArgument,
              fmt::format("kv {}: the expected version is {}, no entry ever has one below 0", what,
                          expected));
}

Result<void> check_limit(std::string_view what, std::size_t limit) {
  return check_count(what, "the limit", limit, kMaxPage);
}

}  // namespace plimsoll::kv
