#pragma once

#include <cstddef>
#include <string>
#include <unordered_map>

#include "lib/core/result.hpp"
#include "lib/pg/query.hpp"

namespace plimsoll::pg {

/// What the server knows under each name of a prepared statement, as far as its answers tell.
///
/// A Parse may fail or be skipped, so a name whose Parse is still unanswered must not be bound by
/// another group: whoever needs it waits for that one answer. This happens once a name.
///
/// Thread safety: none.
class StatementNames {
 public:
  enum class State {
    kUnknown,  ///< Parse before Bind.
    kPending,  ///< A Parse is on its way.
    kReady,    ///< Bind.
    kStale,    ///< The server's plan no longer fits its tables: DEALLOCATE and Parse anew.
  };
  struct Entry {
    std::string sql;
    State state = State::kUnknown;
    std::size_t users = 0;  ///< Statements waiting or in flight.
  };

  /// Finds or makes the entry of a named query and counts a user. Nodes do not move, so the pointer
  /// stays good for the life of this object. Errors: kInvalidArgument when the name stands for
  /// another text.
  [[nodiscard]] Result<Entry*> use(const Query& query);

 private:
  std::unordered_map<std::string, Entry> entries_;
};

}  // namespace plimsoll::pg
