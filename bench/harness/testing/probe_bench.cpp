// Not a measurement: one case for each way in which a case can go, run by the harness' own tests.
#include <dlfcn.h>
#include <fmt/format.h>
#include <openssl/evp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <limits>
#include <memory>
#include <stdexcept>
#include <thread>

#include "bench/harness/case.hpp"
#include "bench/harness/io_counter.hpp"
#include "bench/harness/metrics.hpp"
#include "bench/harness/testing/load_cases.hpp"
#include "bench/harness/testing/server_cases.hpp"

namespace plimsoll::bench {

const std::string_view kGroup = "probe";

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

void loop(Case& c) {
  std::uint64_t sum = 0;
  for (auto _ : c.state()) benchmark::DoNotOptimize(sum += 3);
}

/// A case that is well but for what `last` does after the loop.
Body after_loop(std::function<void(Case&)> last) {
  return [last = std::move(last)](Case& c) {
    loop(c);
    last(c);
  };
}

void allocate_twice(Case& c) {
  const AllocationScope allocations;
  for (auto _ : c.state()) {
    auto first = std::make_unique<int>(1);
    auto second = std::make_unique<int>(2);
    benchmark::DoNotOptimize(first.get());
    benchmark::DoNotOptimize(second.get());
  }
  c.allocations(allocations, static_cast<std::uint64_t>(c.state().iterations()));
}

void allocate_in_openssl(Case& c) {
  const AllocationScope allocations;
  for (auto _ : c.state()) {
    EVP_MD_CTX* context = EVP_MD_CTX_new();
    if (context == nullptr) return c.fail("no context");
    EVP_MD_CTX_free(context);
  }
  c.allocations(allocations, static_cast<std::uint64_t>(c.state().iterations()));
}

template <class Function>
Function* plugin_function(const char* symbol) {
  static void* library = dlopen(std::getenv("PROBE_PLUGIN"), RTLD_NOW);
  if (library == nullptr) throw std::runtime_error("PROBE_PLUGIN names no library");
  return reinterpret_cast<Function*>(dlsym(library, symbol));
}

void allocate_in_plugin(Case& c) {
  auto* allocate = plugin_function<int(int)>("plimsoll_plugin_allocate");
  const AllocationScope allocations;
  for (auto _ : c.state()) benchmark::DoNotOptimize(allocate(3));
  c.allocations(allocations, static_cast<std::uint64_t>(c.state().iterations()));
}

void allocate_in_threads(Case& c) {
  constexpr std::uint64_t kThreads = 600;  // More than the counter has slots of their own for.
  const AllocationScope all(AllocationScope::Of::kProcess);
  for (auto _ : c.state()) {
    for (std::uint64_t i = 0; i < kThreads; ++i) {
      std::thread([] {
        void* volatile block = std::malloc(1 << 20);
        std::free(block);
      }).join();
    }
  }
  const auto counted = all.so_far();
  if (!allocations_are_counted()) return c.issue("allocations are not counted in this build");
  if (counted.bytes < kThreads << 20)
    c.fail(fmt::format("only {} bytes were counted", counted.bytes));
}

void move_bytes(Case& c) {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) != 0) return c.fail("no socketpair");
  auto* plugin_send =
      plugin_function<long(int, const char*, unsigned long)>("plimsoll_plugin_send");
  std::array<char, 64> in{};
  const IoScope io;
  for (auto _ : c.state()) {
    if (plugin_send(ends[0], "0123456789", 10) != 10) c.fail("short send");
    if (recv(ends[1], in.data(), in.size(), 0) != 10) c.fail("short receive");
  }
  const IoCounts counts = io.so_far();
  const auto operations = static_cast<double>(c.state().iterations());
  c.counter("sends_per_op", static_cast<double>(counts.sends) / operations);
  c.counter("receives_per_op", static_cast<double>(counts.receives) / operations);
  c.counter("bytes_sent_per_op", static_cast<double>(counts.bytes_sent) / operations);
  c.counter("bytes_received_per_op", static_cast<double>(counts.bytes_received) / operations);
  close(ends[0]);
  close(ends[1]);
}

void sleep_long(Case& c) {
  for (auto _ : c.state()) std::this_thread::sleep_for(std::chrono::milliseconds(200));
}

void register_bad() {
  cpu_case("probe/bad/skips",
           after_loop([](Case& c) { c.state().SkipWithError("skipped by hand"); }));
  cpu_case("probe/bad/throws", [](Case& c) {
    for (auto _ : c.state()) throw std::runtime_error("thrown in the loop");
  });
  cpu_case("probe/bad/throws_int", [](Case&) { throw 7; });
  cpu_case("probe/bad/nan", after_loop([](Case& c) { c.counter("latency_us_p50", kNan); }));
  cpu_case("probe/bad/raw_infinity",
           after_loop([](Case& c) { c.state().counters["items_per_second"] = kInfinity; }));
  cpu_case("probe/bad/undeclared", after_loop([](Case& c) { c.counter("latency_us_p51", 1); }));
  cpu_case("probe/bad/raw_undeclared",
           after_loop([](Case& c) { c.state().counters["mystery"] = 1; }));
  cpu_case("probe/bad/no_loop", [](Case&) {});
  cpu_case("probe/bad/leaves_loop", [](Case& c) {
    for (auto _ : c.state()) break;
  });
  cpu_case("probe/bad/invariant", after_loop([](Case& c) {
             c.invariant("kept", 0);
             c.invariant("lost", 3);
           }));
  cpu_case("probe/bad/not_utf8",
           after_loop([](Case& c) { c.fail("bytes \xff\xfe of \"nobody\""); }));
  load_case("probe/bad/silent_load", [](Case&) {});
}

}  // namespace

void register_cases() {
  const char* mistake = std::getenv("PROBE_MISTAKE");
  const std::string_view chosen = mistake == nullptr ? "" : mistake;
  if (chosen == "empty") return;
  if (chosen == "throws") throw std::runtime_error("thrown while registering");
  if (chosen == "throws_int") throw 7;
  cpu_case("probe/ok/loop", loop);
  cpu_case("probe/ok/real_time/param:7", loop, {Resource::kIo, false});
  cpu_case("probe/ok/declared", after_loop([](Case& c) { c.counter("probe_widgets", 5); }));
  cpu_case("probe/ok/two_allocations", allocate_twice);
  cpu_case("probe/ok/openssl", allocate_in_openssl);
  cpu_case("probe/ok/plugin", allocate_in_plugin);
  cpu_case("probe/ok/threads", allocate_in_threads);
  cpu_case("probe/ok/socket", move_bytes);
  cpu_case("probe/slow/first", sleep_long, {Resource::kIo, true});
  cpu_case("probe/slow/second", sleep_long, {Resource::kIo, true});
  cpu_case("probe/slow/third", sleep_long, {Resource::kIo, true});
  register_bad();
  testing::register_load_cases();
  testing::register_server_cases();
  declare_metric({"probe_widgets", "1", Better::kExact, MetricClass::kWork});
  if (chosen == "duplicate") cpu_case("probe/ok/loop", loop);
  if (chosen == "name") cpu_case("other/ok/loop", loop);
  if (chosen == "metric")
    declare_metric({"probe_widgets", "s", Better::kLower, MetricClass::kTime});
}

}  // namespace plimsoll::bench
