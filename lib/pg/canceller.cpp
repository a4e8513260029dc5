#include "lib/pg/canceller.hpp"

#include <unistd.h>

#include <array>
#include <memory>
#include <utility>

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

void cancel_and_finish(ConnectionPtr connection) noexcept {
  const std::shared_ptr<PGconn> kept(std::move(connection));
  const std::shared_ptr<PGcancel> request(PQgetCancel(kept.get()), &PQfreeCancel);
  if (request == nullptr) return;
  const int done = run_beside([kept, request] {
    std::array<char, 256> reason{};
    PQcancel(request.get(), reason.data(), static_cast<int>(reason.size()));
  });
  if (done >= 0) close(done);
}

void cancel_and_forget(PGconn* connection) noexcept {
  const int done = start_cancel(connection);
  if (done >= 0) close(done);
}

}  // namespace plimsoll::pg
