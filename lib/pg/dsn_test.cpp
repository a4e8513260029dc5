#include "lib/pg/dsn.hpp"

#include <gmock/gmock.h>

#include <cstdlib>

namespace plimsoll::pg {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class DsnTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"PGHOST", "PGHOSTADDR", "PGPORT"}) unsetenv(name);
  }
};

TEST_F(DsnTest, ANameNeedsALookUp) {
  const auto dsn = parse_dsn("postgresql://user:secret@db.example:6000/app");
  ASSERT_TRUE(dsn) << dsn.error().message;
  ASSERT_EQ(dsn->hosts.size(), 1U);
  EXPECT_TRUE(dsn->hosts[0].needs_lookup());
  EXPECT_EQ(dsn->display(), "db.example port 6000");
}

TEST_F(DsnTest, AddressesAndSocketsNeedNone) {
  for (const char* text : {"host=127.0.0.1", "host=::1", "host=/run/postgresql", "host=@abstract",
                           "dbname=app", "host=db.example hostaddr=127.0.0.1"}) {
    const auto dsn = parse_dsn(text);
    ASSERT_TRUE(dsn) << text;
    EXPECT_FALSE(dsn->hosts[0].needs_lookup()) << text;
  }
}

TEST_F(DsnTest, SeveralHostsKeepTheirPorts) {
  const auto dsn = parse_dsn("host=a,/tmp,b port=1,2,3");
  ASSERT_TRUE(dsn);
  ASSERT_EQ(dsn->hosts.size(), 3U);
  EXPECT_EQ(dsn->hosts[2].host, "b");
  EXPECT_EQ(dsn->hosts[2].port, "3");
  EXPECT_FALSE(dsn->hosts[1].needs_lookup());
}

TEST_F(DsnTest, OnePortIsForAllHosts) {
  const auto dsn = parse_dsn("host=a,b port=7");
  ASSERT_TRUE(dsn);
  EXPECT_EQ(dsn->hosts[1].port, "7");
}

TEST_F(DsnTest, UnequalListsAreRefused) {
  const auto dsn = parse_dsn("host=a,b,c port=1,2");
  ASSERT_FALSE(dsn);
  EXPECT_EQ(dsn.error().code, Errc::kInvalidArgument);
  EXPECT_THAT(dsn.error().message, HasSubstr("3 hosts"));
}

TEST_F(DsnTest, TheEnvironmentNamesTheHostWhereTheDsnDoesNot) {
  setenv("PGHOST", "env.example", 1);
  const auto implied = parse_dsn("dbname=app");
  const auto given = parse_dsn("host=given.example");
  unsetenv("PGHOST");
  ASSERT_TRUE(implied && given);
  EXPECT_EQ(implied->hosts[0].host, "env.example");
  EXPECT_EQ(given->hosts[0].host, "given.example");
}

TEST_F(DsnTest, AMessageNeverQuotesThePassword) {
  const auto dsn = parse_dsn("host=a password=top secret");
  ASSERT_FALSE(dsn);
  EXPECT_EQ(dsn.error().code, Errc::kInvalidArgument);
  EXPECT_THAT(dsn.error().message, HasSubstr("missing"));
  EXPECT_THAT(dsn.error().message, Not(HasSubstr("secret")));
}

TEST(HideQuoted, HidesAllThatIsQuoted) {
  EXPECT_EQ(hide_quoted("after \"x\" in \"y\" z"), "after \"...\" in \"...\" z");
  EXPECT_EQ(hide_quoted("open \"rest"), "open \"");
}

TEST(SplitList, KeepsEmptyParts) {
  EXPECT_THAT(split_list("a,,b"), ElementsAre("a", "", "b"));
  EXPECT_THAT(split_list(""), ElementsAre(""));
}

}  // namespace
}  // namespace plimsoll::pg
