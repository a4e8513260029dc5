#include "bench/harness/io_counter.hpp"

#include <array>
#include <atomic>

namespace plimsoll::bench {
namespace {

constexpr std::size_t kKinds = 6;

// One line of the cache each: a generator's thread and a subject's count at the same time.
struct alignas(64) Counter {
  std::atomic<std::uint64_t> calls{0};
  std::atomic<std::uint64_t> bytes{0};
};

constinit std::array<Counter, kKinds> counters{};
constinit std::atomic<bool> counted{false};

std::uint64_t calls(IoKind kind) noexcept {
  return counters[static_cast<std::size_t>(kind)].calls.load(std::memory_order_relaxed);
}

std::uint64_t bytes(IoKind kind) noexcept {
  return counters[static_cast<std::size_t>(kind)].bytes.load(std::memory_order_relaxed);
}

}  // namespace

bool io_is_counted() noexcept { return counted.load(std::memory_order_relaxed); }

IoCounts io_counts() noexcept {
  IoCounts now;
  now.sends = calls(IoKind::kSend);
  now.bytes_sent = bytes(IoKind::kSend);
  now.receives = calls(IoKind::kReceive);
  now.bytes_received = bytes(IoKind::kReceive);
  now.polls = calls(IoKind::kPoll);
  now.writes = calls(IoKind::kWrite);
  now.bytes_written = bytes(IoKind::kWrite);
  now.reads = calls(IoKind::kRead);
  now.bytes_read = bytes(IoKind::kRead);
  now.syncs = calls(IoKind::kSync);
  return now;
}

IoCounts IoScope::so_far() const noexcept {
  IoCounts now = io_counts();
  now.sends -= begin_.sends;
  now.bytes_sent -= begin_.bytes_sent;
  now.receives -= begin_.receives;
  now.bytes_received -= begin_.bytes_received;
  now.polls -= begin_.polls;
  now.writes -= begin_.writes;
  now.bytes_written -= begin_.bytes_written;
  now.reads -= begin_.reads;
  now.bytes_read -= begin_.bytes_read;
  now.syncs -= begin_.syncs;
  return now;
}

namespace detail {

void count_io(IoKind kind, std::ptrdiff_t result) noexcept {
  Counter& counter = counters[static_cast<std::size_t>(kind)];
  counter.calls.fetch_add(1, std::memory_order_relaxed);
  if (result > 0)
    counter.bytes.fetch_add(static_cast<std::uint64_t>(result), std::memory_order_relaxed);
}

void io_is_counted_from_now() noexcept { counted.store(true, std::memory_order_relaxed); }

}  // namespace detail
}  // namespace plimsoll::bench
