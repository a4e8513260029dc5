// What goes wrong on the other side of the socket, played by a fake server: no Redis is needed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/redis/fake_server_test.hpp"

namespace plimsoll::redis {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::Not;

asio::awaitable<void> say_nothing(Peer& peer, int /*n*/) {
  auto words = co_await peer.command();
  while (!words.empty()) words = co_await peer.command();
}

asio::awaitable<void> let_in_and_say_nothing(Peer& peer, int n) {
  co_await peer.let_in();
  co_await say_nothing(peer, n);
}

/// Answers each command by its first argument, and that one in two halves.
asio::awaitable<void> echo(Peer& peer, int /*n*/) {
  co_await peer.let_in();
  auto words = co_await peer.command();
  while (!words.empty()) {
    auto text = words.size() > 1 ? words[1] : words[0];
    auto reply = "$" + std::to_string(text.size()) + "\r\n" + text + "\r\n";
    const auto rest = reply.substr(reply.size() / 2);
    reply.resize(reply.size() / 2);
    co_await peer.say(std::move(reply));
    co_await peer.say(rest);
    words = co_await peer.command();
  }
}

/// Answers two commands, and dies with half of the third answer said.
asio::awaitable<void> die_in_the_third_answer(Peer& peer, int /*n*/) {
  co_await peer.let_in();
  for (int i = 0; i < 5; ++i) auto words = co_await peer.command();
  co_await peer.say("+one\r\n+two\r\n$100\r\nthis is not");
  peer.close();
}

asio::awaitable<void> reset_at_the_first_command(Peer& peer, int /*n*/) {
  co_await peer.let_in();
  auto words = co_await peer.command();
  peer.reset();
}

asio::awaitable<void> answer_garbage(Peer& peer, int /*n*/) {
  co_await peer.let_in();
  auto words = co_await peer.command();
  co_await peer.say("HTTP/1.1 400 Bad Request\r\n\r\n");
  co_await say_nothing(peer, 0);
}

asio::awaitable<void> answer_unasked(Peer& peer, int /*n*/) {
  co_await peer.let_in();
  auto words = co_await peer.command();
  co_await peer.say("+asked\r\n+unasked\r\n");
  co_await say_nothing(peer, 0);
}

asio::awaitable<void> answer_too_much(Peer& peer, int /*n*/) {
  co_await peer.let_in();
  auto words = co_await peer.command();
  co_await peer.say("$2000\r\n" + std::string(2000, 'x') + "\r\n");
  co_await say_nothing(peer, 0);
}

asio::awaitable<void> be_no_redis(Peer& peer, int /*n*/) {
  co_await peer.say("220 mail.example ESMTP\r\n");
  co_await say_nothing(peer, 0);
}

asio::awaitable<void> have_too_many_clients(Peer& peer, int /*n*/) {
  co_await peer.say("-ERR max number of clients reached\r\n");
  auto words = co_await peer.command();
}

asio::awaitable<void> repeat_the_password(Peer& peer, int /*n*/) {
  auto words = co_await peer.command();
  co_await peer.say("-ERR unknown command, with args beginning with: " + words.back() + "\r\n");
  co_await peer.say("-NOAUTH\r\n-NOAUTH\r\n");
  co_await say_nothing(peer, 0);
}

asio::awaitable<void> close_when_idle(Peer& peer, int /*n*/) {
  co_await peer.let_in();
  peer.close();
}

asio::awaitable<void> say_that_we_break_the_protocol(Peer& peer, int /*n*/) {
  co_await peer.let_in();
  auto words = co_await peer.command();
  co_await peer.say("-ERR Protocol error: invalid bulk length\r\n");
}

class Faults : public LoopTest {
 protected:
  Error refused(Config where) {
    auto connection = run(Connection::connect(std::move(where)));
    if (connection) throw std::runtime_error("connected against all expectation");
    return connection.error();
  }
  std::vector<Result<Reply>> ask(Connection& connection, int calls) {
    std::vector<asio::awaitable<Result<Reply>>> works;
    for (int i = 0; i < calls; ++i) works.push_back(connection.command(Command("GET", i)));
    return run_all(std::move(works));
  }
};

TEST_F(Faults, ADeadPortIsUnavailable) {
  FakeServer gone(loop_, say_nothing);
  gone.stop();
  const auto error = refused(Config(gone.url(":hidden@")));
  EXPECT_EQ(error.code, Errc::kUnavailable);
  EXPECT_THAT(error.message, HasSubstr("127.0.0.1"));
  EXPECT_THAT(error.message, HasSubstr("refused"));
  EXPECT_THAT(error.message, Not(HasSubstr("hidden")));
}

TEST_F(Faults, ASocketThatDoesNotExistIsUnavailable) {
  const auto error = refused(Config("unix:///nonexistent/redis.sock"));
  EXPECT_EQ(error.code, Errc::kUnavailable);
  EXPECT_THAT(error.message, HasSubstr("/nonexistent/redis.sock"));
}

TEST_F(Faults, ASocketPathThatIsTooLongIsAnInvalidArgument) {
  EXPECT_EQ(refused(Config("unix:///" + std::string(200, 'x'))).code, Errc::kInvalidArgument);
}

TEST_F(Faults, WhatIsNoUrlIsAnInvalidArgument) {
  EXPECT_EQ(refused(Config("127.0.0.1")).code, Errc::kInvalidArgument);
  Config where("redis://127.0.0.1");
  where.client_name = "two words";
  EXPECT_EQ(refused(where).code, Errc::kInvalidArgument);
}

TEST_F(Faults, AServerThatSaysNothingIsATimeout) {
  const FakeServer silent(loop_, say_nothing);
  Config where(silent.url(":hidden@"));
  where.connect_timeout = 100ms;
  const auto error = refused(where);
  EXPECT_EQ(error.code, Errc::kTimeout);
  EXPECT_THAT(error.message, HasSubstr("127.0.0.1"));
  EXPECT_THAT(error.message, Not(HasSubstr("hidden")));
}

TEST_F(Faults, ConnectingCanBeCancelledFromOutside) {
  const FakeServer silent(loop_, say_nothing);
  auto connecting = Connection::connect(Config(silent.url()));
  EXPECT_FALSE(run(with_timeout(std::move(connecting), 50ms)).has_value());
}

TEST_F(Faults, AnUnknownHostIsATypedError) {
  Config where("redis://no-such-host.invalid");
  where.connect_timeout = 30s;
  const auto error = refused(where);
  // A resolver that cannot reach its server may keep silent longer than we wait.
  EXPECT_TRUE(error.code == Errc::kUnavailable || error.code == Errc::kTimeout) << error.message;
  EXPECT_THAT(error.message, HasSubstr("no-such-host.invalid"));
}

TEST_F(Faults, ASlowNameLookUpIsLeftAtTheLimit) {
  Config where("redis://no-such-host.invalid");
  where.connect_timeout = 1ms;
  const auto error = refused(where);
  EXPECT_TRUE(error.code == Errc::kUnavailable || error.code == Errc::kTimeout) << error.message;
}

TEST_F(Faults, WhatSpeaksAnotherProtocolIsNoRedis) {
  const FakeServer server(loop_, be_no_redis);
  EXPECT_EQ(refused(Config(server.url())).code, Errc::kProtocol);
}

TEST_F(Faults, OneClientTooManyIsBusy) {
  const FakeServer server(loop_, have_too_many_clients);
  EXPECT_EQ(refused(Config(server.url())).code, Errc::kBusy);
}

TEST_F(Faults, APasswordThatTheServerRepeatsIsNotPassedOn) {
  const FakeServer server(loop_, repeat_the_password);
  const auto error = refused(Config(server.url("ann:hidden@")));
  EXPECT_EQ(error.code, Errc::kRefused);
  EXPECT_THAT(error.message, Not(HasSubstr("hidden")));
}

TEST_F(Faults, AnAnswerInPiecesIsWhole) {
  const FakeServer server(loop_, echo);
  const auto connection = connect(Config(server.url()));
  const auto answers = ask(*connection, 50);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    ASSERT_TRUE(answers[i]) << answers[i].error().message;
    EXPECT_EQ(answers[i]->text(), std::to_string(i));
  }
}

