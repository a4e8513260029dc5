#pragma once

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "bench/vault_crypto/cases.hpp"
#include "fixtures/infra.hpp"
#include "fixtures/postgres/client.hpp"
#include "lib/pg/connection.hpp"
#include "lib/vault_crypto/checks.hpp"
#include "lib/vault_crypto/store.hpp"

namespace plimsoll::bench {

namespace asio = boost::asio;

/// One connection on a loop of its own, driven call by call by the thread that made it.
class Caller {
 public:
  explicit Caller(const std::string& dsn);

  template <class T>
  T run(asio::awaitable<T> work) {
    auto future = asio::co_spawn(loop_, std::move(work), asio::use_future);
    loop_.restart();
    loop_.run();
    return future.get();
  }
  [[nodiscard]] pg::Connection& connection() { return *connection_; }

 private:
  asio::io_context loop_;
  std::unique_ptr<pg::Connection> connection_;
};

/// What others do in the course of one rotation, on the thread that rotates. Each may be empty.
struct DuringRotation {
  std::function<void()> batch;     ///< Before the first batch, and after each.
  std::function<void()> retiring;  ///< All is moved; the old key is about to go.
  std::function<void()> retired;   ///< It has gone from the database and from the ring.
};

/// A schema with the vault's tables, `secrets` secrets under version 1 of a ring, and a plain
/// blocking connection to count by, which is not the library under test.
///
/// Errors: exceptions, which fail the case.
class Stage {
 public:
  explicit Stage(std::size_t secrets);

  [[nodiscard]] const fixtures::Postgres& server() const noexcept { return server_; }
  [[nodiscard]] const std::string& dsn() const noexcept { return schema_->dsn(); }
  [[nodiscard]] std::size_t secrets() const noexcept { return secrets_; }
  [[nodiscard]] vault::KeyRing& ring() noexcept { return *ring_; }

  /// Empties the tables and fills them anew, under a ring that holds version 1 alone.
  void refill();
  [[nodiscard]] std::int64_t number(const std::string& sql);
  /// Adds the nonces of every stored envelope.
  void log_nonces(vault::checks::NonceLog& log);
  /// Moves everything to the next version by `caller`, retires the old one and says how many rows
  /// were rewrapped, by the library's own word.
  std::uint64_t rotate(Caller& caller, const DuringRotation& during = {});
  /// Secrets that are not there, or whose envelope or row names another master key than the last
  /// rotation's; by SQL, from the bytes of the envelopes.
  [[nodiscard]] std::int64_t left_behind();
  /// Moves of one secret to one version of the master key that the audit trail does not show, or
  /// shows twice: each secret is rewrapped once for each rotation, or updated under the new key
  /// before the sweep came to it.
  [[nodiscard]] std::int64_t rewraps_unaccounted();
  /// Updates that the audit trail or the secrets' versions do not show, of `made` since `refill`.
  [[nodiscard]] std::int64_t updates_unaccounted(std::int64_t made);
  /// Opens every secret with the store and counts those that do not say what was stored, in the
  /// version that their row names.
  [[nodiscard]] std::int64_t wrong_plaintexts();

 private:
  void sql(const std::string& text);

  std::size_t secrets_;
  std::uint32_t master_version_ = 1;  // Counted here: not the ring's, nor the database's.
  fixtures::Postgres server_;
  std::optional<fixtures::Schema> schema_;
  std::optional<fixtures::Client> client_;
  std::unique_ptr<vault::KeyRing> ring_;
};

}  // namespace plimsoll::bench
