#pragma once

#include <array>
#include <cstdint>

#include "lib/core/result.hpp"
#include "lib/vault_crypto/bytes.hpp"

namespace plimsoll::vault {

using Nonce = std::array<std::byte, kNonceBytes>;

/// Twelve random bytes for one message, out of this thread's buffer.
///
/// One call of RAND_bytes takes about 2 µs whatever its length, ten times a small seal; it is made
/// once for 256 nonces. A forked child throws the inherited buffer away before its first draw, so
/// parent and child never draw the same bytes.
///
/// Cost: about 3 ns, no allocation. Thread safety: from any thread.
/// Errors: kInternal (OpenSSL has no entropy).
[[nodiscard]] Result<void> draw_nonce(std::span<std::byte, kNonceBytes> into);

/// 32 bytes for a key, from OpenSSL's generator for private values (RAND_priv_bytes). The buffer
/// behind it is pinned, and zeroed as it is used.
///
/// Cost: as draw_nonce; where no page can be pinned there is no buffer, and each key takes 2 µs.
/// Thread safety, errors: as draw_nonce.
[[nodiscard]] Result<void> draw_key(std::span<std::byte, kKeyBytes> into);

/// A number that a process does not share with its forked children. What was counted or buffered
/// under another value belongs to the parent.
///
/// The kernel clears the page behind it in the child (MADV_WIPEONFORK), which also catches a raw
/// clone(2); where the kernel cannot, pthread_atfork does it, which catches fork(2).
///
/// Cost: about 1 ns.
[[nodiscard]] std::uint64_t fork_epoch() noexcept;

}  // namespace plimsoll::vault
