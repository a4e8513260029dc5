#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <memory>
#include <vector>

#include "bench/harness/case.hpp"
#include "bench/store_sql/acts.hpp"
#include "bench/store_sql/stage.hpp"
#include "lib/load/runner.hpp"
#include "lib/load/subject_thread.hpp"
#include "lib/pg/connection.hpp"
#include "lib/store_sql/store.hpp"

namespace plimsoll::bench {

/// Callers with a connection each on the subject's thread, all at the same task. Direct to the
/// server; a pooler is another dsn, and Prepared::kNever.
///
/// Thread safety: `turn` on the subject's thread; totals once it has ended.
class Crew {
 public:
  /// REQUIRES: stage and thread outlive the crew.
  [[nodiscard]] static Result<std::unique_ptr<Crew>> hire(const Stage& stage, Task task,
                                                          std::size_t callers,
                                                          load::SubjectThread& thread);
  ~Crew();
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  [[nodiscard]] asio::awaitable<load::Outcome> turn(load::OpContext context);

  [[nodiscard]] std::int64_t rows() const noexcept;
  [[nodiscard]] std::int64_t amounts() const noexcept;

 private:
  Crew(const Stage& stage, Task task, load::SubjectThread& thread, store::Store store);
  [[nodiscard]] asio::awaitable<Result<void>> connect(std::size_t callers);
  [[nodiscard]] asio::awaitable<Result<void>> disconnect();

  const Stage& stage_;
  const Task task_;
  load::SubjectThread& thread_;
  const store::Store store_;
  std::vector<std::unique_ptr<pg::Connection>> connections_;
  std::vector<std::unique_ptr<Acts>> acts_;
};

}  // namespace plimsoll::bench
