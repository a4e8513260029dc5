#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstddef>
#include <memory>
#include <vector>

#include "lib/core/result.hpp"
#include "lib/pg/connection.hpp"
#include "lib/pg/query.hpp"
#include "lib/pg/rows.hpp"
#include "lib/rls_queue/config.hpp"
#include "lib/rls_queue/job.hpp"
#include "lib/rls_queue/statements.hpp"
#include "lib/rls_queue/transaction.hpp"

namespace plimsoll::rls {

namespace asio = boost::asio;

/// Runs SQL for many identities on few connections. Each job is one transaction that begins by
/// setting its whole identity and ends by proving that it is still the same
/// (docs/groups/rls_queue.md has the reasoning); policies of row-level security read it.
///
/// One job's failure, time-out or cancellation is its own: neighbours on the connection go on, and
/// nothing of it stays on the connection. A job that waits survives the loss of a connection; one
/// that has its place there gets kUnavailable, and its work may have been done unless the error
/// says `unsent`.
///
/// Order: jobs of one tenant's caller are executed as submitted; tenants take turns, statement by
/// statement (with Subject::kSerial all jobs go first in, first out). A job whose caller gave up
/// counts no more, although the server may still be busy with it.
///
/// What a job's SQL can do is what its role may do, as this identity. SQL text is the application's
/// own: text that a tenant wrote must never get here.
///
/// Thread safety: none; all calls on the executor of `open`. The io_context may stop with jobs
/// pending, but must outlive the queue.
/// Errors of `run`: kInvalidArgument (limits of job.hpp and Config; a statement that is no query or
/// change of rows; bytes that are no text to the server), kBusy, kTimeout, kCancelled,
/// kUnavailable, kRefused (the job changed its identity; a permission; a row that a policy does not
/// let in), and those of SQL by SQLSTATE.
class Queue {
 public:
  /// Connects on the executor of the awaiting coroutine. Errors: Connection's; kInvalidArgument (a
  /// setting, a count of 0); kRefused for a role that row-level security does not bind.
  [[nodiscard]] static asio::awaitable<Result<std::unique_ptr<Queue>>> open(Config config);
  /// With other statements around the jobs: for negative controls, and for what each of them costs.
  [[nodiscard]] static asio::awaitable<Result<std::unique_ptr<Queue>>> open(Config config,
                                                                            Statements statements);
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;
  /// Jobs still pending get kUnavailable.
  ~Queue();

  /// All statements of the job in one transaction, or none of them. Returns their rows.
  [[nodiscard]] asio::awaitable<Result<Answers>> run(Job job);

  /// One statement on every open connection, between two jobs and without an identity: for audits
  /// of what is left there. Nothing is checked.
  [[nodiscard]] asio::awaitable<std::vector<Result<pg::Rows>>> inspect(pg::Query query);

  /// Ends the queue. Pending jobs, and all later ones, get kUnavailable.
  void close();

  [[nodiscard]] std::size_t waiting() const noexcept;  ///< Jobs that have no place yet.
  [[nodiscard]] std::size_t connections() const;       ///< Those that are open.
  [[nodiscard]] std::vector<int> backend_pids() const;
  /// The sum over all connections, those lost included.
  [[nodiscard]] pg::Counters counters() const noexcept;

 private:
  struct Core;
  explicit Queue(std::shared_ptr<const Core> core) noexcept;

  [[nodiscard]] static asio::awaitable<Result<std::unique_ptr<Queue>>> make(Config config,
                                                                            Result<Statements> all);
  [[nodiscard]] static asio::awaitable<Result<Answers>> run_job(std::shared_ptr<const Core> core,
                                                                Job job);
  [[nodiscard]] static asio::awaitable<std::vector<Result<pg::Rows>>> look(
      std::shared_ptr<const Core> core, pg::Query query);

  std::shared_ptr<const Core> core_;
};

}  // namespace plimsoll::rls
