#include "lib/rls_queue/transaction.hpp"

#include <fmt/format.h>

#include <utility>

#include "lib/rls_queue/sql_check.hpp"

namespace plimsoll::rls {
namespace {

/// As it is, with its place in the job where there are several.
Error at_statement(Error error, std::size_t index, std::size_t count) {
  if (count > 1) {
    error.message = fmt::format("statement {} of {}: {}", index + 1, count, error.message);
  }
  return error;
}

// Class 22 at the stamp is the identity's own fault: its bytes are no text in the server's
// encoding.
Error stamp_error(Error error) {
  if (!error.sqlstate.starts_with("22")) return error;
  return {Errc::kInvalidArgument, "identity: " + error.message, error.sqlstate};
}

Error seal_error(Error error) {
  if (!is_broken_seal(error)) return error;  // The commit's, e.g. of a deferred constraint.
  return {Errc::kRefused,
          "the job changed its identity or its role while it ran, so all of it was undone",
          error.sqlstate};
}

}  // namespace

Result<void> check_job(Job& job, bool with_actor, std::size_t max_bytes) {
  if (job.statements.empty() || job.statements.size() > kMaxStatements) {
    return fail(Errc::kInvalidArgument,
                fmt::format("job: there are {} statements, it must be 1 to {}",
                            job.statements.size(), kMaxStatements));
  }
  if (!with_actor && !job.identity.actor().empty()) {
    return fail(Errc::kInvalidArgument,
                "job: its identity has an actor, and this queue's settings have none");
  }
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < job.statements.size(); ++i) {
    auto& [sql, params, name] = job.statements[i];
    const auto begin = check_sql(sql);
    if (!begin) return fail(at_statement(begin.error(), i, job.statements.size()));
    if (*begin > 0) sql.erase(0, *begin);
    bytes += sql.size();
    for (const auto& value : params) bytes += value ? value->size() : 0;
  }
  if (bytes <= max_bytes) return {};
  return fail(
      Errc::kInvalidArgument,
      fmt::format("job: its statements and parameters have {} bytes, at most {} are allowed", bytes,
                  max_bytes));
}

std::vector<pg::Query> group_of(const Statements& statements, Job job, const std::string& role,
                                bool named) {
  std::vector<pg::Query> group;
  group.reserve(job.statements.size() + 2);
  group.push_back(stamp_query(statements, job.identity, named));
  for (auto& statement : job.statements) {
    if (!named) statement.name.clear();
    group.push_back(std::move(statement));
  }
  if (!statements.seal.empty()) {
    group.push_back(seal_query(statements, job.identity, role, named));
  }
  return group;
}

Result<Answers> judge(std::vector<Result<pg::Rows>> results, bool sealed) {
  if (!results.front()) return fail(stamp_error(std::move(results.front().error())));
  const std::size_t count = results.size() - (sealed ? 2 : 1);
  Answers answers;
  answers.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    auto& result = results[i + 1];
    if (!result) return fail(at_statement(std::move(result.error()), i, count));
    answers.push_back(std::move(*result));
  }
  if (sealed && !results.back()) return fail(seal_error(std::move(results.back().error())));
  return answers;
}

}  // namespace plimsoll::rls
