// What the seal and the local stamp are for: functions that the application has in its database
// change identity, session and role behind a job's back. Each protection is taken out once, and the
// count that speaks of it goes red.
#include "lib/rls_queue/database_pgtest.hpp"

namespace plimsoll::rls {
namespace {

using testing::HasSubstr;

class EveryControl : public EverySubject {
 protected:
  void SetUp() override {
    EverySubject::SetUp();
    sql("CREATE FUNCTION become(tenant text, is_local boolean) RETURNS text LANGUAGE sql AS "
        "$$ SELECT set_config('plimsoll.tenant', tenant, is_local) $$;"
        "CREATE FUNCTION become_by_set() RETURNS void LANGUAGE plpgsql AS "
        "$$ BEGIN SET plimsoll.tenant = 'b'; END $$;"
        "CREATE FUNCTION be_role(name text) RETURNS text LANGUAGE sql AS "
        "$$ SELECT set_config('role', name, false) $$");
  }
  /// Says that it is tenant a, becomes b, and looks.
  static Job impostor(const std::string& call) {
    std::vector<pg::Query> steps;
    steps.emplace_back("SELECT " + call);
    steps.emplace_back(std::string(kLook), pg::params("a"));
    return {as("a"), std::move(steps)};
  }
  static Statements statements() { return *statements_for({}); }
  static Statements without_seal() {
    Statements all = statements();
    all.seal.clear();
    return all;
  }
};

TEST_P(EveryControl, AJobThatTurnsIntoAnotherTenantIsUndoneAndTold) {
  const auto queue = this->queue();
  for (const char* const call :
       {"become('b', true)", "become('b', false)", "become_by_set()", "become('', true)"}) {
    const auto refused = run(*queue, impostor(call));
    ASSERT_FALSE(refused) << call;
    EXPECT_EQ(refused.error().code, Errc::kRefused) << refused.error().message;
    EXPECT_THAT(refused.error().message, HasSubstr("changed its identity"));
    EXPECT_TRUE(run(*queue, look("c")));
    EXPECT_EQ(identities_left(*queue), 0) << call;
  }
  EXPECT_EQ(number(kForeignRows), 0);
  EXPECT_EQ(number("SELECT count(*) FROM seen WHERE as_tenant = 'a'"), 0);
}

TEST_P(EveryControl, WithoutTheSealItWouldSeeTheOthersRows) {
  const auto queue = open(config(GetParam()), without_seal());
  const auto seen = run(*queue, impostor("become('b', true)"));
  EXPECT_TRUE(seen) << seen.error().message;
  EXPECT_EQ(number(kForeignRows), 2);
}

TEST_P(EveryControl, WhatAFunctionLeavesInTheSessionIsWiped) {
  const auto queue = this->queue();
  // Its own tenant, so nothing differs until the transaction has ended.
  EXPECT_TRUE(run(*queue, {as("a"), pg::Query("SELECT become('a', false)")}));
  EXPECT_EQ(identities_left(*queue), 0);
}

TEST_P(EveryControl, WithoutTheSealItWouldStay) {
  const auto queue = open(config(GetParam()), without_seal());
  EXPECT_TRUE(run(*queue, {as("a"), pg::Query("SELECT become('a', false)")}));
  EXPECT_EQ(identities_left(*queue), 1);
  // Even so the next job reads nothing of it: its stamp comes first.
  EXPECT_TRUE(run(*queue, look("c")));
  EXPECT_EQ(number(kForeignRows), 0);
}

TEST_P(EveryControl, AStampOfTheSessionWouldStayOnTheConnection) {
  Statements session = without_seal();
  for (auto at = session.stamp.find("true"); at != std::string::npos;
       at = session.stamp.find("true")) {
    session.stamp.replace(at, 4, "false");
  }
  const auto queue = open(config(GetParam()), session);
  EXPECT_TRUE(run(*queue, look("a")));
  EXPECT_EQ(identities_left(*queue), 1);
}

TEST_P(EveryControl, WithoutAStampOfItsOwnAJobWouldReadTheFormersRows) {
  Statements session = without_seal();
  session.stamp =
      "SELECT CASE WHEN $1 <> 'nobody' THEN set_config('plimsoll.tenant', $1, false) END, "
      "$2::text, $3::text";
  const auto queue = open(config(GetParam()), session);
  EXPECT_TRUE(run(*queue, look("b")));
  EXPECT_TRUE(run(*queue, look("nobody")));
  EXPECT_EQ(number(kForeignRows), 2);
}

TEST_P(EveryControl, AJobThatTakesAnotherRoleIsUndoneAndTold) {
  const auto server = fixtures::Infra::instance().postgres();
  ASSERT_TRUE(server);
  static int number = 0;
  const auto other = fixtures::Role::create(*server, fmt::format("other_{}", ++number), *schema_);
  ASSERT_TRUE(other) << other.error().message;
  sql(fmt::format("GRANT {} TO {}", other->name(), role_->name()));
  const auto queue = this->queue();
  const pg::Query take("SELECT be_role($1)", pg::params(other->name()));
  const auto refused = run(*queue, {as("a"), take});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kRefused);
  EXPECT_EQ(column(run(*queue, {as("a"), pg::Query("SELECT current_user")})), role_->name());
  const auto open_queue = open(config(GetParam()), without_seal());
  EXPECT_TRUE(run(*open_queue, {as("a"), take}));
  EXPECT_EQ(column(run(*open_queue, {as("a"), pg::Query("SELECT current_user")})), other->name());
}

TEST_P(EveryControl, TriggersAtTheCommitStillActAsTheIdentity) {
  sql("CREATE FUNCTION note_late() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
      "INSERT INTO seen SELECT new.tenant, tenant, count(*) FROM notes GROUP BY tenant; "
      "RETURN NULL; END $$;"
      "CREATE CONSTRAINT TRIGGER late AFTER UPDATE ON notes DEFERRABLE INITIALLY DEFERRED "
      "FOR EACH ROW EXECUTE FUNCTION note_late()");
  const auto queue = this->queue();
  const auto written =
      run(*queue, {as("b"), pg::Query("UPDATE notes SET version = 1 WHERE id = 1")});
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(number("SELECT sum(rows) FROM seen"), 2);
  EXPECT_EQ(number(kForeignRows), 0);
  EXPECT_EQ(identities_left(*queue), 0);
}

TEST_P(EveryControl, ACommitThatFailsIsToldAndLeavesNothing) {
  sql("ALTER TABLE notes ADD CONSTRAINT one_version UNIQUE (tenant, version, author) "
      "DEFERRABLE INITIALLY DEFERRED");
  const auto queue = this->queue();
  const auto refused =
      run(*queue, {as("b"), pg::Query("UPDATE notes SET author = 'same', version = 7")});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().sqlstate, "23505") << refused.error().message;
  EXPECT_EQ(number("SELECT count(*) FROM notes WHERE version = 7"), 0);
  EXPECT_EQ(identities_left(*queue), 0);
  EXPECT_TRUE(run(*queue, look("b")));
}

INSTANTIATE_TEST_SUITE_P(Subjects, EveryControl, kSubjects, subject_name);

}  // namespace
}  // namespace plimsoll::rls