TEST_F(Faults, AServerThatDiesInAnAnswerLeavesTheRestIndeterminate) {
  const FakeServer server(loop_, die_in_the_third_answer);
  const auto connection = connect(Config(server.url()));
  const auto answers = ask(*connection, 5);
  EXPECT_EQ(answers[0]->text(), "one");
  EXPECT_EQ(answers[1]->text(), "two");
  for (std::size_t i = 2; i < 5; ++i) {
    ASSERT_FALSE(answers[i]);
    EXPECT_EQ(answers[i].error().code, Errc::kUnavailable);
    EXPECT_THAT(answers[i].error().message, HasSubstr("indeterminate"));
  }
  EXPECT_FALSE(connection->is_open());
  EXPECT_EQ(run(connection->command(Command("PING"))).error().code, Errc::kUnavailable);
}

TEST_F(Faults, APipelineKeepsTheAnswersThatCameBeforeTheEnd) {
  const FakeServer server(loop_, die_in_the_third_answer);
  const auto connection = connect(Config(server.url()));
  const auto answers = run(connection->pipeline(std::vector<Command>(5, Command("GET", "k"))));
  ASSERT_EQ(answers.size(), 5U);
  EXPECT_EQ(answers[1]->text(), "two");
  for (std::size_t i = 2; i < 5; ++i) {
    EXPECT_THAT(answers[i].error().message, HasSubstr("indeterminate"));
  }
}

TEST_F(Faults, WhatWaitedBehindABrokenConnectionWasNotSent) {
  const FakeServer server(loop_, reset_at_the_first_command);
  Config where(server.url());
  where.max_in_flight = 2;
  const auto connection = connect(where);
  const auto answers = ask(*connection, 4);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(answers[i].error().code, Errc::kUnavailable);
    EXPECT_THAT(answers[i].error().message,
                HasSubstr(i < 2 ? "indeterminate" : "the command was not sent"));
  }
}

