#pragma once

#include <array>
#include <cstddef>
#include <utility>

#include "lib/core/result.hpp"
#include "lib/vault_crypto/bytes.hpp"

namespace plimsoll::vault {

/// What to do where the operating system will not pin a page (RLIMIT_MEMLOCK, seccomp).
enum class LockPolicy {
  kRequired,    ///< Refuse to hold the secret: kRefused, with the limit and how to raise it.
  kBestEffort,  ///< Hold it in pageable memory and count it in `locked_memory().pageable`.
};

/// Bytes of secret memory that this process holds now.
struct LockedMemory {
  std::size_t locked = 0;    ///< Pinned: never written to swap.
  std::size_t pageable = 0;  ///< Not pinned, under kBestEffort: report it.
};
[[nodiscard]] LockedMemory locked_memory() noexcept;

/// Whole pages for secrets: pinned, left out of core dumps, zeroed before they are given back.
///
/// Cost: four system calls to create, three to destroy; use SecretKey for single keys.
/// Thread safety: as a plain array.
/// Errors: kRefused (the page could not be pinned), kInternal (no memory).
class SecretRegion {
 public:
  SecretRegion() = default;
  [[nodiscard]] static Result<SecretRegion> create(std::size_t bytes,
                                                   LockPolicy policy = LockPolicy::kRequired);
  SecretRegion(SecretRegion&& other) noexcept { swap(other); }
  SecretRegion& operator=(SecretRegion&& other) noexcept {
    swap(other);
    return *this;
  }
  ~SecretRegion();

  /// As many bytes as were asked for. Zero at first.
  [[nodiscard]] MutableBytes bytes() noexcept { return {data_, size_}; }
  [[nodiscard]] Bytes bytes() const noexcept { return {data_, size_}; }
  [[nodiscard]] bool locked() const noexcept { return locked_; }

  /// From now on a write is a fault, by the kernel's hand.
  [[nodiscard]] Result<void> make_read_only();

 private:
  void swap(SecretRegion& other) noexcept;

  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t mapped_ = 0;
  bool locked_ = false;
};

/// 256 bits of key in pinned memory, zeroed at the end. Slots of 32 bytes are cut from shared
/// regions, so that thousands of keys fit where RLIMIT_MEMLOCK allows a few pages.
///
/// Cost: a mutex and a list operation to create and to destroy; a system call for every 512th.
/// Thread safety: creating and destroying from any thread; the bytes as a plain array.
/// Errors: kRefused and kInternal as SecretRegion; kInternal also when there is no randomness.
class SecretKey {
 public:
  using View = std::span<const std::byte, kKeyBytes>;

  /// From the operating system's randomness, through this thread's buffer (random.hpp).
  [[nodiscard]] static Result<SecretKey> generate(LockPolicy policy = LockPolicy::kRequired);
  /// Copies `material`; the caller zeroes its own copy.
  [[nodiscard]] static Result<SecretKey> copy_of(View material,
                                                 LockPolicy policy = LockPolicy::kRequired);
  /// All zero, to be filled through `mutable_view`.
  [[nodiscard]] static Result<SecretKey> zero(LockPolicy policy = LockPolicy::kRequired);

  SecretKey(SecretKey&& other) noexcept : slot_(std::exchange(other.slot_, nullptr)) {}
  SecretKey& operator=(SecretKey&& other) noexcept {
    std::swap(slot_, other.slot_);
    return *this;
  }
  ~SecretKey();

  [[nodiscard]] View view() const noexcept { return View(slot_, kKeyBytes); }
  [[nodiscard]] std::span<std::byte, kKeyBytes> mutable_view() noexcept {
    return std::span<std::byte, kKeyBytes>(slot_, kKeyBytes);
  }

 private:
  explicit SecretKey(std::byte* slot) noexcept : slot_(slot) {}
  std::byte* slot_;
};

/// Zeroes bytes in a way that the compiler may not leave out.
void cleanse(MutableBytes bytes) noexcept;

/// Compares in time that depends on the length alone.
[[nodiscard]] bool equal_in_constant_time(Bytes a, Bytes b) noexcept;

/// A key's public name: keyed BLAKE2b-256 (RFC 7693) of `label` under the key. It does not help to
/// find the key, and finding two keys with the same name takes 2^128 work. Of the key nothing stays
/// behind.
///
/// Cost: about 0.7 µs and no allocation after a thread's first call.
/// Errors: kInternal (OpenSSL without BLAKE2).
using KeyDigest = std::array<std::byte, 32>;
[[nodiscard]] Result<KeyDigest> key_digest(SecretKey::View key, std::string_view label);

}  // namespace plimsoll::vault
