#include "lib/pg/socket_input.hpp"

#include <openssl/ssl.h>

namespace plimsoll::pg {

bool consume_input(PGconn* connection) noexcept {
  if (PQconsumeInput(connection) != 1) return false;
  if (PQsslInUse(connection) == 0) return true;
  auto* const tls = static_cast<SSL*>(PQsslStruct(connection, "OpenSSL"));
  while (tls != nullptr && SSL_pending(tls) > 0) {
    if (PQconsumeInput(connection) != 1) return false;
  }
  return true;
}

}  // namespace plimsoll::pg
