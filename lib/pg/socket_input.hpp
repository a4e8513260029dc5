#pragma once

#include <libpq-fe.h>

namespace plimsoll::pg {

/// Takes what has come, without waiting. False: the connection is gone; what came before that is in
/// libpq's buffer.
///
/// A TLS record may hold more than libpq's buffer took, of which the socket will not tell; all of
/// it is taken here.
[[nodiscard]] bool consume_input(PGconn* connection) noexcept;

}  // namespace plimsoll::pg
