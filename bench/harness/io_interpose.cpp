// libc's input and output functions, defined in the executable and exported from it
// (CMakeLists.txt), so that libpq and every other library calls these. Each passes the call on to
// the next definition and counts it. Not built under sanitizers.
#include <dlfcn.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>

#include "bench/harness/io_counter.hpp"

namespace {

using plimsoll::bench::IoKind;
using plimsoll::bench::detail::count_io;

/// The definition that comes after ours, libc's own. Looked up at the first call; two threads that
/// race find the same.
class Next {
 public:
  constexpr explicit Next(const char* symbol) noexcept : symbol_(symbol) {}

  /// The arguments must be our own function's parameters as they are: their types are the
  /// function's.
  template <class Result, class... Arguments>
  Result call(Arguments... arguments) {
    void* found = found_.load(std::memory_order_relaxed);
    if (found == nullptr) {
      found = dlsym(RTLD_NEXT, symbol_);
      if (found == nullptr) std::abort();  // A libc without this function: nothing can go on.
      found_.store(found, std::memory_order_relaxed);
    }
    return reinterpret_cast<Result (*)(Arguments...)>(found)(arguments...);
  }

 private:
  const char* symbol_;
  std::atomic<void*> found_{nullptr};
};

template <class Result>
Result counted(IoKind kind, Result result) {
  count_io(kind, static_cast<std::ptrdiff_t>(result));
  return result;
}

[[gnu::constructor]] void announce() { plimsoll::bench::detail::io_is_counted_from_now(); }

}  // namespace

extern "C" {

ssize_t send(int fd, const void* data, std::size_t size, int flags) {
  static constinit Next real("send");
  return counted(IoKind::kSend, real.call<ssize_t>(fd, data, size, flags));
}

ssize_t sendto(int fd, const void* data, std::size_t size, int flags, const sockaddr* to,
               socklen_t length) {
  static constinit Next real("sendto");
  return counted(IoKind::kSend, real.call<ssize_t>(fd, data, size, flags, to, length));
}

ssize_t sendmsg(int fd, const msghdr* message, int flags) {
  static constinit Next real("sendmsg");
  return counted(IoKind::kSend, real.call<ssize_t>(fd, message, flags));
}

ssize_t recv(int fd, void* data, std::size_t size, int flags) {
  static constinit Next real("recv");
  return counted(IoKind::kReceive, real.call<ssize_t>(fd, data, size, flags));
}

ssize_t recvfrom(int fd, void* data, std::size_t size, int flags, sockaddr* from,
                 socklen_t* length) {
  static constinit Next real("recvfrom");
  return counted(IoKind::kReceive, real.call<ssize_t>(fd, data, size, flags, from, length));
}

ssize_t recvmsg(int fd, msghdr* message, int flags) {
  static constinit Next real("recvmsg");
  return counted(IoKind::kReceive, real.call<ssize_t>(fd, message, flags));
}

int poll(pollfd* fds, nfds_t count, int timeout) {
  static constinit Next real("poll");
  const int result = real.call<int>(fds, count, timeout);
  count_io(IoKind::kPoll, 0);
  return result;
}

int ppoll(pollfd* fds, nfds_t count, const timespec* timeout, const sigset_t* mask) {
  static constinit Next real("ppoll");
  const int result = real.call<int>(fds, count, timeout, mask);
  count_io(IoKind::kPoll, 0);
  return result;
}

int select(int count, fd_set* read, fd_set* write, fd_set* except, timeval* timeout) {
  static constinit Next real("select");
  const int result = real.call<int>(count, read, write, except, timeout);
  count_io(IoKind::kPoll, 0);
  return result;
}

int pselect(int count, fd_set* read, fd_set* write, fd_set* except, const timespec* timeout,
            const sigset_t* mask) {
  static constinit Next real("pselect");
  const int result = real.call<int>(count, read, write, except, timeout, mask);
  count_io(IoKind::kPoll, 0);
  return result;
}

int epoll_wait(int fd, epoll_event* events, int most, int timeout) {
  static constinit Next real("epoll_wait");
  const int result = real.call<int>(fd, events, most, timeout);
  count_io(IoKind::kPoll, 0);
  return result;
}

int epoll_pwait(int fd, epoll_event* events, int most, int timeout, const sigset_t* mask) {
  static constinit Next real("epoll_pwait");
  const int result = real.call<int>(fd, events, most, timeout, mask);
  count_io(IoKind::kPoll, 0);
  return result;
}

ssize_t write(int fd, const void* data, std::size_t size) {
  static constinit Next real("write");
  return counted(IoKind::kWrite, real.call<ssize_t>(fd, data, size));
}

ssize_t writev(int fd, const iovec* parts, int count) {
  static constinit Next real("writev");
  return counted(IoKind::kWrite, real.call<ssize_t>(fd, parts, count));
}

ssize_t pwrite(int fd, const void* data, std::size_t size, off_t at) {
  static constinit Next real("pwrite");
  return counted(IoKind::kWrite, real.call<ssize_t>(fd, data, size, at));
}

ssize_t read(int fd, void* data, std::size_t size) {
  static constinit Next real("read");
  return counted(IoKind::kRead, real.call<ssize_t>(fd, data, size));
}

ssize_t readv(int fd, const iovec* parts, int count) {
  static constinit Next real("readv");
  return counted(IoKind::kRead, real.call<ssize_t>(fd, parts, count));
}

ssize_t pread(int fd, void* data, std::size_t size, off_t at) {
  static constinit Next real("pread");
  return counted(IoKind::kRead, real.call<ssize_t>(fd, data, size, at));
}

int fsync(int fd) {
  static constinit Next real("fsync");
  const int result = real.call<int>(fd);
  count_io(IoKind::kSync, 0);
  return result;
}

int fdatasync(int fd) {
  static constinit Next real("fdatasync");
  const int result = real.call<int>(fd);
  count_io(IoKind::kSync, 0);
  return result;
}

}  // extern "C"
