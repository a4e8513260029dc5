// Negative controls of the counts by which the cases judge: each of them goes red when what it
// speaks of happens, and stays 0 while jobs run as they should.
#include <gmock/gmock.h>

#include <stdexcept>
#include <string>

#include "bench/rls_queue/audit.hpp"
#include "bench/rls_queue/caller.hpp"
#include "bench/rls_queue/jobs.hpp"
#include "bench/rls_queue/stage.hpp"

namespace plimsoll::bench {
namespace {

class Audit : public ::testing::Test {
 protected:
  void SetUp() override { build(rls::Protection{}); }

  void build(const rls::Protection& protection) {
    const auto server = fixtures::Infra::instance().postgres();
    ASSERT_TRUE(server) << server.error().message;
    caller_.reset();
    auto stage = Stage::make(*server, "audit", Shape{3, 4, protection});
    ASSERT_TRUE(stage) << stage.error().message;
    stage_ = std::move(*stage);
    jobs_ = std::make_unique<Jobs>(stage_->schema(), false);
    open(true);
  }
  void open(bool sealed) {
    auto caller = Caller::open(*stage_, rls::Subject::kPipelined, false, sealed);
    ASSERT_TRUE(caller) << caller.error().message;
    caller_ = std::move(*caller);
  }
  Result<rls::Answers> run(rls::Job job) {
    return caller_->run(caller_->queue().run(std::move(job)));
  }
  std::int64_t count(std::string_view sql) {
    const auto value = stage_->number(sql);
    if (!value) throw std::runtime_error(value.error().message);
    return *value;
  }
  std::string identity_left() {
    const auto rows = caller_->run(caller_->queue().inspect(pg::Query(std::string(kIdentityLeft))));
    return std::string(rows.front()->text(0, 0));
  }

  std::unique_ptr<Stage> stage_;
  std::unique_ptr<Jobs> jobs_;
  std::unique_ptr<Caller> caller_;
};

TEST_F(Audit, IsGreenWhileJobsRunAsTheyShould) {
  for (std::uint64_t tenant = 0; tenant < 3; ++tenant) {
    EXPECT_TRUE(run(jobs_->look(tenant, 0)));
    const auto read = run(jobs_->read(tenant, 2, 0));
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(foreign_rows(*read, tenant), 0U);
    EXPECT_TRUE(run(jobs_->write(tenant, 1, 0)));
    for (std::uint64_t n = 0; n < 3; ++n) EXPECT_TRUE(run(jobs_->log(tenant, 0, n)));
    EXPECT_EQ(run(jobs_->fail(tenant, 0)).error().sqlstate, "22012");
  }
  EXPECT_EQ(count(kForeignSeen), 0);
  EXPECT_EQ(count("SELECT sum(rows) FROM seen"), 12);
  EXPECT_EQ(count(kForeignWrites), 0);
  EXPECT_EQ(count(kWritesDone), 3);
  EXPECT_EQ(count(kOutOfOrder), 0);
  EXPECT_EQ(count(kLogged), 9);
  EXPECT_EQ(identity_left(), "0");
}

TEST_F(Audit, SeesRowsOfOthersWhereThereIsNoPolicy) {
  build({false, false, 0, true});
  EXPECT_TRUE(run(jobs_->look(0, 0)));
  EXPECT_EQ(count(kForeignSeen), 8);
  const auto read = run(jobs_->read(0, 2, 0));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(foreign_rows(*read, 0), 2U);
}

TEST_F(Audit, SeesAWriteThatReachesOthersRows) {
  build({false, false, 0, true});
  EXPECT_TRUE(run(jobs_->write(0, 2, 0)));
  EXPECT_EQ(count(kForeignWrites), 2);
  EXPECT_EQ(count(kWritesDone), 3) << "where one was acknowledged";
}

TEST_F(Audit, SeesAnIdentityThatStays) {
  open(false);
  ASSERT_TRUE(
      stage_->run("CREATE FUNCTION keep(tenant text) RETURNS text LANGUAGE sql AS "
                  "$$ SELECT set_config('plimsoll.tenant', tenant, false) $$"));
  rls::Job job(jobs_->identity(1), pg::Query("SELECT keep('1')"));
  EXPECT_TRUE(run(std::move(job)));
  EXPECT_EQ(identity_left(), "1");
}

TEST_F(Audit, SeesAJobThatRanBeforeAnEarlierOne) {
  for (const std::uint64_t n : {1U, 3U, 2U, 4U}) EXPECT_TRUE(run(jobs_->log(0, 5, n)));
  EXPECT_TRUE(run(jobs_->log(0, 6, 1))) << "another caller's";
  EXPECT_TRUE(run(jobs_->log(1, 5, 1))) << "another tenant's";
  EXPECT_EQ(count(kOutOfOrder), 1);
}

}  // namespace
}  // namespace plimsoll::bench
