#include "lib/pg/canceller.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <exception>
#include <memory>
#include <thread>
#include <utility>

namespace plimsoll::pg {
namespace {

struct FreeCancel {
  void operator()(PGcancel* cancel) const noexcept { PQfreeCancel(cancel); }
};

class Descriptor {
 public:
  explicit Descriptor(int fd) noexcept : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  [[nodiscard]] int get() const noexcept { return fd_; }
  [[nodiscard]] int release() noexcept { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

}  // namespace

int start_cancel(PGconn* connection) noexcept {
  std::unique_ptr<PGcancel, FreeCancel> request(PQgetCancel(connection));
  Descriptor ours(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (request == nullptr || ours.get() < 0) return -1;
  Descriptor theirs(dup(ours.get()));
  if (theirs.get() < 0) return -1;
  try {
    std::thread([cancel = std::move(request), done = std::move(theirs)] {
      std::array<char, 256> reason{};
      PQcancel(cancel.get(), reason.data(), static_cast<int>(reason.size()));
      // Failure needs no report: the statement goes on, and the session asks again.
      eventfd_write(done.get(), 1);
    }).detach();
  } catch (const std::exception&) {
    return -1;
  }
  return ours.release();
}

void cancel_and_forget(PGconn* connection) noexcept {
  const Descriptor done(start_cancel(connection));
}

}  // namespace plimsoll::pg