TEST_F(Faults, GarbagePoisonsTheConnection) {
  const FakeServer server(loop_, answer_garbage);
  const auto connection = connect(Config(server.url()));
  for (const auto& answer : ask(*connection, 3)) {
    EXPECT_EQ(answer.error().code, Errc::kProtocol);
    EXPECT_TRUE(answer.error().poisons_connection());
  }
  EXPECT_FALSE(connection->is_open());
}

TEST_F(Faults, AnAnswerThatNobodyAskedForPoisonsTheConnection) {
  const FakeServer server(loop_, answer_unasked);
  const auto connection = connect(Config(server.url()));
  EXPECT_EQ(run(connection->command(Command("GET", "k")))->text(), "asked");
  const auto next = run(connection->command(Command("GET", "k")));
  EXPECT_FALSE(next);
  EXPECT_EQ(next.error().code, Errc::kProtocol);
}

TEST_F(Faults, AReplyOverTheLimitEndsTheConnection) {
  const FakeServer server(loop_, answer_too_much);
  Config where(server.url());
  where.max_reply_bytes = 1000;
  const auto connection = connect(where);
  const auto answer = run(connection->command(Command("GET", "k")));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Errc::kProtocol);
  EXPECT_THAT(answer.error().message, HasSubstr("1000 B"));
}

TEST_F(Faults, AServerThatSaysWeBreakTheProtocolIsLeft) {
  const FakeServer server(loop_, say_that_we_break_the_protocol);
  const auto connection = connect(Config(server.url()));
  EXPECT_EQ(run(connection->command(Command("GET", "k"))).error().code, Errc::kProtocol);
  EXPECT_FALSE(connection->is_open());
}

TEST_F(Faults, ASilentServerTimesCallsOutAndIsLeftAtLast) {
  const FakeServer server(loop_, let_in_and_say_nothing);
  Config where(server.url());
  where.max_silence = 2s;
  const auto connection = connect(where);
  const auto late = run(connection->command(Command("GET", "k"), 20ms));
  EXPECT_EQ(late.error().code, Errc::kTimeout);
  EXPECT_THAT(late.error().message, HasSubstr("indeterminate"));
  EXPECT_TRUE(connection->is_open());
  const auto lost = run(connection->command(Command("GET", "k"), 60s));
  EXPECT_EQ(lost.error().code, Errc::kUnavailable);
  EXPECT_THAT(lost.error().message, HasSubstr("said nothing for 2.00 s"));
  EXPECT_FALSE(connection->is_open());
}

TEST_F(Faults, AServerThatClosesWhileIdleIsFoundOutByAProbe) {
  const FakeServer server(loop_, close_when_idle);
  const auto connection = connect(Config(server.url()));
  asio::steady_timer pause(loop_, 1100ms);
  pause.wait();
  loop_.restart();
  loop_.poll();
  EXPECT_TRUE(connection->is_open());
  EXPECT_FALSE(connection->probe());
  EXPECT_FALSE(connection->is_open());
}

TEST_F(Faults, AServerThatClosedWhileIdleFailsTheNextCall) {
  const FakeServer server(loop_, close_when_idle);
  const auto connection = connect(Config(server.url()));
  const auto answer = run(connection->command(Command("GET", "k")));
  EXPECT_EQ(answer.error().code, Errc::kUnavailable);
}

TEST_F(Faults, ClosingFailsWhatIsPending) {
  const FakeServer server(loop_, let_in_and_say_nothing);
  auto connection = connect(Config(server.url()));
  std::vector<asio::awaitable<Result<Reply>>> works;
  for (int i = 0; i < 3; ++i) works.push_back(connection->command(Command("GET", i)));
  works.push_back([](std::unique_ptr<Connection>* owner) -> asio::awaitable<Result<Reply>> {
    owner->reset();
    co_return Reply{};
  }(&connection));
  const auto answers = run_all(std::move(works));
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(answers[i].error().code, Errc::kUnavailable);
    EXPECT_THAT(answers[i].error().message, HasSubstr("closed by its owner"));
  }
}

asio::awaitable<void> call_for_ever(Config where) {
  auto connection = co_await Connection::connect(where);
  if (!connection) co_return;
  auto answered = co_await (*connection)->command(Command("GET", "k"), 600s);
  EXPECT_FALSE(answered);
}

TEST_F(Faults, ALoopMayEndWithCallsPending) {
  // Nothing may leak or be touched afterwards: the sanitizers look.
  const FakeServer server(loop_, let_in_and_say_nothing);
  asio::io_context loop{1};
  asio::co_spawn(loop, call_for_ever(Config(server.url())), [](const std::exception_ptr&) {});
  const auto stop = std::chrono::steady_clock::now() + 300ms;
  while (std::chrono::steady_clock::now() < stop) {
    loop.run_for(5ms);
    loop_.restart();
    loop_.run_for(5ms);
  }
}

}  // namespace
}  // namespace plimsoll::redis
