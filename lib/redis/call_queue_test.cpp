#include "lib/redis/call_queue.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plimsoll::redis {
namespace {

using ::testing::HasSubstr;

class Told final : public Batch {
 public:
  template <class Content>
  explicit Told(Content content) : Batch(std::move(content)) {}
  int times = 0;

 private:
  void on_done() noexcept override { ++times; }
};
using ToldPtr = std::shared_ptr<Told>;

ToldPtr one() { return std::make_shared<Told>(Command("GET", "k")); }
ToldPtr many(std::size_t count) {
  return std::make_shared<Told>(std::vector<Command>(count, Command("GET", "k")));
}
Reply text(std::string content) { return Reply::of(Reply::Kind::kString, std::move(content)); }
Reply error(std::string content) { return Reply::of(Reply::Kind::kError, std::move(content)); }

class Queue : public ::testing::Test {
 protected:
  ToldPtr add(ToldPtr batch) {
    queue.add(batch);
    return batch;
  }
  void send_all() {
    while (queue.next_to_send() != nullptr) continue;
  }
  static std::string answer(const ToldPtr& batch, std::size_t i = 0) {
    const auto& result = batch->results()[i];
    return result ? std::string(result->text()) : result.error().message;
  }

  CallQueue queue{4};
};

TEST_F(Queue, AnswersBelongToCallsInTheirOrder) {
  const auto a = add(one());
  const auto b = add(one());
  send_all();
  queue.on_reply(text("1"));
  EXPECT_TRUE(a->is_done());
  EXPECT_FALSE(b->is_done());
  queue.on_reply(text("2"));
  EXPECT_EQ(answer(a), "1");
  EXPECT_EQ(answer(b), "2");
  EXPECT_EQ(a->times, 1);
  EXPECT_FALSE(queue.has_in_flight());
}

TEST_F(Queue, APipelineIsDoneWithItsLastAnswer) {
  const auto batch = add(many(3));
  send_all();
  for (const char* reply : {"a", "b"}) queue.on_reply(text(reply));
  EXPECT_FALSE(batch->is_done());
  EXPECT_EQ(batch->answered(), 2U);
  queue.on_reply(text("c"));
  EXPECT_TRUE(batch->is_done());
  EXPECT_EQ(answer(batch, 0) + answer(batch, 1) + answer(batch, 2), "abc");
}

TEST_F(Queue, AnErrorAnswerIsItsOwnCommandsAlone) {
  const auto batch = add(many(2));
  const auto next = add(one());
  send_all();
  queue.on_reply(error("WRONGTYPE of key"));
  queue.on_reply(text("b"));
  queue.on_reply(text("c"));
  EXPECT_EQ(batch->results()[0].error().code, Errc::kRejected);
  EXPECT_EQ(answer(batch, 1), "b");
  EXPECT_EQ(answer(next), "c");
  EXPECT_EQ(queue.counters().errors, 1U);
}

TEST_F(Queue, NoMoreCommandsAreInFlightThanAllowed) {
  for (int i = 0; i < 6; ++i) add(one());
  send_all();
  EXPECT_TRUE(queue.has_waiting());
  EXPECT_EQ(queue.next_to_send(), nullptr);
  queue.on_reply(text(""));
  EXPECT_NE(queue.next_to_send(), nullptr);
  EXPECT_EQ(queue.next_to_send(), nullptr);
}

TEST_F(Queue, APipelineLargerThanAllowedGoesAllTheSame) {
  const auto large = add(many(9));
  const auto next = add(one());
  EXPECT_EQ(queue.next_to_send(), large);
  EXPECT_EQ(queue.next_to_send(), nullptr);
  for (int i = 0; i < 6; ++i) queue.on_reply(text(""));
  EXPECT_EQ(queue.next_to_send(), next);
}

TEST_F(Queue, ACallThatIsWithdrawnUnsentIsNeverSent) {
  for (int i = 0; i < 4; ++i) add(one());
  const auto gone = add(one());
  const auto last = add(one());
  send_all();
  EXPECT_EQ(queue.withdraw(gone), CallQueue::Withdrawn::kUnsent);
  queue.on_reply(text(""));
  EXPECT_EQ(queue.next_to_send(), last);
  EXPECT_EQ(gone->times, 0);
  EXPECT_EQ(queue.counters().round_trips, 5U);
}

TEST_F(Queue, TheLateAnswerOfACallThatIsWithdrawnIsDropped) {
  const auto gone = add(many(2));
  const auto next = add(one());
  send_all();
  queue.on_reply(text("a"));
  EXPECT_EQ(queue.withdraw(gone), CallQueue::Withdrawn::kSent);
  queue.on_reply(text("late"));
  queue.on_reply(text("c"));
  EXPECT_EQ(answer(next), "c");
  EXPECT_EQ(answer(gone, 0), "a");  // What was known before stays known.
  EXPECT_EQ(answer(gone, 1), "no answer");
  EXPECT_EQ(gone->times, 0);
  EXPECT_EQ(queue.counters().commands, 3U);
}

TEST_F(Queue, ALostConnectionSaysWhoseCommandsWereSent) {
  const auto half = add(many(4));
  const auto waiting = add(one());
  send_all();
  queue.on_reply(text("a"));
  queue.fail_all({Errc::kUnavailable, "gone", {}});
  EXPECT_EQ(answer(half, 0), "a");
  for (std::size_t i = 1; i < 4; ++i) EXPECT_THAT(answer(half, i), HasSubstr("indeterminate"));
  EXPECT_THAT(answer(waiting), HasSubstr("was not sent"));
  EXPECT_EQ(waiting->results()[0].error().code, Errc::kUnavailable);
  EXPECT_EQ(half->times, 1);
  EXPECT_EQ(waiting->times, 1);
  EXPECT_FALSE(queue.has_in_flight() || queue.has_waiting());
}

TEST_F(Queue, PendingAreThoseNotDoneOldestFirst) {
  const auto done = add(one());
  const auto sent = add(many(3));
  const auto waiting = add(one());
  send_all();
  queue.on_reply(text(""));
  EXPECT_THAT(queue.pending(), ::testing::ElementsAre(BatchPtr(sent), BatchPtr(waiting)));
}

TEST_F(Queue, ForgottenCommandsKeepTheirAnswers) {
  const auto batch = add(many(2));
  const auto single = add(one());
  send_all();
  batch->forget_commands();
  single->forget_commands();
  for (const char* reply : {"a", "b", "c"}) queue.on_reply(text(reply));
  EXPECT_EQ(answer(batch, 1), "b");
  EXPECT_EQ(answer(single), "c");
}

}  // namespace
}  // namespace plimsoll::redis
