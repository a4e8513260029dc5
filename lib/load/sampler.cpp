#include "lib/load/sampler.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "lib/core/clock.hpp"
#include "lib/load/proc_file.hpp"
#include "lib/load/process_tree.hpp"

namespace plimsoll::load {
namespace {

using Seconds = std::chrono::duration<double>;
using Reading = ProcessTree::Reading;

constexpr int kThoroughEvery = 10;
constexpr int kDutyDivisor = 100;  // A sample that took t is followed by a pause of at least 100 t.

std::uint64_t grown(std::uint64_t before, std::uint64_t after) {
  return after > before ? after - before : 0;
}

/// One tree and its series.
struct Probe {
  explicit Probe(ProcessTree watched) : tree(std::move(watched)) {}

  void begin(const Reading& reading) {
    rss = pss = fds = threads = SeriesRecorder();
    processes_max = 0;
    first = reading;
  }

  void add(double seconds, const Reading& reading, bool thorough) {
    if (reading.processes == 0) return;  // Gone: its zeros are no measurement.
    rss.add(seconds, reading.rss_bytes);
    threads.add(seconds, reading.threads);
    if (reading.fds) fds.add(seconds, *reading.fds);
    if (reading.pss_bytes) pss.add(seconds, *reading.pss_bytes);
    processes_max = std::max(processes_max, static_cast<std::uint64_t>(reading.processes));
    cpu_last = reading.cpu_seconds;
    if (thorough) last = reading;
  }

  [[nodiscard]] Resources summarize() const {
    Resources used;
    used.cpu_seconds = std::max(0.0, cpu_last - first.cpu_seconds);
    used.voluntary_switches = grown(first.voluntary_switches, last.voluntary_switches);
    used.involuntary_switches = grown(first.involuntary_switches, last.involuntary_switches);
    used.read_bytes = grown(first.read_bytes, last.read_bytes);
    used.written_bytes = grown(first.written_bytes, last.written_bytes);
    used.processes_max = processes_max;
    used.rss = rss.summarize("bytes");
    used.pss = pss.summarize("bytes");
    used.fds = fds.summarize("fds");
    used.threads = threads.summarize("threads");
    return used;
  }

  ProcessTree tree;
  Reading first;
  Reading last;
  double cpu_last = 0;
  std::uint64_t processes_max = 0;
  SeriesRecorder rss, pss, fds, threads;
};

/// The host's clock and who used it, at one moment.
struct HostMark {
  TimePoint when;
  CpuTimes times;
  std::optional<double> others;
  double ours = 0;  // Our trees; with the kernel's threads where the others cannot be seen.
};

HostInterval between(const HostMark& before, const HostMark& after) {
  HostInterval interval;
  interval.before = before.times;
  interval.after = after.times;
  interval.seconds = Seconds(after.when - before.when).count();
  interval.cores = static_cast<double>(std::thread::hardware_concurrency());
  if (before.others && after.others) interval.others = *after.others - *before.others;
  interval.ours = after.ours - before.ours;
  interval.tick = 1.0 / ticks_per_second();
  return interval;
}

}  // namespace

class Sampler::Impl {
 public:
  Impl(std::vector<Probe> probes, std::vector<int> roots, std::chrono::milliseconds interval)
      : probes_(std::move(probes)), roots_(std::move(roots)), interval_(interval) {
    thread_ = std::thread([this] { loop(); });
  }

  ~Impl() { join(); }

  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  void ask(bool Impl::*wish) {
    {
      const std::lock_guard lock(mutex_);
      this->*wish = true;
    }
    wake_.notify_one();
  }

  void join() {
    if (!thread_.joinable()) return;
    ask(&Impl::stop_);
    thread_.join();
  }

  [[nodiscard]] Findings findings() {
    Findings found;
    found.own = probes_.front().summarize();
    for (std::size_t i = 1; i < probes_.size(); ++i) {
      found.servers.push_back(probes_[i].summarize());
      if (probes_[i].tree.alive()) continue;
      found.gone.push_back(
          fmt::format("server process {} ended during the run", probes_[i].tree.pid()));
    }
    if (before_ && after_) found.host = host_use(between(*before_, *after_));
    return found;
  }

