#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "lib/pg/query.hpp"
#include "lib/rls_queue/identity.hpp"

namespace plimsoll::rls {

inline constexpr std::size_t kMaxStatements = 100;  ///< Of one job.

/// One transaction's work for one identity. No aggregate, for the reason told at pg::Query.
struct Job {
  Job(Identity who, pg::Query statement, std::uint64_t from = 0)
      : identity(std::move(who)), caller(from) {
    statements.push_back(std::move(statement));
  }
  Job(Identity who, std::vector<pg::Query> several, std::uint64_t from = 0)
      : identity(std::move(who)), statements(std::move(several)), caller(from) {}

  Identity identity;
  std::vector<pg::Query> statements;  ///< 1 to kMaxStatements, each as `check_sql` wants it.
  /// Jobs of one tenant's caller are executed in the order in which they were submitted.
  std::uint64_t caller;
  pg::Timeout timeout{};  ///< Waiting included; else the connection's statement_timeout.
};

}  // namespace plimsoll::rls
