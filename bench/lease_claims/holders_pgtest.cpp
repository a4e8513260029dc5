#include "bench/lease_claims/holders.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <vector>

#include "bench/lease_claims/audited_pgtest.hpp"

namespace plimsoll::bench {
namespace {

using lease::Subject;
using std::chrono::milliseconds;

constexpr milliseconds kDay{86'400'000};  ///< No test lasts so long.

class HoldersTest : public Audited {
 protected:
  /// Waits until the query counts something.
  bool comes(const std::string& sql) {
    const auto deadline = Clock::now() + std::chrono::seconds(20);
    while (Clock::now() < deadline) {
      if (number(sql) > 0) return true;
      std::this_thread::sleep_for(milliseconds(2));
    }
    return false;
  }
};

/// Our children of that program. The kernel's own list of children may lack some while they start.
std::vector<pid_t> helpers() {
  std::vector<pid_t> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::ifstream stat(entry.path() / "stat");
    pid_t pid = 0;
    pid_t parent = 0;
    std::string program;
    std::string state;
    if (!(stat >> pid >> program >> state >> parent)) continue;
    if (parent == ::getpid() && program.starts_with("(plimsoll-lease")) found.push_back(pid);
  }
  return found;
}

TEST_F(HoldersTest, ClaimInTheWayOfTheirSubject) {
  const std::map<Subject, std::string> signs{{Subject::kSkipLocked, "LIMIT 1 FOR UPDATE SKIP"},
                                             {Subject::kSkipLockedBatch, "LIMIT $4 FOR UPDATE"},
                                             {Subject::kAdvisory, "pg_try_advisory_xact_lock("},
                                             {Subject::kUpdateReturning, "s.fence = due.fence"}};
  for (const auto& [subject, sign] : signs) {
    const std::size_t batch = subject == Subject::kSkipLocked ? 1 : 4;
    auto holders =
        Holders::start(*stage_, {subject, batch, 1, Fate::kKilled, milliseconds(200), kDay});
    ASSERT_TRUE(holders) << holders.error().message;
    EXPECT_TRUE(
        comes(fmt::format("SELECT count(*) FROM pg_stat_activity WHERE pid <> "
                          "pg_backend_pid() AND query LIKE '%{}%' AND query LIKE '%{}%'",
                          stage_->schema(), sign)))
        << lease::name(subject);
    const auto fates = (*holders)->stop();
    EXPECT_TRUE(fates) << fates.error().message;
  }
}

TEST_F(HoldersTest, LeaveLeasesThatAreTakenOverWhenTheyAreKilled) {
  auto holders = Holders::start(*stage_, {Subject::kSkipLockedBatch, 4, 2, Fate::kKilled,
                                          milliseconds(500), milliseconds(100)});
  ASSERT_TRUE(holders) << holders.error().message;
  EXPECT_TRUE(comes(std::string(kTakeovers)));
  const auto fates = (*holders)->stop();
  ASSERT_TRUE(fates) << fates.error().message;
  EXPECT_GT(*fates, 0U);
}

TEST_F(HoldersTest, HaveMetNoFateWhereTheFreezeWasCutShort) {
  auto holders = Holders::start(
      *stage_, {Subject::kSkipLockedBatch, 4, 1, Fate::kFrozen, kDay, milliseconds(50)});
  ASSERT_TRUE(holders) << holders.error().message;
  std::this_thread::sleep_for(milliseconds(200));
  const auto fates = (*holders)->stop();
  ASSERT_TRUE(fates) << fates.error().message;
  EXPECT_EQ(*fates, 0U);
}

TEST_F(HoldersTest, AreInGroupsOfTheirOwnSoThatCtrlCIsNotForThem) {
  auto holders = Holders::start(
      *stage_, {Subject::kSkipLockedBatch, 4, 2, Fate::kKilled, milliseconds(200), kDay});
  ASSERT_TRUE(holders) << holders.error().message;
  const auto pids = helpers();
  EXPECT_EQ(pids.size(), 2U);
  for (const pid_t pid : pids) EXPECT_EQ(::getpgid(pid), pid);
}

}  // namespace
}  // namespace plimsoll::bench
