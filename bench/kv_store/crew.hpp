#pragma once

#include <boost/asio/awaitable.hpp>
#include <memory>
#include <optional>
#include <vector>

#include "bench/kv_store/acts.hpp"
#include "bench/kv_store/stage.hpp"
#include "lib/load/runner.hpp"
#include "lib/load/subject_thread.hpp"

namespace plimsoll::bench {

/// Callers that share one store on the subject's thread, all at the same task.
///
/// Thread safety: `turn` on the subject's thread; the score once it has ended.
class Crew {
 public:
  /// REQUIRES: stage and thread outlive the crew. Errors: the stage's.
  [[nodiscard]] static Result<std::unique_ptr<Crew>> hire(Stage& stage, Task task,
                                                          std::size_t callers,
                                                          load::SubjectThread& thread);
  ~Crew();
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  [[nodiscard]] asio::awaitable<load::Outcome> turn(load::OpContext context);
  [[nodiscard]] const Score& score() const noexcept { return score_; }

 private:
  Crew(Stage& stage, Task task, load::SubjectThread& thread, Score score);
  [[nodiscard]] asio::awaitable<Result<void>> open(std::size_t callers);
  [[nodiscard]] asio::awaitable<Result<void>> close();

  Stage& stage_;
  const Task task_;
  load::SubjectThread& thread_;
  const Draw draw_;
  Score score_;
  OpenStore opened_;
  std::vector<std::unique_ptr<Acts>> acts_;
};

}  // namespace plimsoll::bench
