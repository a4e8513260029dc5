#include "lib/core/clock.hpp"

#include <fmt/chrono.h>
#include <time.h>

namespace plimsoll {
namespace {

Nanoseconds read(clockid_t id) noexcept {
  timespec now{};
  ::clock_gettime(id, &now);
  return std::chrono::seconds(now.tv_sec) + Nanoseconds(now.tv_nsec);
}

}  // namespace

Nanoseconds thread_cpu_time() noexcept { return read(CLOCK_THREAD_CPUTIME_ID); }

Nanoseconds process_cpu_time() noexcept { return read(CLOCK_PROCESS_CPUTIME_ID); }

std::string utc_timestamp() {
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}",
                     fmt::gmtime(std::chrono::system_clock::to_time_t(now)));
}

}  // namespace plimsoll
