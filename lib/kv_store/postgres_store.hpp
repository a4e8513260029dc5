#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lib/kv_store/link.hpp"
#include "lib/kv_store/statements.hpp"
#include "lib/kv_store/store.hpp"
#include "lib/pg/group_commit.hpp"

namespace plimsoll::kv {

struct PostgresConfig {
  pg::Config connection;         ///< Of each connection; with `pooled` nothing is prepared.
  std::string schema;            ///< Where the table is; it exists.
  std::size_t readers = 1;       ///< Connections for get, get_all and list, in turn.
  pg::GroupCommitConfig commit;  ///< Of sets, swaps and erases; `same_key` is the store's own.
  /// Takes a server that acknowledges before it has written (fsync or synchronous_commit off).
  bool allow_weak_durability = false;
};

/// The durable subject, on one table.
///
/// Acknowledged means committed and flushed to the server's disk: it outlives a kill of the server
/// and a loss of power, as far as the disk keeps what it says it has. A server that is set up to
/// promise less is refused with kRefused. An unacknowledged write is there or not, never half.
///
/// Sets of many callers that come while a commit is on its way share the next one
/// (group_commit.hpp): one statement and one fsync. A hot key gains the same way, as only the last
/// of its values is written. Compare-and-sets and erases share commits as pipelines of their own. A
/// set_all is a transaction of its own. All of them lock rows in the order of place_of, so no two
/// deadlock.
///
/// A get is one statement and one round trip on a connection that writes do not hold up; gets of
/// many callers travel together.
///
/// Cost: `readers` and two connections, made when first needed and made anew when they break.
/// Errors: as Store, GroupCommit and Link. kBusy where more writes wait than `commit` allows.
class PostgresStore final : public Store {
 public:
  /// Connects to nothing yet. Errors: kInvalidArgument (the schema's name, no readers).
  [[nodiscard]] static Result<std::unique_ptr<PostgresStore>> make(asio::any_io_executor executor,
                                                                   PostgresConfig config);
  /// With SQL of the caller's own, e.g. a test's.
  [[nodiscard]] static Result<std::unique_ptr<PostgresStore>> make(asio::any_io_executor executor,
                                                                   PostgresConfig config,
                                                                   Statements statements);
  ~PostgresStore() override;

  /// Makes the table.
  [[nodiscard]] asio::awaitable<Result<void>> install();

  /// Refuses new writes, and returns when all that were taken are answered. Errors: kTimeout.
  [[nodiscard]] asio::awaitable<Result<void>> drain(std::chrono::milliseconds limit);

  [[nodiscard]] std::string_view subject() const noexcept override { return "postgres"; }
  [[nodiscard]] const Statements& statements() const noexcept { return *statements_; }
  /// What all connections did.
  [[nodiscard]] pg::Counters counters() const noexcept;
  /// What the group commits did, of all kinds of writes.
  [[nodiscard]] pg::BatchCounters batches() const noexcept;
  /// Connections that were made so far.
  [[nodiscard]] std::uint64_t connections() const noexcept;

 private:
  PostgresStore(asio::any_io_executor executor, PostgresConfig config, Statements statements);

  asio::awaitable<Result<std::optional<Entry>>> do_get(std::string tenant,
                                                       std::string key) override;
  asio::awaitable<Result<std::vector<std::optional<Entry>>>> do_get_all(
      std::string tenant, std::vector<std::string> keys) override;
  asio::awaitable<Result<Version>> do_set(std::string tenant, Write write) override;
  asio::awaitable<Result<std::vector<Version>>> do_set_all(std::string tenant,
                                                           std::vector<Write> writes) override;
  asio::awaitable<Result<Version>> do_compare_and_set(std::string tenant, Write write,
                                                      Version expected) override;
  asio::awaitable<Result<bool>> do_erase(std::string tenant, std::string key) override;
  asio::awaitable<Result<Found>> do_list(std::string tenant, Range range) override;
  asio::awaitable<Result<std::size_t>> do_sweep(std::size_t limit) override;

  [[nodiscard]] std::shared_ptr<Link> reader() noexcept;

  std::shared_ptr<const Statements> statements_;
  std::vector<std::shared_ptr<Link>> readers_;
  std::shared_ptr<Link> commits_;  ///< Of the group commits.
  std::shared_ptr<Link> bulk_;     ///< Of set_all and sweep, which may take long.
  pg::GroupCommit sets_;
  pg::GroupCommit swaps_;
  pg::GroupCommit erases_;
  std::size_t next_reader_ = 0;
};

}  // namespace plimsoll::kv
