#pragma once

#include <cstddef>
#include <cstdint>

namespace plimsoll::bench {

/// System calls made through libc's functions, ours and every library's. A call that fails or would
/// block counts as a call; only what it moved counts as bytes.
struct IoCounts {
  std::uint64_t sends = 0;     ///< send, sendto, sendmsg
  std::uint64_t receives = 0;  ///< recv, recvfrom, recvmsg
  std::uint64_t bytes_sent = 0;
  std::uint64_t bytes_received = 0;
  std::uint64_t polls = 0;  ///< poll, ppoll, select, pselect, epoll_wait, epoll_pwait
  std::uint64_t writes =
      0;  ///< write, writev, pwrite; also on a socket: the descriptor's kind is not looked up
  std::uint64_t reads = 0;  ///< read, readv, pread; likewise
  std::uint64_t bytes_written = 0;
  std::uint64_t bytes_read = 0;
  std::uint64_t syncs = 0;  ///< fsync, fdatasync
};

/// Names one of them, for counting.
enum class IoKind { kSend, kReceive, kPoll, kWrite, kRead, kSync };

/// True where the functions are interposed: in every bench binary, except under sanitizers, which
/// interpose them themselves.
[[nodiscard]] bool io_is_counted() noexcept;

/// Of all threads since the process began.
[[nodiscard]] IoCounts io_counts() noexcept;

/// What was done since it was made, by all threads.
class IoScope {
 public:
  IoScope() noexcept : begin_(io_counts()) {}
  [[nodiscard]] IoCounts so_far() const noexcept;

 private:
  IoCounts begin_;
};

namespace detail {

/// Counts a call that returned `result` (bytes moved, or negative). Must not allocate;
/// async-signal-safe.
void count_io(IoKind kind, std::ptrdiff_t result) noexcept;
void io_is_counted_from_now() noexcept;

}  // namespace detail
}  // namespace plimsoll::bench
