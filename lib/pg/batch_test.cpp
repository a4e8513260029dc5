#include "lib/pg/batch.hpp"

#include <gmock/gmock.h>
#include <libpq-fe.h>

namespace plimsoll::pg {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Rows rows_of(const std::vector<std::vector<std::string>>& values) {
  PGresult* const result = PQmakeEmptyPGresult(nullptr, PGRES_TUPLES_OK);
  const std::size_t columns = values.empty() ? 1 : values.front().size();
  std::string name = "column";
  std::vector<PGresAttDesc> attributes(columns);
  for (auto& attribute : attributes) attribute.name = name.data();
  PQsetResultAttrs(result, static_cast<int>(columns), attributes.data());
  for (std::size_t row = 0; row < values.size(); ++row) {
    for (std::size_t column = 0; column < columns; ++column) {
      std::string text = values[row][column];
      PQsetvalue(result, static_cast<int>(row), static_cast<int>(column), text.data(),
                 static_cast<int>(text.size()));
    }
  }
  return Rows(result);
}

std::vector<BatchSlot> slots_of(std::vector<BatchItem> items) {
  std::vector<BatchSlot> slots;
  for (auto& item : items) slots.emplace_back(std::make_shared<BatchEntry>(std::move(item)));
  return slots;
}

std::vector<Rows> list(Rows rows) {
  std::vector<Rows> all;
  all.push_back(std::move(rows));
  return all;
}

class OneStatementTest : public ::testing::Test {
 protected:
  Result<std::vector<BatchAnswer>> read(const std::vector<std::vector<std::string>>& values) {
    const std::vector<std::optional<std::size_t>> owners{std::nullopt};
    return writer_->read(slots_, owners, list(rows_of(values)));
  }

  std::vector<BatchSlot> slots_ = slots_of({{"a", {"1"}}, {"b", {"2"}}, {"c", {"3"}}});
  BatchWriterPtr writer_ = one_statement([](std::span<const BatchSlot> slots) {
    return Query("INSERT", array_params(slots), "name");
  });
};

TEST_F(OneStatementTest, IsBuiltFromAllSlotsAndIsNobodysOwn) {
  const auto statements = writer_->write(slots_);
  ASSERT_EQ(statements.size(), 1U);
  EXPECT_EQ(statements[0].query.sql, "INSERT");
  EXPECT_EQ(statements[0].query.name, "name");
  EXPECT_THAT(statements[0].query.params, ElementsAre(R"({"1","2","3"})", R"({"1","1","1"})"));
  EXPECT_EQ(statements[0].slot, std::nullopt);
}

TEST_F(OneStatementTest, FindsTheRowOfEachSlotByItsOrdinal) {
  const auto answers = read({{"3", "third"}, {"1", "first"}});
  ASSERT_TRUE(answers) << answers.error().message;
  ASSERT_EQ(answers->size(), 3U);
  EXPECT_EQ((*answers)[0].value(1), "first");
  EXPECT_FALSE((*answers)[1].has_row());
  EXPECT_EQ((*answers)[2].value(1), "third");
}

TEST_F(OneStatementTest, NeedsNoRows) {
  const auto answers = read({});
  ASSERT_TRUE(answers) << answers.error().message;
  EXPECT_EQ(answers->size(), 3U);
}

TEST_F(OneStatementTest, SaysWhichOrdinalIsNone) {
  for (const char* ordinal : {"0", "4", "-1", "x", "", "99999999999999999999"}) {
    const auto answers = read({{"1"}, {ordinal}});
    ASSERT_FALSE(answers) << ordinal;
    EXPECT_EQ(answers.error().code, Errc::kInternal);
    EXPECT_THAT(answers.error().message, HasSubstr("row 1 of its answer"));
  }
  EXPECT_FALSE(read({{"2"}, {"2"}})) << "twice the same";
}

TEST(StatementsOfEach, BelongToTheirSlotAndAnswerWithTheLast) {
  const auto slots = slots_of({{"a", {"1"}}, {"b", {"2"}}});
  const auto writer = statements_of_each([](const BatchSlot& slot) {
    std::vector<Query> queries{Query("BEFORE"), Query("DO", slot.item().values)};
    if (slot.item().key == "b") queries.erase(queries.begin());
    return queries;
  });
  const auto statements = writer->write(slots);
  ASSERT_EQ(statements.size(), 3U);
  std::vector<std::optional<std::size_t>> owners;
  for (const auto& statement : statements) owners.push_back(statement.slot);
  EXPECT_THAT(owners, ElementsAre(0U, 0U, 1U));
  EXPECT_EQ(statements[1].query.params, params("1"));

  std::vector<Rows> answers;
  answers.push_back(rows_of({{"lock"}}));
  answers.push_back(rows_of({{"first"}, {"more"}}));
  answers.push_back(rows_of({}));
  const auto read = writer->read(slots, owners, std::move(answers));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ((*read)[0].value(0), "first");
  EXPECT_EQ((*read)[0].rows().size(), 2U);
  EXPECT_FALSE((*read)[1].has_row());
}

TEST(ArrayParams, HaveAnArrayForEachValueAndOneOfCounts) {
  const auto slots = slots_of({{"a", {"1", std::nullopt}}, {"b", {"\""}}});
  EXPECT_THAT(array_params(slots), ElementsAre(R"({"1","\""})", "{NULL,NULL}", R"({"1","1"})"));
}

TEST(BatchAnswer, OfNothingHasNoRow) {
  const BatchAnswer answer;
  EXPECT_FALSE(answer.has_row());
  EXPECT_TRUE(answer.rows().empty());
  EXPECT_EQ(answer.integer(0).error().code, Errc::kInvalidArgument);
}

}  // namespace
}  // namespace plimsoll::pg
