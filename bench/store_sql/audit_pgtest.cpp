// Negative controls of the counts that the cases judge by: each protection is taken out of the
// library's SQL once, and the count that speaks of it goes red, and no other. With the statements
// as they are all stay 0.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/store_sql/acts.hpp"
#include "bench/store_sql/audit.hpp"
#include "bench/store_sql/copier.hpp"
#include "bench/store_sql/stage.hpp"

namespace plimsoll::bench {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

class StoreAudit : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto server = fixtures::Infra::instance().postgres();
    ASSERT_TRUE(server) << server.error().message;
    auto stage = Stage::make(*server, "audit", Stock{20, 10});
    ASSERT_TRUE(stage) << stage.error().message;
    stage_ = std::move(*stage);
    auto caller = Caller::connect(stage_->dsn());
    ASSERT_TRUE(caller) << caller.error().message;
    caller_ = std::move(*caller);
  }

  store::Statements statements() const { return *store::statements_for(stage_->schema()); }
  // `sql` with a part replaced; its name is then another, too.
  static void change(store::Statement& statement, std::string_view part, std::string_view by) {
    const auto at = statement.sql.find(part);
    if (at == std::string::npos) throw std::runtime_error("not there: " + std::string(part));
    statement.sql.replace(at, part.size(), by);
    statement.name.clear();
  }
  /// The counts that are not 0 after `steps` operations of a task with these statements.
  std::map<std::string, std::int64_t> red_after(store::Statements sql, Task task, int steps = 5) {
    const store::Store store(std::move(sql));
    Acts acts(*stage_, store, caller_->connection(), task, Rng(1));
    for (int i = 0; i < steps; ++i) {
      const auto done = caller_->run(acts.step());
      if (!done) throw std::runtime_error(done.error().message);
    }
    return red(acts.rows(), acts.amounts());
  }
  std::map<std::string, std::int64_t> red(std::int64_t rows, std::int64_t amounts) {
    std::map<std::string, std::int64_t> found;
    const auto look = [&](const char* invariant, const std::string& query, std::int64_t less) {
      const auto value = stage_->number(query);
      if (!value) throw std::runtime_error(value.error().message);
      if (*value != less) found.emplace(invariant, *value - less);
    };
    look("rows", std::string(kRowsPresent), stage_->stock().items + rows);
    look("amounts", std::string(kAmounts), amounts);
    look("bodies", fmt::format(kBodiesAltered, stage_->stock().body), 0);
    return found;
  }

  std::unique_ptr<Stage> stage_;
  std::unique_ptr<Caller> caller_;
};

TEST_F(StoreAudit, IsGreenWhereNothingIsTakenOut) {
  for (const std::size_t depth : {1U, 10U}) {
    for (const Act act : {Act::kInsert, Act::kUpdate, Act::kMixed}) {
      ASSERT_TRUE(stage_->refill());
      EXPECT_THAT(red_after(statements(), Task{act, depth}), IsEmpty()) << name(act) << depth;
    }
  }
}

TEST_F(StoreAudit, SeesAnAcknowledgedInsertThatIsNotThere) {
  auto sql = statements();
  sql.insert = {"SELECT 1::bigint WHERE $1::bigint > 0 AND $2::text <> ''", {}};
  EXPECT_THAT(red_after(sql, Task{Act::kInsert, 1}),
              ElementsAre(Pair("amounts", -15), Pair("rows", -5)));
}

TEST_F(StoreAudit, SeesAnInsertThatWasDoneTwice) {
  auto sql = statements();
  change(sql.insert, "VALUES ($1, $2)", "VALUES ($1, $2), ($1, $2)");
  EXPECT_THAT(red_after(sql, Task{Act::kInsert, 10}, 1),
              ElementsAre(Pair("amounts", 30), Pair("rows", 10)));
}

TEST_F(StoreAudit, SeesAnUpdateThatWasLost) {
  auto sql = statements();
  // Each writes what it read elsewhere, in place of adding: the later undoes the earlier.
  change(sql.update, "amount + $2", "$2");
  ASSERT_TRUE(stage_->run("DELETE FROM items WHERE id > 1"));
  const store::Store store(sql);
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(caller_->run(store.update(caller_->connection(), store::Change(1, 1))));
  }
  EXPECT_THAT(red(-19, 2), ElementsAre(Pair("amounts", -1)));
}

TEST_F(StoreAudit, SeesAnUpdateThatWasDoneTwice) {
  auto sql = statements();
  change(sql.update, "amount + $2", "amount + 2 * $2");
  EXPECT_THAT(red_after(sql, Task{Act::kMixed, 10}, 1), ElementsAre(Pair("amounts", 10)));
}

TEST_F(StoreAudit, SeesABodyThatWasAltered) {
  auto sql = statements();
  change(sql.update, "amount = ", "body = '', amount = ");
  EXPECT_THAT(red_after(sql, Task{Act::kUpdate, 1}, 1), ElementsAre(Pair("bodies", 1)));
}

TEST_F(StoreAudit, SeesRowsThatACopyLostOrChanged) {
  ASSERT_TRUE(stage_->run("TRUNCATE items"));
  auto caller = CopyCaller::connect(*stage_);
  ASSERT_TRUE(caller) << caller.error().message;
  ASSERT_TRUE((*caller)->in(100, pg::CopyFormat::kBinary));
  EXPECT_THAT(red(100 - 20, amounts_of(100)), IsEmpty());
  ASSERT_TRUE(stage_->run("DELETE FROM items WHERE id = 7"));
  EXPECT_THAT(red(100 - 20, amounts_of(100)),
              ElementsAre(Pair("amounts", -amount_of(7)), Pair("rows", -1)));
}

}  // namespace
}  // namespace plimsoll::bench
