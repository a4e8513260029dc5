#include "lib/core/side_thread.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>
#include <exception>
#include <thread>
#include <utility>

namespace plimsoll {
namespace {

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

int run_beside(std::function<void()> work) noexcept {
  Descriptor ours(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (ours.get() < 0) return -1;
  Descriptor theirs(dup(ours.get()));
  if (theirs.get() < 0) return -1;
  try {
    std::thread([task = std::move(work), done = std::move(theirs)] {
      task();
      const std::uint64_t one = 1;
      // Cannot fail: the counter is 0, and the descriptor is this thread's own.
      [[maybe_unused]] const auto written = write(done.get(), &one, sizeof(one));
    }).detach();
  } catch (const std::exception&) {
    return -1;
  }
  return ours.release();
}

}  // namespace plimsoll
