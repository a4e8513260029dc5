#include "lib/rls_queue/fair_queue.hpp"

#include <gmock/gmock.h>

#include <string>
#include <utility>
#include <vector>

namespace plimsoll::rls {
namespace {

using testing::ElementsAre;

constexpr auto kAnyFits = [](const Waiting&) { return true; };

class Named final : public Waiting {
 public:
  Named(std::string tenant, std::string label, std::size_t cost)
      : Waiting(std::move(tenant), cost), name(std::move(label)) {}
  std::string name;
};

WaitingPtr job(std::string tenant, std::string label, std::size_t cost = 1) {
  return std::make_shared<Named>(std::move(tenant), std::move(label), cost);
}
std::string name(const WaitingPtr& item) {
  return item == nullptr ? "none" : static_cast<const Named&>(*item).name;
}

/// Everything in the order in which it leaves.
template <class Fits = decltype(kAnyFits)>
std::vector<std::string> drain(FairQueue& queue, const Fits& fits = kAnyFits) {
  std::vector<std::string> order;
  while (const auto item = queue.next(fits)) order.push_back(name(item));
  return order;
}

TEST(FairQueue, KeepsTheOrderWithinATenant) {
  FairQueue queue(10);
  for (const char* const label : {"1", "2", "3"}) EXPECT_EQ(queue.add(job("a", label)), nullptr);
  EXPECT_EQ(queue.size_of("a"), 3U);
  EXPECT_THAT(drain(queue), ElementsAre("1", "2", "3"));
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(queue.size_of("a"), 0U);
}

TEST(FairQueue, GivesASmallTenantItsTurnBehindABigOne) {
  FairQueue queue(1000);
  for (int i = 0; i < 500; ++i) (void)queue.add(job("big", "big"));
  (void)queue.add(job("small", "small"));
  (void)queue.next(kAnyFits);
  EXPECT_EQ(name(queue.next(kAnyFits)), "small");
}

TEST(FairQueue, TakesTurnsByStatementsAndNotByJobs) {
  FairQueue queue(100);
  for (int i = 0; i < 2; ++i) (void)queue.add(job("long", "L", 3));
  for (int i = 0; i < 6; ++i) (void)queue.add(job("short", "s", 1));
  EXPECT_THAT(drain(queue), ElementsAre("s", "s", "L", "s", "s", "s", "L", "s"));
}

TEST(FairQueue, LetsATenantSaveNothingWhileItHasNoJobs) {
  FairQueue queue(100);
  (void)queue.add(job("a", "a1", 5));
  EXPECT_EQ(name(queue.next(kAnyFits)), "a1");
  for (const char* const label : {"a2", "a3"}) (void)queue.add(job("a", label));
  for (const char* const label : {"b1", "b2"}) (void)queue.add(job("b", label));
  EXPECT_THAT(drain(queue), ElementsAre("a2", "b1", "a3", "b2"));
}

TEST(FairQueue, LeavesWhatDoesNotFitItsTurn) {
  FairQueue queue(100);
  for (const char* const tenant : {"a", "b", "c"}) {
    (void)queue.add(job(tenant, std::string(tenant) + "1"));
    (void)queue.add(job(tenant, std::string(tenant) + "2"));
  }
  const auto not_a = [](const Waiting& item) { return item.key() != "a"; };
  EXPECT_EQ(name(queue.next(not_a)), "b1");
  EXPECT_EQ(name(queue.next(not_a)), "c1");
  EXPECT_EQ(name(queue.next(kAnyFits)), "a1") << "it had been first all the time";
  EXPECT_THAT(drain(queue, not_a), ElementsAre("b2", "c2"));
  EXPECT_EQ(queue.size(), 1U);
}

TEST(FairQueue, EndsWhereNothingFits) {
  FairQueue queue(10);
  (void)queue.add(job("a", "1", 7));
  EXPECT_EQ(queue.next([](const Waiting&) { return false; }), nullptr);
  EXPECT_EQ(FairQueue(1).next(kAnyFits), nullptr);
}

TEST(FairQueue, MakesTheBiggestTenantGiveWayWhenFull) {
  FairQueue queue(3);
  for (const char* const label : {"b1", "b2", "b3"}) (void)queue.add(job("big", label));
  EXPECT_EQ(name(queue.add(job("small", "s1"))), "b3") << "the newest of the biggest";
  EXPECT_EQ(queue.size(), 3U);
  EXPECT_EQ(name(queue.add(job("big", "b4"))), "b4") << "who has most is turned away itself";
  EXPECT_EQ(name(queue.add(job("small", "s2"))), "s2") << "it would be no smaller then";
  EXPECT_EQ(queue.size(), 3U);
}

TEST(FairQueue, TurnsEverybodyAwayWithoutRoom) {
  FairQueue queue(0);
  EXPECT_EQ(name(queue.add(job("a", "1"))), "1");
  EXPECT_TRUE(queue.empty());
}

TEST(FairQueue, LetsAJobGoThatGaveUp) {
  FairQueue queue(10);
  const auto first = job("a", "1");
  const auto second = job("a", "2");
  (void)queue.add(first);
  (void)queue.add(second);
  EXPECT_TRUE(queue.remove(first));
  EXPECT_FALSE(queue.remove(first));
  EXPECT_THAT(drain(queue), ElementsAre("2"));
  EXPECT_FALSE(queue.remove(second));
  EXPECT_EQ(queue.size(), 0U);
}

}  // namespace
}  // namespace plimsoll::rls
