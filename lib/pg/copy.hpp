#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "lib/core/result.hpp"
#include "lib/pg/connection.hpp"
#include "lib/pg/copy_reader.hpp"
#include "lib/pg/copy_value.hpp"
#include "lib/pg/copy_writer.hpp"

namespace plimsoll::pg {

class CopySession;

/// Where rows come from. Called whenever there is room: adds rows, best until `is_full()`, and
/// returns true when there may be more, false when that were the last. May wait; the server is then
/// kept waiting. An error, or an exception, undoes the COPY.
using CopySource = std::function<asio::awaitable<Result<bool>>(CopyWriter& writer)>;

/// Where rows go, some 64 KiB at a time. May wait; the server is then kept waiting, by what sockets
/// hold. An error, or an exception, ends the COPY.
using CopySink = std::function<asio::awaitable<Result<void>>(const CopyRows& rows)>;

/// COPY, on a connection of its own: libpq's pipeline mode, in which a Connection lives, excludes
/// it.
///
/// One COPY at a time. Memory is bounded by some chunks of 64 KiB and the largest row, on both
/// ends: who is slower is waited for.
///
/// A COPY that fails on the way leaves nothing behind, whoever failed, and normally the connection
/// can be used again; `is_open` says so, and the message of a failed source or sink too. A call
/// that runs out of time, or whose coroutine is cancelled, returns at once; the COPY is undone
/// behind it, which the next call waits for. A source or sink must honour cancellation, and is not
/// called any more once the call has returned.
///
/// Sockets without TLS show the server's error at once; through TLS a source is asked until its end
/// first.
///
/// Thread safety: none; all calls on the executor of `connect`, whose io_context must outlive the
/// object.
/// Errors: kInvalidArgument (no COPY in this direction, or rows that CopyWriter refuses), kBusy
/// (one is going on), kTimeout, kCancelled, kUnavailable, kProtocol (data that CopyReader cannot
/// read; the connection is then lost), kCorrupt (the counts of rows differ), the source's or sink's
/// own, and by SQLSTATE what the server says, with the line. With SQLSTATE kUnknownOutcome
/// (outcome.hpp) all rows were sent, and may be there.
class Copier {
 public:
  /// As Connection::connect. `config.statement_timeout` is that of a whole COPY.
  [[nodiscard]] static asio::awaitable<Result<std::unique_ptr<Copier>>> connect(Config config);

  Copier(const Copier&) = delete;
  Copier& operator=(const Copier&) = delete;
  /// A COPY still going on gets kUnavailable.
  ~Copier();

  /// Runs one `COPY ... FROM STDIN` (see copy_in_sql), in a transaction of its own. Returns the
  /// rows copied, as both ends counted them. Rows that a trigger or a WHERE left out make the
  /// counts differ: kCorrupt, although the others are stored.
  [[nodiscard]] asio::awaitable<Result<std::uint64_t>> copy_in(std::string sql, CopySource source,
                                                               Timeout timeout = std::nullopt);

  /// Runs one `COPY ... TO STDOUT` in text or binary (see copy_out_sql). Returns the rows copied,
  /// as both ends counted them.
  [[nodiscard]] asio::awaitable<Result<std::uint64_t>> copy_out(std::string sql, CopySink sink,
                                                                Timeout timeout = std::nullopt);

  /// Ends the connection, and with it a COPY that is going on.
  void close();

  /// True until the connection is closed or lost. Does not ask the server.
  [[nodiscard]] bool is_open() const noexcept;
  /// The server's process id, as pg_stat_activity shows it.
  [[nodiscard]] int backend_pid() const noexcept;

 private:
  explicit Copier(std::shared_ptr<CopySession> session) noexcept;

  std::shared_ptr<CopySession> session_;
};

}  // namespace plimsoll::pg
