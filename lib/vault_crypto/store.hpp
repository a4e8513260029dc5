#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/core/result.hpp"
#include "lib/pg/connection.hpp"
#include "lib/vault_crypto/bags.hpp"
#include "lib/vault_crypto/secret_name.hpp"
#include "lib/vault_crypto/session.hpp"

namespace plimsoll::vault {

namespace asio = boost::asio;

/// Secrets in PostgreSQL: each under a data key of its own, bound to its tenant, path and version.
/// The database sees envelopes, names, versions and times; never a plaintext, never a key.
///
/// Every change is one statement, which also writes the audit trail: both are there or neither. An
/// update and a removal name the version that they replace, so none is lost silently. A removed
/// secret's version is not used again.
///
/// Where a master key is made with a wrap limit of 0, its wraps are granted out of the database in
/// blocks: the limit of 2^32 then holds over all processes and restarts together.
///
/// Cost: one round trip a call, and a commit; `create` in place of a removed secret takes three.
/// Thread safety: none; one per thread, on the connection's executor. Ring and connection must
/// outlive the call that uses them.
/// Errors: kInvalidArgument (name, actor or size out of bounds), kNotFound (no such secret, or its
/// master key is not held), kConflict (another version was current; the name is taken; the master
/// key has been retired meanwhile and the ring holds no newer one), kCorrupt (VaultSession::open),
/// kRefused (the master key's wraps are used up), and those of the connection.
class SecretStore {
 public:
  /// `audit_reads`: whether a read leaves a line in the audit trail, which makes it a commit.
  [[nodiscard]] static Result<SecretStore> create(const KeyRing& ring, bool audit_reads = true,
                                                  LockPolicy policy = LockPolicy::kRequired);

  /// Makes the ring's current key known to the database (register_key); needed once before the
  /// first secret. A rotation does it for its own.
  [[nodiscard]] asio::awaitable<Result<void>> register_current_key(pg::Connection& connection,
                                                                   std::string actor);

  /// Stores a new secret; returns its version: 1, or one more than the removed one's.
  /// `plaintext` must stay until the call has ended, here and below.
  [[nodiscard]] asio::awaitable<Result<std::uint64_t>> add(pg::Connection& connection,
                                                           std::string actor, SecretName name,
                                                           Bytes plaintext);

  struct Read {
    std::uint64_t version;
    std::size_t size;
  };
  /// Writes the plaintext to the front of `out`, which must stay until the call has ended.
  ///
  /// A row that was read just before its old master key was retired is read once more.
  [[nodiscard]] asio::awaitable<Result<Read>> read(pg::Connection& connection, std::string actor,
                                                   SecretName name, MutableBytes out);

  /// Replaces version `expected`; returns the new version, which is one more.
  [[nodiscard]] asio::awaitable<Result<std::uint64_t>> update(pg::Connection& connection,
                                                              std::string actor, SecretName name,
                                                              std::uint64_t expected,
                                                              Bytes plaintext);

  /// Removes version `expected`. The envelope, and with it the wrapped data key, leaves the row; it
  /// leaves the disk when PostgreSQL vacuums, and the WAL and its backups when they are dropped.
  [[nodiscard]] asio::awaitable<Result<void>> remove(pg::Connection& connection, std::string actor,
                                                     SecretName name, std::uint64_t expected);

  /// Every secret of a tenant as it is stored, for a BootBag or SealedBag; their names are paths.
  /// One line in the audit trail for all.
  [[nodiscard]] asio::awaitable<Result<std::vector<SealedSecret>>> load(pg::Connection& connection,
                                                                        std::string actor,
                                                                        std::string tenant);

  [[nodiscard]] VaultSession& session() noexcept { return session_; }

 private:
  SecretStore(const KeyRing& ring, VaultSession session, bool audit_reads) noexcept
      : ring_(&ring), session_(std::move(session)), audit_reads_(audit_reads) {}

  struct Row {
    std::uint64_t version;
    std::vector<std::byte> envelope;
  };
  struct Sealed {
    std::uint32_t master_version;
    std::string envelope;  // As a bytea.
  };

  [[nodiscard]] asio::awaitable<Result<Sealed>> seal(pg::Connection& connection, SecretName name,
                                                     std::uint64_t version, Bytes plaintext);
  [[nodiscard]] asio::awaitable<Result<Row>> fetch(pg::Connection& connection, std::string actor,
                                                   SecretName name);
  [[nodiscard]] asio::awaitable<Result<std::uint64_t>> write(pg::Connection& connection,
                                                             pg::Query query);
  [[nodiscard]] asio::awaitable<Result<std::uint64_t>> replace_removed(pg::Connection& connection,
                                                                       std::string actor,
                                                                       SecretName name,
                                                                       Bytes plaintext);
  [[nodiscard]] asio::awaitable<Result<std::uint64_t>> why_not(pg::Connection& connection,
                                                               SecretName name,
                                                               std::uint64_t expected);

  const KeyRing* ring_;
  VaultSession session_;
  bool audit_reads_;
};

}  // namespace plimsoll::vault
