// The coroutine shell alone: a lane that the test answers by hand stands for the server.
#include "lib/pg/group_commit.hpp"

#include <gmock/gmock.h>
#include <libpq-fe.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <deque>
#include <stdexcept>

#include "lib/core/with_timeout.hpp"

namespace plimsoll::pg {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Keeps what it is asked until the test says what becomes of it.
class ManualLane {
 public:
  explicit ManualLane(asio::io_context& loop) : loop_(loop) {}

  [[nodiscard]] BatchLane lane() {
    return [this](std::vector<Query> queries, std::chrono::milliseconds) {
      return answer(this, std::move(queries));
    };
  }
  /// The first parameter of each statement that waits for an answer.
  [[nodiscard]] std::vector<std::string> pending() const {
    std::vector<std::string> texts;
    for (const auto& query : queries_) texts.push_back(query.params.front().value_or("NULL"));
    return texts;
  }
  void succeed() { finish({}); }
  void fail_with(Error error, std::size_t statement = 0) {
    finish({std::pair(statement, std::move(error))});
  }

 private:
  static asio::awaitable<LaneAnswer> answer(ManualLane* self, std::vector<Query> queries) {
    self->queries_ = std::move(queries);
    self->answered_.emplace(self->loop_, std::chrono::hours(1));
    [[maybe_unused]] const auto waited = co_await self->answered_->async_wait(kAsValue);
    LaneAnswer given(std::move(self->results_), true);
    self->results_.clear();
    co_return given;
  }
  void finish(std::optional<std::pair<std::size_t, Error>> failure) {
    for (std::size_t i = 0; i < queries_.size(); ++i) {
      if (failure && i == failure->first) {
        results_.emplace_back(fail(failure->second));
      } else {
        results_.emplace_back(Rows(PQmakeEmptyPGresult(nullptr, PGRES_COMMAND_OK)));
      }
    }
    queries_.clear();
    answered_->cancel();
  }

  asio::io_context& loop_;
  std::vector<Query> queries_;
  std::vector<Result<Rows>> results_;
  std::optional<asio::steady_timer> answered_;
};

BatchWriterPtr echo() {
  return statements_of_each([](const BatchSlot& slot) {
    std::vector<Query> queries;
    queries.emplace_back("DO", slot.item().values);
    return queries;
  });
}

using Answer = std::optional<Result<BatchAnswer>>;

class GroupCommitTest : public ::testing::Test {
 protected:
  GroupCommit& make(GroupCommitConfig config = {}, std::size_t lanes = 1) {
    std::vector<BatchLane> ways;
    for (std::size_t i = 0; i < lanes; ++i) ways.push_back(lanes_.emplace_back(loop_).lane());
    commit_.emplace(loop_.get_executor(), writer_, std::move(ways), config);
    return *commit_;
  }
  /// Submits and lets the loop come to rest.
  std::shared_ptr<Answer> submit(std::string key, Timeout timeout = std::nullopt) {
    const auto answer = later(key, timeout);
    settle();
    return answer;
  }
  std::shared_ptr<Answer> later(const std::string& key, Timeout timeout = std::nullopt) {
    const auto answer = std::make_shared<Answer>();
    asio::co_spawn(loop_, commit_->submit(BatchItem(key, params(key)), timeout),
                   [answer](const std::exception_ptr& thrown, Result<BatchAnswer> result) {
                     if (thrown) std::rethrow_exception(thrown);
                     answer->emplace(std::move(result));
                   });
    return answer;
  }
  void settle() {
    loop_.restart();
    while (loop_.poll() > 0) {
    }
  }
  void succeed(std::size_t lane = 0) {
    lanes_[lane].succeed();
    settle();
  }

