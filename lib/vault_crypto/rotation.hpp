#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lib/core/result.hpp"
#include "lib/pg/connection.hpp"
#include "lib/vault_crypto/key_ring.hpp"
#include "lib/vault_crypto/session.hpp"

namespace plimsoll::vault {

namespace asio = boost::asio;

struct RotationOptions {
  std::uint32_t to = 0;     ///< The master key version that everything is to be under.
  std::string actor;        ///< For the audit trail and for whoever else wants to rotate.
  std::size_t batch = 256;  ///< Rows rewrapped in one statement. 1 to 10,000.
  std::chrono::milliseconds lease{10000};  ///< How long without a sign of life until another may.
  LockPolicy policy = LockPolicy::kRequired;  ///< For the data keys that pass through memory.
};

/// What a sweep has done.
struct Sweep {
  std::uint64_t rewrapped = 0;
  std::uint64_t overtaken = 0;  ///< Rows that somebody changed meanwhile; looked at again.
  std::uint64_t batches = 0;
  /// Rows whose key block cannot be unwrapped: "id: reason". They stay as they are, and keep their
  /// master key from being retired.
  std::vector<std::string> unreadable;
};

/// Moves every stored secret from older master keys to one version, while readers and writers go
/// on.
///
/// One rotation at a time holds the lease, a row with an expiry by the database's clock and a fence
/// that grows with each holder. Every batch is one statement that checks the fence, renews the
/// lease, replaces the key blocks of rows that are still as they were read, and writes the audit
/// trail: it happens as a whole or not at all. Killed at any moment, it is resumed by beginning
/// again.
///
///     begin    takes the lease, checks that the database knows the key, makes it current
///     sweep    until no row is under an older version
///     (load the bags anew here, so that no reader needs the old key any more)
///     retire   takes the older versions out of the database, then out of the ring
///     end      gives the lease back
///
/// A version leaves the database only when no row refers to it, by foreign key: a writer that comes
/// too late with the old version is refused, and seals again.
///
/// Thread safety: none; on the connection's executor. Connection and ring must outlive it.
/// Errors: kInvalidArgument (options), kNotFound (the ring has no such version), kConflict (another
/// rotation holds the lease, or has taken it over; rows are still under an old version; the version
/// is another key in this database), kRefused (no wraps left), and those of the connection.
class Rotation {
 public:
  [[nodiscard]] static asio::awaitable<Result<std::unique_ptr<Rotation>>> begin(
      pg::Connection& connection, KeyRing& ring, RotationOptions options);

  /// One batch; false when there is nothing left to do.
  [[nodiscard]] asio::awaitable<Result<bool>> step();

  /// Steps until nothing is left, and says what was done since `begin`. Writers that still seal
  /// under an old version make it go on; after 1,000 passes over the table it gives up with
  /// kConflict.
  [[nodiscard]] asio::awaitable<Result<Sweep>> sweep();

  /// Retires all versions below `to`; returns those that were in the database.
  [[nodiscard]] asio::awaitable<Result<std::vector<std::uint32_t>>> retire();

  /// Without it the lease runs out by itself.
  [[nodiscard]] asio::awaitable<Result<void>> end();

  [[nodiscard]] const Sweep& so_far() const noexcept { return sweep_; }
  [[nodiscard]] std::int64_t fence() const noexcept { return fence_; }

 private:
  struct Block {
    std::int64_t id;
    std::int64_t row_version;
    KeyBlock block;
  };

  Rotation(pg::Connection& connection, KeyRing& ring, RotationOptions options, VaultSession session,
           std::int64_t fence) noexcept
      : connection_(&connection),
        ring_(&ring),
        options_(std::move(options)),
        session_(std::move(session)),
        fence_(fence) {}

  [[nodiscard]] asio::awaitable<Result<std::vector<Block>>> next_blocks();
  [[nodiscard]] asio::awaitable<Result<void>> put(std::vector<Block> blocks);
  [[nodiscard]] pg::Query put_query(const std::vector<Block>& blocks) const;

  pg::Connection* connection_;
  KeyRing* ring_;
  RotationOptions options_;
  VaultSession session_;
  std::int64_t fence_;
  std::int64_t after_ = 0;          // The id that the last batch ended with.
  std::uint64_t done_in_pass_ = 0;  // Rows rewrapped or overtaken since the pass began.
  std::uint64_t passes_ = 0;
  Sweep sweep_;
};

}  // namespace plimsoll::vault
