// What the policies do by themselves, seen by plain connections.
#include "lib/rls_queue/database_pgtest.hpp"

namespace plimsoll::rls {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

class Policies : public RlsTest {
 protected:
  void protect(const Protection& protection) {
    const auto server = fixtures::Infra::instance().postgres();
    build(*server, protection);
  }
  Plain as_role() const { return Plain(role_->dsn()); }
  /// `notes` large enough for an index, and how the role reads one of them as tenant b.
  std::string plan(const std::string& query) {
    sql("INSERT INTO notes (tenant, id, body) SELECT t, n, 'x' FROM unnest('{a,b,c}'::text[]) t, "
        "generate_series(1000, 4000) n ON CONFLICT DO NOTHING; ANALYZE notes");
    Plain role = as_role();
    role.text("SET plimsoll.tenant = 'b'; SET enable_seqscan = off");
    return role.text("EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) " + query);
  }
};

constexpr const char* kOne = "SELECT body FROM notes WHERE id = 2000";
/// The InitPlan's node. Version 18 says 1.00.
constexpr const char* kOnce = "Result [(]actual rows=1[.0]* loops=1[)]";

TEST_F(Policies, ReadTheIdentityOnceAStatementAndUseTheIndex) {
  const auto text = plan(kOne);
  EXPECT_THAT(text, AllOf(HasSubstr("InitPlan"), HasSubstr("Index Cond: ((tenant = "),
                          HasSubstr("(id = 2000))"), ContainsRegex(kOnce)));
  EXPECT_THAT(plan("SELECT count(body) FROM notes"), ContainsRegex(kOnce)) << "3,003 rows";
}

TEST_F(Policies, WouldReadItOnceARowWithoutTheSubSelect) {
  protect({true, true, 1, false});
  EXPECT_THAT(plan(kOne), Not(HasSubstr("InitPlan")));
}

TEST_F(Policies, LetNobodyInWithoutAnIdentity) {
  Plain role = as_role();
  EXPECT_EQ(role.text("SELECT count(*) FROM notes"), "0");
  role.text("SET plimsoll.tenant = ''");
  EXPECT_EQ(role.text("SELECT count(*) FROM notes"), "0");
  EXPECT_THROW(role.text("INSERT INTO notes (tenant, id, body) VALUES ('a', 9, 'x')"),
               std::runtime_error);
  role.text("SET plimsoll.tenant = 'b'");
  EXPECT_EQ(role.text("SELECT count(*) FROM notes"), "2");
}

TEST_F(Policies, TakeWhatAnEndedTransactionLeavesForNobody) {
  Plain role = as_role();
  EXPECT_EQ(role.text("SELECT current_setting('plimsoll.tenant', true) IS NULL"), "t");
  role.text("BEGIN; SELECT set_config('plimsoll.tenant', '7', true); COMMIT");
  EXPECT_EQ(role.text("SELECT current_setting('plimsoll.tenant', true) = ''"), "t")
      << "no longer NULL: the reason for NULLIF";
  EXPECT_EQ(role.text("SELECT count(*) FROM notes"), "0");
  EXPECT_EQ(role.text("SELECT " + identity_sql("plimsoll", "tenant") + "::int IS NULL"), "t");
  EXPECT_THROW(role.text("SELECT current_setting('plimsoll.tenant', true)::int"),
               std::runtime_error);
}

TEST_F(Policies, BindTheOwnerOfTheTableToo) {
  const std::string hand_over = "ALTER TABLE notes OWNER TO ";
  sql(hand_over + role_->name());
  EXPECT_EQ(as_role().text("SELECT count(*) FROM notes"), "0");
}

TEST_F(Policies, WouldLetTheOwnerSeeAllWithoutForce) {
  protect({true, false, 1, true});
  EXPECT_EQ(as_role().text("SELECT count(*) FROM notes"), "0") << "as no owner yet";
  sql("ALTER TABLE notes OWNER TO " + role_->name());
  EXPECT_EQ(as_role().text("SELECT count(*) FROM notes"), "6");
}

TEST_F(Policies, LetNobodyInWhereThereIsNone) {
  protect({true, true, 0, true});
  Plain role = as_role();
  role.text("SET plimsoll.tenant = 'b'");
  EXPECT_EQ(role.text("SELECT count(*) FROM notes"), "0");
}

TEST_F(Policies, ShowTheSameRowsWhereThereAreFifty) {
  protect({true, true, 50, true});
  Plain role = as_role();
  role.text("SET plimsoll.tenant = 'b'");
  EXPECT_EQ(role.text("SELECT count(*) FROM notes"), "2");
  EXPECT_EQ(number("SELECT count(*) FROM pg_policy WHERE polrelid = 'notes'::regclass"), 50);
}

TEST_F(Policies, AreNotThereWhereTurnedOff) {
  protect({false, false, 1, true});
  EXPECT_EQ(as_role().text("SELECT count(*) FROM notes"), "6");
}

}  // namespace
}  // namespace plimsoll::rls