  asio::io_context loop_{1};
  std::deque<ManualLane> lanes_;
  BatchWriterPtr writer_ = echo();
  std::optional<GroupCommit> commit_;
};

TEST_F(GroupCommitTest, SendsWhatComesInOneTurnOfTheLoopTogether) {
  make();
  const auto b = later("b");
  const auto a = later("a");
  settle();
  EXPECT_THAT(lanes_[0].pending(), ElementsAre("a", "b"));
  succeed();
  ASSERT_TRUE(*a && *b);
  EXPECT_TRUE((*a)->has_value());
  EXPECT_EQ(commit_->counters().transactions, 1U);
}

TEST_F(GroupCommitTest, CollectsTheNextBatchWhileOneIsInFlight) {
  make();
  submit("a");
  const auto b = submit("b");
  const auto c = submit("c");
  EXPECT_THAT(lanes_[0].pending(), ElementsAre("a"));
  EXPECT_EQ(commit_->waiting(), 2U);
  succeed();
  EXPECT_THAT(lanes_[0].pending(), ElementsAre("b", "c"));
  EXPECT_FALSE(*b);
  succeed();
  EXPECT_TRUE(*b && *c);
  settle();
  EXPECT_TRUE(loop_.stopped()) << "an idle group commit keeps no loop running";
}

asio::awaitable<void> ask_twice(GroupCommit* commit, int* done) {
  for (int i = 0; i < 2; ++i) {
    auto answer = co_await commit->submit(BatchItem("again", params("again")));
    if (answer) ++*done;
  }
}

TEST_F(GroupCommitTest, CallersThatAskAtOnceAgainAreTogetherInTheNextBatch) {
  make({.batch = {.same_key = SameKey::kKeep}});
  int done = 0;
  for (int i = 0; i < 3; ++i) {
    asio::co_spawn(loop_, ask_twice(&*commit_, &done), [](const std::exception_ptr&) {});
  }
  settle();
  EXPECT_EQ(lanes_[0].pending().size(), 3U);
  succeed();
  EXPECT_EQ(lanes_[0].pending().size(), 3U);
  succeed();
  EXPECT_EQ(done, 6);
  EXPECT_EQ(commit_->counters().batches, 2U);
}

TEST_F(GroupCommitTest, WaitsForCompanyUntilTheDelayIsOverOrTheBatchIsFull) {
  GroupCommitConfig config;
  config.batch.max_delay = 1h;
  config.batch.max_items = 2;
  make(config);
  submit("a");
  EXPECT_THAT(lanes_[0].pending(), IsEmpty());
  submit("b");
  EXPECT_THAT(lanes_[0].pending(), ElementsAre("a", "b"));
  succeed();

  config.batch.max_delay = 1ms;
  lanes_.clear();
  make(config);
  later("c");
  loop_.restart();
  const auto give_up = Clock::now() + 1min;
  while (lanes_[0].pending().empty() && Clock::now() < give_up) loop_.run_for(1ms);
  EXPECT_THAT(lanes_[0].pending(), ElementsAre("c"));
  succeed();
}

TEST_F(GroupCommitTest, APoisonedItemFailsAloneOnItsOwnStatement) {
  make();
  const auto a = later("a");
  const auto b = later("b");
  const auto c = later("c");
  settle();
  lanes_[0].fail_with({Errc::kRejected, "out of range", "22003"}, 1);
  settle();
  EXPECT_THAT(lanes_[0].pending(), ElementsAre("a"));
  succeed();
  EXPECT_THAT(lanes_[0].pending(), ElementsAre("b"));
  lanes_[0].fail_with({Errc::kRejected, "out of range", "22003"});
  settle();
  EXPECT_EQ((*b)->error().sqlstate, "22003");
  EXPECT_THAT(lanes_[0].pending(), ElementsAre("c"));
  succeed();
  EXPECT_TRUE((*a)->has_value() && (*c)->has_value());
}

TEST_F(GroupCommitTest, ACallerThatRunsOutOfTimeInFlightDoesNotKnowAndItsNeighbourDoes) {
  make();
  const auto hasty = later("a", 1ms);
  const auto patient = later("b");
  settle();
  const auto give_up = Clock::now() + 1min;
  loop_.restart();
  while (!*hasty && Clock::now() < give_up) loop_.run_for(1ms);
  ASSERT_TRUE(*hasty);
  EXPECT_EQ((*hasty)->error().code, Errc::kTimeout);
  EXPECT_TRUE(is_outcome_unknown((*hasty)->error()));
  EXPECT_FALSE(*patient);
  EXPECT_THAT(lanes_[0].pending(), ElementsAre("a", "b"));
  succeed();
  EXPECT_TRUE((*patient)->has_value());
}

TEST_F(GroupCommitTest, ACallerThatRunsOutOfTimeBeforeItsBatchIsNeverSent) {
  make();
  submit("a");
  const auto hasty = later("b", 0ms);
  submit("c");
  const auto give_up = Clock::now() + 1min;
  loop_.restart();
  while (!*hasty && Clock::now() < give_up) loop_.run_for(1ms);
  EXPECT_EQ((*hasty)->error().code, Errc::kTimeout);
  EXPECT_FALSE(is_outcome_unknown((*hasty)->error()));
  EXPECT_THAT((*hasty)->error().message, HasSubstr("not sent"));
  succeed();
  EXPECT_THAT(lanes_[0].pending(), ElementsAre("c"));
  succeed();
}

asio::awaitable<bool> give_up_on(GroupCommit* commit, std::string key) {
  auto call = commit->submit(BatchItem(key, params(key)));
  auto answer = co_await with_timeout(std::move(call), 1ms);
  co_return !answer.has_value();
}

TEST_F(GroupCommitTest, ACancelledCallerLeavesTheBatchAsItIs) {
  make();
  bool gave_up = false;
  asio::co_spawn(loop_, give_up_on(&*commit_, "a"),
                 [&](const std::exception_ptr&, bool result) { gave_up = result; });
  const auto neighbour = later("b");
  settle();
  loop_.restart();
  const auto end = Clock::now() + 1min;
  while (!gave_up && Clock::now() < end) loop_.run_for(1ms);
  EXPECT_TRUE(gave_up);
  EXPECT_THAT(lanes_[0].pending(), ElementsAre("a", "b"));
  succeed();
  EXPECT_TRUE((*neighbour)->has_value());
}

TEST_F(GroupCommitTest, AFullQueueIsBusyAtOnce) {
  GroupCommitConfig config;
  config.batch.max_waiting = 1;
  make(config);
  submit("a");
  submit("b");
  const auto refused = submit("c");
  ASSERT_TRUE(*refused);
  EXPECT_EQ((*refused)->error().code, Errc::kBusy);
  succeed();
  succeed();
}

TEST_F(GroupCommitTest, DrainingSendsWhatWaitsAndRefusesWhatComes) {
  make();
  submit("a");
  const auto waiting = submit("b");
  std::optional<Result<void>> drained;
  asio::co_spawn(loop_, commit_->drain(1min),
                 [&](const std::exception_ptr&, Result<void> result) { drained = result; });
  settle();
  const auto late = submit("c");
  ASSERT_TRUE(*late);
  EXPECT_EQ((*late)->error().code, Errc::kUnavailable);
  EXPECT_FALSE(drained);
  succeed();
  EXPECT_THAT(lanes_[0].pending(), ElementsAre("b"));
  succeed();
  EXPECT_TRUE((*waiting)->has_value());
  ASSERT_TRUE(drained);
  EXPECT_TRUE(drained->has_value());
}

TEST_F(GroupCommitTest, ADrainThatTakesTooLongLeavesNobodyWaiting) {
  make();
  const auto stuck = submit("a");
  const auto waiting = submit("b");
  std::optional<Result<void>> drained;
  asio::co_spawn(loop_, commit_->drain(1ms),
                 [&](const std::exception_ptr&, Result<void> result) { drained = result; });
  const auto give_up = Clock::now() + 1min;
  loop_.restart();
  while (!drained && Clock::now() < give_up) loop_.run_for(1ms);
  ASSERT_TRUE(drained);
  EXPECT_EQ(drained->error().code, Errc::kTimeout);
  settle();
  ASSERT_TRUE(*waiting);
  EXPECT_EQ((*waiting)->error().code, Errc::kUnavailable);
  EXPECT_FALSE(is_outcome_unknown((*waiting)->error()));
  EXPECT_FALSE(*stuck);
  succeed();
  EXPECT_TRUE((*stuck)->has_value()) << "what was in flight is still answered";
}

TEST_F(GroupCommitTest, MayGoWhileItsCallersWait) {
  make();
  const auto in_flight = submit("a");
  const auto waiting = submit("b");
  commit_.reset();
  settle();
  ASSERT_TRUE(*waiting);
  EXPECT_EQ((*waiting)->error().code, Errc::kUnavailable);
  succeed();
  EXPECT_TRUE((*in_flight)->has_value());
}

TEST_F(GroupCommitTest, ItemsOfOneKeyTakeOneLaneAndKeylessOnesTheShorter) {
  GroupCommitConfig config;
  config.batch.same_key = SameKey::kKeep;
  make(config, 2);
  for (int i = 0; i < 3; ++i) submit("k");
  const auto& first = lanes_[0].pending().empty() ? lanes_[1] : lanes_[0];
  const auto& other = lanes_[0].pending().empty() ? lanes_[0] : lanes_[1];
  EXPECT_THAT(first.pending(), ElementsAre("k"));
  EXPECT_THAT(other.pending(), IsEmpty()) << "the second must wait for the first";
  submit("");
  EXPECT_THAT(other.pending(), ElementsAre(""));
  EXPECT_EQ(commit_->waiting(), 2U);
}

TEST_F(GroupCommitTest, AWriterThatThrowsOrWritesNothingFailsItsBatchAndTheNextGoesOn) {
  bool throws = true;
  writer_ = statements_of_each([&](const BatchSlot& slot) -> std::vector<Query> {
    if (slot.item().key == "none") return {};
    if (throws) throw std::runtime_error("no idea");
    return {Query("DO", slot.item().values)};
  });
  make();
  const auto thrown = submit("a");
  ASSERT_TRUE(*thrown);
  EXPECT_EQ((*thrown)->error().code, Errc::kInternal);
  EXPECT_THAT((*thrown)->error().message, HasSubstr("no idea"));
  EXPECT_FALSE(is_outcome_unknown((*thrown)->error()));
  const auto none = submit("none");
  ASSERT_TRUE(*none);
  EXPECT_EQ((*none)->error().code, Errc::kInternal);
  throws = false;
  const auto fine = submit("b");
  succeed();
  EXPECT_TRUE((*fine)->has_value());
}

TEST_F(GroupCommitTest, ALoopMayEndWithCallersWaiting) {
  // Nothing may leak or be touched afterwards: the sanitizers look.
  make();
  later("a");
  settle();
  later("b");
  settle();
}

}  // namespace
}  // namespace plimsoll::pg
