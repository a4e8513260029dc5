#include "bench/harness/interrupt.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <string_view>

namespace plimsoll::bench {
namespace {

std::atomic<int> received{0};
static_assert(std::atomic<int>::is_always_lock_free,
              "a signal handler may only use lock-free atomics");

constexpr std::string_view kNotice =
    "\nthe running case is let to its end, for clean servers; once more ends at once\n";

void on_signal(int number) {
  const int before = errno;
  // Past the interposed write(2), which counts for the cases.
  (void)::syscall(SYS_write, STDERR_FILENO, kNotice.data(), kNotice.size());
  errno = before;
  received.store(number, std::memory_order_relaxed);
  // The second one, of either kind, is not waited for.
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

}  // namespace

void handle_interrupts() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  for (const int number : {SIGINT, SIGTERM}) {
    struct sigaction before {};
    sigaction(number, nullptr, &before);
    // Whoever started us with the signal ignored (nohup, a shell's background job) meant it.
    if (before.sa_handler != SIG_IGN) sigaction(number, &action, nullptr);
  }
}

int interrupting_signal() noexcept { return received.load(std::memory_order_relaxed); }

}  // namespace plimsoll::bench
