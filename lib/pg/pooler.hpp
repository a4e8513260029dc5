#pragma once

#include <libpq-fe.h>

#include "lib/core/result.hpp"
#include "lib/pg/query.hpp"

namespace plimsoll::pg {

/// What changes where a transaction pooler stands between us and the server (Config::pooled;
/// docs/pgbouncer.md says what holds there and what does not).

/// Refuses a named statement: it is prepared on the server connection of one transaction, and the
/// next one may get another. Errors: kInvalidArgument.
[[nodiscard]] Result<void> check_pooled(const Query& query);

/// Refuses a connection string with `options` (PGOPTIONS included): the pooler refuses them too, or
/// worse, drops them. REQUIRES: a connection that was started. Errors: kInvalidArgument.
[[nodiscard]] Result<void> check_pooled(const PGconn* connection);

/// Whether this error is PgBouncer's own. It gives all of them the SQLSTATE 08P01 and closes the
/// connection, so the text is what tells them apart.
[[nodiscard]] bool is_of_pooler(const Error& error);

/// The same error with what a caller can do about it: kBusy where all server connections were taken
/// for too long or too many clients are there (nothing was executed), kUnavailable where the server
/// went away or the pooler stops, kNotFound, kRefused, kInvalidArgument. Any other error unchanged.
[[nodiscard]] Error explain_pooler(Error error);

}  // namespace plimsoll::pg
