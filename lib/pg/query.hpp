#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace plimsoll::pg {

/// Text-format parameters; nullopt is NULL.
using Params = std::vector<std::optional<std::string>>;

/// One statement. With a name it is prepared on the connection at first use and only bound
/// afterwards; without, it is parsed each time (what a transaction pooler needs).
///
/// A name stands for one text as long as the connection lives; another text under the same name is
/// refused with kInvalidArgument.
///
/// It has constructors, hence is no aggregate, on purpose: GCC 12 destroys an aggregate twice that
/// is written out inside a co_await statement.
struct Query {
  Query() = default;
  Query(std::string text, Params values = {}, std::string statement_name = {}) noexcept
      : sql(std::move(text)), params(std::move(values)), name(std::move(statement_name)) {}

  std::string sql;
  Params params;
  std::string name;
};

/// Parameters from strings, integers and nullopt: `params(tenant, 42, std::nullopt)`. Unlike a list
/// in braces it may stand inside a co_await statement, where GCC 12 gives up on the list.
template <class... Values>
[[nodiscard]] Params params(Values&&... values) {
  Params list;
  list.reserve(sizeof...(values));
  const auto add = [&list]<class Value>(Value&& value) {
    if constexpr (std::is_integral_v<std::decay_t<Value>>) {
      list.emplace_back(std::to_string(value));
    } else if constexpr (std::is_same_v<std::decay_t<Value>, std::string_view>) {
      list.emplace_back(std::string(value));
    } else {
      list.emplace_back(std::forward<Value>(value));
    }
  };
  (add(std::forward<Values>(values)), ...);
  return list;
}

/// The limit of one call, when it is not the connection's.
using Timeout = std::optional<std::chrono::milliseconds>;

/// What the connection did since it was opened. Work counters: they do not depend on the machine's
/// mood. Counted when the answer arrives, so a call that timed out is counted once the server is
/// done with it.
struct Counters {
  /// Statements that the server executed, BEGIN and COMMIT included, failed ones included, the
  /// Parse of a prepared one apart. `statements - errors` is what pg_stat_statements counts.
  std::uint64_t statements = 0;
  std::uint64_t errors = 0;    ///< Statements among them that ended in an error.
  std::uint64_t prepares = 0;  ///< Parse messages for named statements.
  /// Groups that were sent and waited for: one for each query, pipeline or script, however many
  /// statements it carries and however many groups travel at once.
  std::uint64_t round_trips = 0;
  /// Transactions that the server acknowledged, explicit or implicit, with at least one statement
  /// whose command tag is not that of a read (SELECT, SHOW, FETCH...). A SELECT that writes inside
  /// a function is not seen here.
  std::uint64_t commits = 0;
  std::uint64_t rows = 0;            ///< Returned or affected, as in pg_stat_statements.
  std::uint64_t bytes_sent = 0;      ///< Statement text and parameter values, not framing.
  std::uint64_t bytes_received = 0;  ///< Field values, not framing.

  Counters& operator+=(const Counters& other) noexcept {
    statements += other.statements;
    errors += other.errors;
    prepares += other.prepares;
    round_trips += other.round_trips;
    commits += other.commits;
    rows += other.rows;
    bytes_sent += other.bytes_sent;
    bytes_received += other.bytes_received;
    return *this;
  }

  friend bool operator==(const Counters&, const Counters&) = default;
};

}  // namespace plimsoll::pg
