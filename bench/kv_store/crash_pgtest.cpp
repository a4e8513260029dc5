// Acknowledged writes over kills of the server: the same cycles as the benchmark's, fewer of them,
// and the controls that show that a loss would be seen.
#include "bench/kv_store/crash.hpp"

#include <gmock/gmock.h>

namespace plimsoll::bench {
namespace {

using Write = WriteLedger::Write;

std::string name_of(Errc code) { return std::string(name(code)); }

TEST(KvCrash, EveryAcknowledgedWriteOutlivesThreeKillsUnderLoad) {
  const auto counts = crash_cycles({.cycles = 3});
  ASSERT_TRUE(counts) << counts.error().message;
  EXPECT_EQ(counts->cycles, 3);
  EXPECT_GE(counts->acknowledged, 150U);
  EXPECT_GT(counts->unknown, 0U) << "no write was on its way: nothing was tried";
  EXPECT_EQ(counts->lost, 0);
  EXPECT_EQ(counts->invented, 0);
  EXPECT_EQ(counts->lost_updates, 0);
  EXPECT_EQ(counts->extra_updates, 0);
  EXPECT_FALSE(counts->kinds.empty()) << "nobody noticed";
  for (const auto& kind : counts->kinds) {
    EXPECT_THAT(kind, ::testing::AnyOf(name_of(Errc::kUnavailable), name_of(Errc::kConflict),
                                       name_of(Errc::kBusy)));
  }
}

TEST(KvCrash, AServerThatAcknowledgesBeforeItHasWrittenIsSeenToLose) {
  const auto counts = crash_cycles({.cycles = 3, .is_durable = false});
  ASSERT_TRUE(counts) << counts.error().message;
  EXPECT_GT(counts->lost + counts->lost_updates, 0);
}

TEST(KvCrash, AnInventedAcknowledgementIsSeenAsLost) {
  WriteLedger ledger;
  ledger.acknowledge("k", Write{false, 1});
  EXPECT_EQ(ledger.judge({{"k", 1}}).lost, 0);
  ledger.acknowledge("k", Write{false, 2});
  EXPECT_EQ(ledger.judge({{"k", 1}}).lost, 1);
  ledger.acknowledge("new", Write{false, 3});
  EXPECT_EQ(ledger.judge({{"k", 1}}).lost, 1);
}

TEST(KvCrash, EachStateThatAWriterMayFindIsToldFromTheOthers) {
  const auto judged = [](const std::map<std::string, std::int64_t>& found) {
    WriteLedger ledger;
    ledger.acknowledge("k", Write{false, 1});
    ledger.acknowledge("k", Write{false, 2});
    ledger.leave_unknown("k", Write{false, 3});
    ledger.leave_unknown("k", Write{true, 4});
    return ledger.judge(found);
  };
  EXPECT_EQ(judged({{"k", 2}}).lost, 0) << "acknowledged";
  EXPECT_EQ(judged({{"k", 3}}).lost, 0) << "may be done";
  EXPECT_EQ(judged({}).lost, 0) << "the erase may be done";
  EXPECT_EQ(judged({{"k", 1}}).lost, 1);
  EXPECT_EQ(judged({{"k", 9}}).invented, 1);
  EXPECT_EQ(judged({{"k", 2}, {"other", 1}}).invented, 1);
}

TEST(KvCrash, AnErasedKeyThatComesBackIsALoss) {
  WriteLedger ledger;
  ledger.acknowledge("k", Write{false, 1});
  ledger.acknowledge("k", Write{true, 2});
  EXPECT_EQ(ledger.judge({{"k", 1}}).lost, 1);
}

}  // namespace
}  // namespace plimsoll::bench
