#pragma once

#include <cstddef>
#include <string_view>
#include <utility>

#include "lib/pg/connection.hpp"
#include "lib/rls_queue/statements.hpp"

namespace plimsoll::rls {

/// How jobs share connections.
enum class Subject {
  kSerial,  ///< One connection, strictly first in, first out, one job at a time, a round trip for
            ///< each statement: BEGIN, stamp, statements, seal, COMMIT.
  kPipelined,  ///< One connection, several jobs in flight, each one pipelined group: one round
               ///< trip.
  kPool,       ///< Several connections, each pipelined.
};

/// "serial", "pipelined", "pool", as in the names of the benchmarks.
[[nodiscard]] std::string_view name(Subject subject) noexcept;

/// No aggregate, for the reason told at pg::Query.
struct Config {
  Config() = default;
  explicit Config(pg::Config where, Subject how = Subject::kPool)
      : connection(std::move(where)), subject(how) {}

  /// Logs in as a role that row-level security binds. Its statement_timeout is a job's, unless the
  /// job has one of its own. Where it is `pooled`, nothing is prepared under a name, and what other
  /// clients left in a session is no reason to refuse it.
  pg::Config connection;
  Subject subject = Subject::kPool;
  std::size_t connections = 4;     ///< kPool only; the others have one.
  std::size_t depth = 16;          ///< Jobs under way on one connection; kSerial has one.
  std::size_t max_waiting = 4096;  ///< Jobs that wait; beyond it kBusy.
  std::size_t max_job_bytes = std::size_t{16} << 20U;  ///< Statements and parameters of one job.
  Settings settings;
};

}  // namespace plimsoll::rls
