#pragma once

#include <libpq-fe.h>

#include <memory>

namespace plimsoll::pg {

/// Asks the server to cancel what this connection executes. libpq's PQcancel opens a connection of
/// its own and blocks, so a thread beside does it (lib/core/side_thread.hpp). The descriptor
/// returned becomes readable once the server has taken the request or could not be reached, and
/// belongs to the caller, who may close it at any time; the thread touches nothing else of the
/// caller's. -1 when no thread or descriptor is left: then nothing was asked.
[[nodiscard]] int start_cancel(PGconn* connection) noexcept;

/// The same for a connection that is about to be closed: nobody waits for the outcome.
void cancel_and_forget(PGconn* connection) noexcept;

struct FinishConnection {
  void operator()(PGconn* connection) const noexcept { PQfinish(connection); }
};
using ConnectionPtr = std::unique_ptr<PGconn, FinishConnection>;

/// The same, and the connection is closed after it, by the thread beside: what is asked in the name
/// of a connection that is gone, a pooler ignores.
void cancel_and_finish(ConnectionPtr connection) noexcept;

}  // namespace plimsoll::pg
