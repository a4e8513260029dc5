// Identities, values and rows that are odd, too large or somebody else's.
#include "lib/rls_queue/database_pgtest.hpp"

namespace plimsoll::rls {
namespace {

using testing::HasSubstr;

class EveryIdentity : public EverySubject {};

const pg::Query kIds("SELECT id FROM notes ORDER BY id");

TEST_P(EveryIdentity, TakesATenantByItsExactBytesWhateverTheyAre) {
  const std::vector<std::string> tenants{"it's",         "x'; DROP TABLE notes; --",
                                         "\"q\"",        "a:b",
                                         "a\nb",         "a\tb",
                                         "{a,b}",        "a\\b",
                                         "NULL",         "%",
                                         "$1",           "A",
                                         " a",           "a ",
                                         "Z\xC3\xBCrich"};
  const auto queue = this->queue();
  int id = 100;
  for (const auto& tenant : tenants) {
    const auto written = run(
        *queue, {as(tenant), pg::Query("INSERT INTO notes (tenant, id, body) VALUES ($1, $2, 'x')",
                                       pg::params(tenant, ++id))});
    ASSERT_TRUE(written) << tenant << ": " << written.error().message;
  }
  id = 100;
  for (const auto& tenant : tenants) {
    EXPECT_EQ(column(run(*queue, {as(tenant), kIds})), std::to_string(++id)) << tenant;
  }
  EXPECT_EQ(column(run(*queue, {as("a"), kIds})), "1");
}

TEST_P(EveryIdentity, TakesAnIdentityAsLongAsTheLimit) {
  const auto queue = this->queue();
  const std::string longest(kMaxIdentityBytes, 'x');
  const auto identity = Identity::make(longest, longest);
  ASSERT_TRUE(identity);
  EXPECT_EQ(column(run(*queue,
                       {*identity, pg::Query("SELECT length(current_setting('plimsoll.user'))")})),
            std::to_string(kMaxIdentityBytes));
  EXPECT_EQ(column(run(*queue, {*identity, kIds})), "");
}

TEST_P(EveryIdentity, RefusesAnIdentityThatIsNoTextToTheServerAndGoesOn) {
  const auto queue = this->queue();
  const auto refused = run(*queue, {as("a\xFF"), kIds});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kInvalidArgument);
  EXPECT_THAT(refused.error().message, HasSubstr("identity: "));
  EXPECT_EQ(column(run(*queue, {as("b"), kIds})), "1,2");
}

TEST_P(EveryIdentity, RefusesANulAndWhatIsTooLargeToThatCallerAlone) {
  Config small = config(GetParam());
  small.max_job_bytes = 1000;
  const auto queue = open(small);
  std::vector<Job> jobs;
  const pg::Query echo("SELECT length($1::text)");
  for (const std::string& value :
       {std::string("a\0b", 3), std::string(1000, 'x'), std::string("fine")}) {
    pg::Query query = echo;
    query.params = pg::params(value);
    jobs.emplace_back(as("a"), std::move(query));
  }
  const auto results = run_all(*queue, std::move(jobs));
  ASSERT_FALSE(results[0]);
  EXPECT_EQ(results[0].error().code, Errc::kInvalidArgument);
  EXPECT_THAT(results[0].error().message, HasSubstr("NUL byte"));
  ASSERT_FALSE(results[1]);
  EXPECT_EQ(results[1].error().code, Errc::kInvalidArgument);
  EXPECT_THAT(results[1].error().message, HasSubstr("at most 1000 are allowed"));
  EXPECT_EQ(column(results[2]), "4");
}

TEST_P(EveryIdentity, PassesOnWhatTheServerFindsTooLarge) {
  sql("ALTER TABLE notes ADD CONSTRAINT short CHECK (length(body) < 10)");
  const auto queue = this->queue();
  const pg::Query write("UPDATE notes SET body = $1 WHERE id = 1",
                        pg::params(std::string(10, 'x')));
  const auto refused = run(*queue, {as("a"), write});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().sqlstate, "23514");
  EXPECT_EQ(column(run(*queue, {as("a"), kIds})), "1");
}

TEST_P(EveryIdentity, LetsNobodyWriteForAnotherTenant) {
  const auto queue = this->queue();
  const auto insert = run(
      *queue, {as("a"), pg::Query("INSERT INTO notes (tenant, id, body) VALUES ('b', 9, 'x')")});
  ASSERT_FALSE(insert);
  EXPECT_EQ(insert.error().code, Errc::kRefused);
  EXPECT_EQ(insert.error().sqlstate, "42501");
  const auto move = run(*queue, {as("a"), pg::Query("UPDATE notes SET tenant = 'b'")});
  EXPECT_EQ(move.error().sqlstate, "42501");
  const auto blind = run(*queue, {as("a"), pg::Query("DELETE FROM notes WHERE tenant = 'b'")});
  ASSERT_TRUE(blind) << blind.error().message;
  EXPECT_EQ(blind->front().affected(), 0U);
  EXPECT_EQ(number("SELECT count(*) FROM notes"), 6);
}

TEST_P(EveryIdentity, MakesTheUserTheAuthorOfWhatItWrites) {
  const auto queue = this->queue();
  EXPECT_TRUE(run(
      *queue, {as("a"), pg::Query("INSERT INTO notes (tenant, id, body) VALUES ('a', 9, 'x')")}));
  EXPECT_TRUE(
      run(*queue, {*Identity::make("a", ""),
                   pg::Query("INSERT INTO notes (tenant, id, body) VALUES ('a', 10, 'x')")}));
  EXPECT_EQ(number("SELECT count(*) FROM notes WHERE id = 9 AND author = 'ann'"), 1);
  EXPECT_EQ(number("SELECT count(*) FROM notes WHERE id = 10 AND author IS NULL"), 1);
}

INSTANTIATE_TEST_SUITE_P(Subjects, EveryIdentity, kSubjects, subject_name);

class RolesTest : public RlsTest {};

TEST_F(RolesTest, OpenTheRowsThatAPolicyKeepsForThem) {
  const auto server = fixtures::Infra::instance().postgres();
  build(*server, Protection{true, true, 3, true});
  sql("UPDATE notes SET gate = id WHERE tenant = 'c'");
  const auto queue = open(config(Subject::kPool));
  EXPECT_EQ(column(run(*queue, {as("c"), kIds})), "1");
  EXPECT_EQ(column(run(*queue, {as("c", {"gate_2"}), kIds})), "1,2");
  EXPECT_EQ(column(run(*queue, {as("c", {"x", "gate_3", "gate_2"}), kIds})), "1,2,3");
  EXPECT_EQ(column(run(*queue, {as("c", {"gate_2,gate_3", "\"gate_2\"", "{gate_2}"}), kIds})), "1");
}

}  // namespace
}  // namespace plimsoll::rls
