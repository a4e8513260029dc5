#include "lib/pg/batch.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "lib/pg/array.hpp"

namespace plimsoll::pg {
namespace {

class OneStatement final : public BatchWriter {
 public:
  explicit OneStatement(std::function<Query(std::span<const BatchSlot>)> build)
      : build_(std::move(build)) {}

  std::vector<BatchStatement> write(std::span<const BatchSlot> slots) const override {
    std::vector<BatchStatement> statements;
    statements.emplace_back(build_(slots));
    return statements;
  }

  Result<std::vector<BatchAnswer>> read(std::span<const BatchSlot> slots,
                                        std::span<const std::optional<std::size_t>>,
                                        std::vector<Rows> answers) const override {
    const auto rows = std::make_shared<const Rows>(std::move(answers.front()));
    std::vector<BatchAnswer> all(slots.size(), BatchAnswer(rows, std::nullopt));
    for (std::size_t row = 0; row < rows->size(); ++row) {
      const auto ordinal = rows->integer(row, 0);
      const auto slot = ordinal ? static_cast<std::size_t>(*ordinal) - 1 : slots.size();
      if (slot >= slots.size() || all[slot].has_row()) {
        return fail(Errc::kInternal,
                    fmt::format("the batch was committed, but row {} of its answer begins with "
                                "'{}', where an ordinal from 1 to {}, each once, was expected",
                                row, rows->text(row, 0), slots.size()));
      }
      all[slot] = BatchAnswer(rows, row);
    }
    return all;
  }

 private:
  std::function<Query(std::span<const BatchSlot>)> build_;
};

class StatementsOfEach final : public BatchWriter {
 public:
  explicit StatementsOfEach(std::function<std::vector<Query>(const BatchSlot&)> build)
      : build_(std::move(build)) {}

  std::vector<BatchStatement> write(std::span<const BatchSlot> slots) const override {
    std::vector<BatchStatement> statements;
    statements.reserve(slots.size());
    for (std::size_t slot = 0; slot < slots.size(); ++slot) {
      for (auto& query : build_(slots[slot])) statements.emplace_back(std::move(query), slot);
    }
    return statements;
  }

  Result<std::vector<BatchAnswer>> read(std::span<const BatchSlot> slots,
                                        std::span<const std::optional<std::size_t>> owners,
                                        std::vector<Rows> answers) const override {
    std::vector<BatchAnswer> all(slots.size());
    for (std::size_t i = 0; i < answers.size(); ++i) {
      auto rows = std::make_shared<const Rows>(std::move(answers[i]));
      const auto first = rows->empty() ? std::nullopt : std::optional<std::size_t>(0);
      all[*owners[i]] = BatchAnswer(std::move(rows), first);
    }
    return all;
  }

 private:
  std::function<std::vector<Query>(const BatchSlot&)> build_;
};

}  // namespace

std::size_t BatchItem::bytes() const noexcept {
  std::size_t total = key.size();
  for (const auto& value : values) total += value ? value->size() : 0;
  return total;
}

std::optional<std::string_view> BatchAnswer::value(std::size_t column) const noexcept {
  return row_ ? rows_->value(*row_, column) : std::nullopt;
}

Result<std::int64_t> BatchAnswer::integer(std::size_t column) const {
  if (!row_) {
    return fail(Errc::kInvalidArgument,
                fmt::format("column {} was asked for; the item's answer has no row", column));
  }
  return rows_->integer(*row_, column);
}

const Rows& BatchAnswer::rows() const noexcept {
  static const Rows none;
  return rows_ ? *rows_ : none;
}

BatchWriterPtr one_statement(std::function<Query(std::span<const BatchSlot>)> build) {
  return std::make_shared<const OneStatement>(std::move(build));
}

BatchWriterPtr statements_of_each(std::function<std::vector<Query>(const BatchSlot&)> build) {
  return std::make_shared<const StatementsOfEach>(std::move(build));
}

Params array_params(std::span<const BatchSlot> slots) {
  std::size_t columns = 0;
  for (const auto& slot : slots) columns = std::max(columns, slot.item().values.size());
  Params params;
  ArrayText array;
  for (std::size_t column = 0; column < columns; ++column) {
    for (const auto& slot : slots) {
      const auto& values = slot.item().values;
      const bool is_null = column >= values.size() || !values[column];
      array.add(is_null ? std::nullopt : std::optional<std::string_view>(*values[column]));
    }
    params.emplace_back(array.take());
  }
  for (const auto& slot : slots) array.add(std::to_string(slot.count()));
  params.emplace_back(array.take());
  return params;
}

}  // namespace plimsoll::pg
