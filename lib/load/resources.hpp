#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/core/statistics.hpp"

namespace plimsoll::load {

/// What became of one quantity over the measured window.
struct Series {
  std::string_view unit{};  ///< "bytes", "fds" or "threads".
  std::uint64_t samples = 0;
  double first = 0;
  double last = 0;
  double max = 0;
  /// Per second, of the windowed minima, so that an allocator's sawtooth does not count. nullopt
  /// where fewer than 4 minima came together, since no confidence can be stated then.
  std::optional<Slope> slope{};
};

/// What one process tree used during the measured window.
struct Resources {
  double cpu_seconds = 0;  ///< User and system, children that ended included.
  std::uint64_t voluntary_switches = 0;
  std::uint64_t involuntary_switches = 0;
  std::uint64_t read_bytes = 0;     ///< From storage; 0 where /proc/<pid>/io may not be read.
  std::uint64_t written_bytes = 0;  ///< To storage, or to the page cache on its way there.
  std::uint64_t processes_max = 0;
  Series rss{.unit = "bytes"};
  Series pss{.unit = "bytes"};  ///< Shared pages counted once; sampled more rarely, as it is dear.
  Series fds{.unit = "fds"};
  Series threads{.unit = "threads"};

  /// The series with their names, for writers.
  [[nodiscard]] std::array<std::pair<std::string_view, const Series*>, 4> series() const {
    return {{{"rss", &rss}, {"pss", &pss}, {"fds", &fds}, {"threads", &threads}}};
  }
};

enum class LeakVerdict {
  kClean,     ///< The upper 95 % bound of the slope is at or below the limit.
  kLeaking,   ///< It is above.
  kTooShort,  ///< Too few samples to state a slope: proves nothing.
};

/// Judges the growth of a series against `limit`, in its unit per second.
[[nodiscard]] LeakVerdict judge_leak(const Series& series, double limit) noexcept;

/// Collects one quantity over time in bounded memory: at most `kPoints` points, each the smallest
/// value of its stretch of time; a full series is halved. What is lost is detail above the floor.
///
/// Thread safety: none.
class SeriesRecorder {
 public:
  static constexpr std::size_t kPoints = 512;
  static constexpr std::size_t kWindows = 12;  ///< Minima that the slope is taken from.

  /// REQUIRES: `seconds` above that of the call before, both values finite.
  void add(double seconds, double value);

  [[nodiscard]] Series summarize(std::string_view unit) const;

 private:
  void halve();

  std::vector<double> x_;
  std::vector<double> y_;
  std::size_t stride_ = 1;   // Samples that one point stands for.
  std::size_t pending_ = 0;  // Samples already in the last point.
  std::uint64_t samples_ = 0;
  double first_ = 0;
  double last_ = 0;
  double max_ = 0;
};

}  // namespace plimsoll::load
