#include "bench/harness/progress.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>
#include <string_view>

namespace plimsoll::bench {
namespace {

constexpr std::chrono::seconds kQuiet{2};
constexpr std::chrono::seconds kPeriod{1};

/// Past the interposed write(2), which counts for the cases.
void put(std::string_view text) {
  (void)::syscall(SYS_write, STDERR_FILENO, text.data(), text.size());
}

}  // namespace

void Progress::start(std::size_t cases, bool is_terminal) {
  if (!is_terminal) return;
  cases_ = cases;
  started_ = Clock::now();
  running_ = true;
  ticker_ = std::thread([this] { tick(); });
}

void Progress::begin_case(const std::string& name) {
  if (!running_) return;
  const std::lock_guard lock(mutex_);
  current_ = begun_.insert(name).first->c_str();
}

void Progress::end_case() {
  if (!running_) return;
  const std::lock_guard lock(mutex_);
  ++done_;
}

void Progress::stop() {
  if (!ticker_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    running_ = false;
  }
  stopped_.notify_all();
  ticker_.join();
  clear();
}

void Progress::clear() {
  const std::lock_guard lock(mutex_);
  if (drawn_) put("\r\033[K");
  drawn_ = false;
}

std::optional<double> Progress::seconds_left(std::size_t done, std::size_t cases, double elapsed) {
  if (done == 0 || done > cases) return std::nullopt;
  return elapsed / static_cast<double>(done) * static_cast<double>(cases - done);
}

void Progress::tick() {
  std::unique_lock lock(mutex_);
  while (!stopped_.wait_for(lock, kPeriod, [this] { return !running_; })) {
    if (Clock::now() - started_ >= kQuiet && current_ != nullptr) draw();
  }
}

void Progress::draw() {
  const double elapsed = std::chrono::duration<double>(Clock::now() - started_).count();
  std::array<char, 160> line{};
  const auto left = seconds_left(done_, cases_, elapsed);
  const std::size_t number = std::min(done_ + 1, cases_);
  const int length =
      left ? std::snprintf(line.data(), line.size(), "\r\033[K[%zu/%zu] %.60s, about %ld s left",
                           number, cases_, current_, static_cast<long>(*left + 0.5))
           : std::snprintf(line.data(), line.size(), "\r\033[K[%zu/%zu] %.60s, %ld s so far",
                           number, cases_, current_, static_cast<long>(elapsed));
  put({line.data(), std::min(static_cast<std::size_t>(length), line.size() - 1)});
  drawn_ = true;
}

Progress& progress() {
  static Progress instance;
  return instance;
}

}  // namespace plimsoll::bench
