#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "compare/ab/ab.hpp"
#include "compare/ab/judge.hpp"
#include "lib/core/clock.hpp"
#include "lib/core/result.hpp"

namespace plimsoll::compare {

enum class AbSideName { kBase, kFresh };

/// What one sample process measured.
struct AbSample {
  double gated_ns = 0;  ///< The statistic of the gating clock over its repetitions.
  double real_ns = 0;   ///< The same statistic of real_time.
  Validity validity = Validity::kValid;  ///< What its harness said; short samples are rarely
                                         ///< steady, pairs see to that.
};

/// One benchmark, ready to be measured.
struct AbTask {
  AbTarget target;
  Resource resource = Resource::kUnknown;
  std::string metric;
  double min_effect = 0.05;
  std::uint64_t operations = 0;

  /// Judged on cpu_time: two looks, and only of blocks in which the canary was calm.
  [[nodiscard]] bool is_cpu() const noexcept {
    return resource == Resource::kCpu || resource == Resource::kUnknown;
  }
};

/// The world that the engine measures in; a fake one in the tests.
class Lab {
 public:
  virtual ~Lab() = default;

  /// Runs one process of one side. Errors: kCancelled ends the A/B; anything else is that
  /// benchmark's verdict.
  [[nodiscard]] virtual Result<AbSample> sample(const AbTask& task, AbSideName side) = 0;
  [[nodiscard]] virtual std::chrono::nanoseconds canary() = 0;
  [[nodiscard]] virtual TimePoint now() = 0;
};

struct MeasureOptions {
  AbPolicy policy;
  std::uint64_t seed = 1;
  std::chrono::nanoseconds calm_budget{std::chrono::seconds(120)};
  std::function<void(const AbProgress&)> progress;
};

/// Measures every task in blocks of four samples, ABBA or BAAB by the throw of a seeded coin, with
/// a reading of the canary before each sample and after the last, and judges at two looks.
///
/// A cpu block during which the canary changed is void and taken again. Void blocks together may
/// take `calm_budget`; from then on a case is INCONCLUSIVE at its next one. What is void is decided
/// by the canary alone, never by the samples, so that it cannot favour a side.
///
/// Three or more cases of a group are also judged as a whole, in the same family: what they share
/// may have become slower by less than each can show. A whole that is confirmed is a result of its
/// own, named "group/*"; slower at the first look it spares its undecided cases further pairs,
/// which then stay undecided. Errors: kCancelled.
[[nodiscard]] Result<std::vector<AbResult>> measure(Lab& lab, std::span<const AbTask> tasks,
                                                    const MeasureOptions& options);

}  // namespace plimsoll::compare