  bool begin_ = false;
  bool end_ = false;
  bool stop_ = false;

 private:
  void loop() {
    std::unique_lock lock(mutex_);
    TimePoint next = Clock::now();
    for (;;) {
      wake_.wait_until(lock, next, [this] { return begin_ || end_ || stop_; });
      const bool begin = std::exchange(begin_, false);
      const bool end = std::exchange(end_, false);
      const bool stop = stop_;
      lock.unlock();
      const TimePoint started = Clock::now();
      if (begin) open_window();
      if (open_) {
        const bool last = end || stop;
        if (!begin) sample(last || ++samples_ % kThoroughEvery == 0);
        if (last) close_window();
      }
      const TimePoint ended = Clock::now();
      next = ended + std::max<Nanoseconds>(interval_, (ended - started) * kDutyDivisor);
      lock.lock();
      if (stop) return;
    }
  }

  void open_window() {
    open_ = true;
    opened_ = Clock::now();
    before_ = mark();
    after_.reset();
    for (auto& probe : probes_) {
      const Reading reading = read(probe, true);
      probe.begin(reading);
      probe.add(0, reading, true);
    }
  }

  void close_window() {
    open_ = false;
    after_ = mark();
  }

  void sample(bool thorough) {
    const double seconds = Seconds(Clock::now() - opened_).count();
    for (auto& probe : probes_) probe.add(seconds, read(probe, thorough), thorough);
  }

  Reading read(Probe& probe, bool thorough) {
    Reading reading = probe.tree.read(thorough);
    if (&probe != &probes_.front()) return reading;
    // Of ourselves the kernel knows more than /proc shows: nanoseconds, and ended threads'
    // switches.
    reading.cpu_seconds = Seconds(process_cpu_time()).count();
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    reading.voluntary_switches = static_cast<std::uint64_t>(usage.ru_nvcsw);
    reading.involuntary_switches = static_cast<std::uint64_t>(usage.ru_nivcsw);
    return reading;
  }

  /// nullopt without /proc/stat; the host is then not judged.
  [[nodiscard]] std::optional<HostMark> mark() const {
    const auto times = read_cpu_times();
    if (!times) return std::nullopt;
    HostMark now{Clock::now(), *times, others_cpu(roots_), trees_cpu(roots_)};
    if (!now.others) now.ours += kernel_threads_cpu();
    return now;
  }

  std::vector<Probe> probes_;  // Ours first.
  std::vector<int> roots_;
  std::chrono::milliseconds interval_;
  int samples_ = 0;
  bool open_ = false;
  TimePoint opened_;
  std::optional<HostMark> before_;
  std::optional<HostMark> after_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::thread thread_;
};

Result<Sampler> Sampler::start(const std::vector<int>& server_pids,
                               std::chrono::milliseconds interval) {
  std::vector<Probe> probes;
  std::vector<int> roots{static_cast<int>(::getpid())};
  auto own = ProcessTree::open(roots.front(), ProcessTree::Scope::kProcess);
  if (!own) return fail(Errc::kInternal, "our own process cannot be read: " + own.error().message);
  probes.emplace_back(std::move(*own));
  for (const int pid : server_pids) {
    auto tree = ProcessTree::open(pid, ProcessTree::Scope::kDescendants);
    if (!tree) return fail(Errc::kInvalidArgument, "server_pids: " + tree.error().message);
    probes.emplace_back(std::move(*tree));
    roots.push_back(pid);
  }
  return Sampler(std::make_unique<Impl>(std::move(probes), std::move(roots), interval));
}

Sampler::Sampler(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Sampler::Sampler(Sampler&&) noexcept = default;
Sampler& Sampler::operator=(Sampler&&) noexcept = default;
Sampler::~Sampler() = default;

void Sampler::begin_window() { impl_->ask(&Impl::begin_); }
void Sampler::end_window() { impl_->ask(&Impl::end_); }

Sampler::Findings Sampler::stop() {
  impl_->join();
  return impl_->findings();
}

}  // namespace plimsoll::load
