#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "lib/core/result.hpp"
#include "lib/pg/connection.hpp"
#include "lib/vault_crypto/key_ring.hpp"

namespace plimsoll::vault {

namespace asio = boost::asio;

/// Wraps that are granted at once where the database counts them.
inline constexpr std::uint64_t kGrant = 65536;

/// Registering and retiring take turns, so that a version cannot be added back while it is being
/// retired: this goes first in the transaction, and the statement behind it sees what it waited
/// for.
[[nodiscard]] pg::Query lock_keys_query();

/// Makes a master key's version known to the database; knows it already: nothing happens. A version
/// is one key for all processes, and a retired one does not come back.
///
/// Errors: kConflict (the version is another key there, the key another version, or retired), and
/// those of the connection. `connection` must outlive the call.
[[nodiscard]] asio::awaitable<Result<void>> register_key(pg::Connection& connection,
                                                         std::string actor,
                                                         std::shared_ptr<const MasterKey> key);

/// Adds kGrant wraps to the key's budget, if it is one that the database counts and none are left.
///
/// Errors: kRefused (all 2^32 are granted, or the key is not registered), and those of the
/// connection.
[[nodiscard]] asio::awaitable<Result<void>> grant_wraps(pg::Connection& connection,
                                                        std::shared_ptr<const MasterKey> key);

}  // namespace plimsoll::vault
