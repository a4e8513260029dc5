#include "lib/store_sql/store_pgtest.hpp"

namespace plimsoll::store {
namespace {

using namespace std::string_literals;
using ::testing::HasSubstr;

std::function<bool(Copied&)> items(std::int64_t count, std::string_view body = "body") {
  auto next = std::make_shared<std::int64_t>(0);
  return [next, count, body](Copied& item) {
    if (*next == count) return false;
    ++*next;
    item = Copied{*next, *next * 2, body};
    return true;
  };
}

TEST_F(StoreTest, CopiesItemsInAndOutAsTheyAre) {
  const auto copier = this->copier();
  for (const auto format : {pg::CopyFormat::kBinary, pg::CopyFormat::kText}) {
    sql("TRUNCATE items");
    EXPECT_EQ(run(store_->copy_in(*copier, items(20'000, "b\\\t"), format)), 20'000U);
    EXPECT_EQ(sql("SELECT count(*) || ' ' || sum(id) || ' ' || sum(amount) FROM items"),
              "20000 200010000 400020000");
    std::int64_t expected = 0;
    const auto copied = run(store_->copy_out(
        *copier,
        [&](const Copied& item) {
          ++expected;
          ASSERT_EQ(item.id, expected);
          ASSERT_EQ(item.amount, 2 * expected);
          ASSERT_EQ(item.body, "b\\\t");
        },
        format));
    EXPECT_EQ(copied, 20'000U);
    EXPECT_EQ(expected, 20'000);
  }
}

TEST_F(StoreTest, AnIdThatIsThereAlreadyUndoesTheWholeCopyAndSaysTheLine) {
  sql("INSERT INTO items (id, amount, body) VALUES (500, 0, 'mine')");
  const auto copier = this->copier();
  const auto copied = run(store_->copy_in(*copier, items(1000)));
  ASSERT_FALSE(copied);
  EXPECT_EQ(copied.error().code, Errc::kConflict);
  EXPECT_EQ(copied.error().sqlstate, "23505");
  EXPECT_THAT(copied.error().message, HasSubstr("line 500"));
  EXPECT_EQ(sql("SELECT count(*) FROM items"), "1");
}

TEST_F(StoreTest, ACopiedBodyWithANulByteIsRefused) {
  const auto copier = this->copier();
  const auto copied = run(store_->copy_in(*copier, items(3, std::string_view("a\0b", 3))));
  EXPECT_EQ(copied.error().code, Errc::kInvalidArgument);
  EXPECT_EQ(sql("SELECT count(*) FROM items"), "0");
  EXPECT_EQ(run(store_->copy_in(*copier, items(3))), 3U);
}

}  // namespace
}  // namespace plimsoll::store
