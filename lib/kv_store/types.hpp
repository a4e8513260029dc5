#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace plimsoll::kv {

/// Which write of a store an entry comes from. Grows with each write of a key, and no two writes of
/// a store have the same one, not even where a key is erased or expires in between: who holds a
/// version can tell whether anything happened since.
using Version = std::int64_t;

/// The version of a key that has no entry, for compare_and_set.
inline constexpr Version kAbsent = 0;

inline constexpr std::size_t kMaxTenantBytes = 128;
inline constexpr std::size_t kMaxKeyBytes = 1024;
inline constexpr std::size_t kMaxValueBytes = 1UL << 20;
inline constexpr std::size_t kMaxBatch = 1000;             ///< Keys of one get_all or set_all.
inline constexpr std::size_t kMaxBatchBytes = 16UL << 20;  ///< Values of one set_all.
inline constexpr std::size_t kMaxPage = 10'000;
inline constexpr std::chrono::milliseconds kMinTtl{1};
inline constexpr std::chrono::milliseconds kMaxTtl{std::chrono::hours{24 * 365 * 10}};

/// What stands under a key. Has constructors, hence is no aggregate, because GCC 12 destroys an
/// aggregate twice that is written out inside a co_await statement; so have the others here.
struct Entry {
  Entry() = default;
  Entry(std::string bytes, Version at) noexcept : value(std::move(bytes)), version(at) {}

  std::string value;
  Version version = kAbsent;

  friend bool operator==(const Entry&, const Entry&) = default;
};

/// A value to be stored under a key. Without a ttl it stays until it is replaced or erased; a write
/// without one also ends the ttl of the entry before.
struct Write {
  Write() = default;
  Write(std::string of, std::string bytes,
        std::optional<std::chrono::milliseconds> lives = std::nullopt) noexcept
      : key(std::move(of)), value(std::move(bytes)), ttl(lives) {}

  std::string key;
  std::string value;
  std::optional<std::chrono::milliseconds> ttl{};
};

/// A key of a listing, without its value.
struct Listed {
  Listed() = default;
  Listed(std::string of, Version at) noexcept : key(std::move(of)), version(at) {}

  std::string key;
  Version version = kAbsent;

  friend bool operator==(const Listed&, const Listed&) = default;
};

/// A part of a listing, in the order of the keys' bytes.
struct Page {
  std::vector<Listed> entries;  ///< Possibly fewer than asked for, or none, although more follow.
  std::string cursor;           ///< Where the next page begins; empty: there is none.
};

}  // namespace plimsoll::kv
