#pragma once

#include <memory>
#include <string>

#include "lib/kv_store/statements.hpp"
#include "lib/kv_store/types.hpp"
#include "lib/pg/batch.hpp"

namespace plimsoll::kv {

/// What the group commits of the Postgres subject carry, and how it becomes SQL.
using StatementsPtr = std::shared_ptr<const Statements>;

/// Its key is place_of: the order in which rows are locked.
[[nodiscard]] pg::BatchItem set_item(std::string tenant, Write write);
/// `expected` as in Store::compare_and_set.
[[nodiscard]] pg::BatchItem swap_item(std::string tenant, Write write, Version expected);
[[nodiscard]] pg::BatchItem erase_item(std::string tenant, std::string key);

/// One upsert for all of a batch: (ordinal, version).
[[nodiscard]] pg::BatchWriterPtr set_writer(StatementsPtr statements);
/// A statement for each, since each has a condition of its own: (version), or no row.
[[nodiscard]] pg::BatchWriterPtr swap_writer(StatementsPtr statements);
/// A statement for each, so that rows are locked in the batch's order: (lived), or no row.
[[nodiscard]] pg::BatchWriterPtr erase_writer(StatementsPtr statements);

/// The writes of one set_all: sorted by key and each key once, as the statement wants them.
struct Folded {
  pg::Params params;
  std::size_t slots = 0;              ///< Rows that they become.
  std::vector<std::size_t> slot_of;   ///< For each write, its row, from 0 on.
  std::vector<std::size_t> newer_of;  ///< For each write, how many later ones have its key.
};
[[nodiscard]] Folded fold_writes(const std::string& tenant, std::vector<Write> writes);

}  // namespace plimsoll::kv
