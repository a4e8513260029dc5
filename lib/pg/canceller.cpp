#include "lib/pg/canceller.hpp"

#include <unistd.h>

#include <array>
#include <memory>

#include "lib/core/side_thread.hpp"

namespace plimsoll::pg {

int start_cancel(PGconn* connection) noexcept {
  const std::shared_ptr<PGcancel> request(PQgetCancel(connection), &PQfreeCancel);
  if (request == nullptr) return -1;
  return run_beside([request] {
    std::array<char, 256> reason{};
    // Failure needs no report: the statement goes on, and the session asks again.
    PQcancel(request.get(), reason.data(), static_cast<int>(reason.size()));
  });
}

void cancel_and_forget(PGconn* connection) noexcept {
  const int done = start_cancel(connection);
  if (done >= 0) close(done);
}

}  // namespace plimsoll::pg
