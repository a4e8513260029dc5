#include "lib/redis/connection.hpp"

#include "lib/core/rng.hpp"
#include "lib/redis/server_redistest.hpp"

namespace plimsoll::redis {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::Not;

class ConnectionTest : public ServerTest {
 protected:
  Error refused(Config where) {
    auto connection = run(Connection::connect(std::move(where)));
    if (connection) throw std::runtime_error("connected against all expectation");
    return connection.error();
  }
  RedisUrl url() const { return RedisUrl::parse(server_.url, "url").value_or(RedisUrl{}); }
};

TEST_F(ConnectionTest, GivesEachKindOfReply) {
  const auto connection = connect();
  EXPECT_TRUE(run(connection->command(Command("SET", key("s"), "v")))->is_status("OK"));
  EXPECT_EQ(run(connection->command(Command("GET", key("s"))))->value(), "v");
  EXPECT_TRUE(run(connection->command(Command("GET", key("none"))))->is_nil());
  EXPECT_EQ(*run(connection->command(Command("INCRBY", key("n"), 41)))->integer(), 41);
  const auto pushed = run(connection->command(Command("RPUSH", key("l"), "a", "b")));
  EXPECT_EQ(*pushed->integer(), 2);
  const auto list = run(connection->command(Command("LRANGE", key("l"), 0, -1)));
  ASSERT_EQ(list->elements().size(), 2U);
  EXPECT_EQ(list->elements()[1].text(), "b");
}

TEST_F(ConnectionTest, KeepsEveryByteOfKeysAndValues) {
  const auto connection = connect();
  std::string all;
  for (int c = 0; c < 256; ++c) all += static_cast<char>(c);
  for (const std::string& odd : {std::string("\0", 1), std::string("\r\n"),
                                 std::string("$3\r\nGET\r\n"), std::string(), all}) {
    ASSERT_TRUE(run(connection->command(Command("SET", key(odd), odd + all))));
    EXPECT_EQ(run(connection->command(Command("GET", key(odd))))->text(), odd + all);
    EXPECT_EQ(plain().text({"GET", key(odd)}), odd + all);
  }
}

TEST_F(ConnectionTest, CarriesValuesLargerThanAnyBuffer) {
  const auto connection = connect();
  Rng rng(9);
  std::string value(20UL << 20, '\0');
  for (char& c : value) c = static_cast<char>(rng());
  std::vector<asio::awaitable<Result<Reply>>> works;
  for (int i = 0; i < 4; ++i) {
    works.push_back(connection->command(Command("SET", key(std::to_string(i)), value)));
    works.push_back(connection->command(Command("GET", key(std::to_string(i)))));
  }
  const auto answers = run_all(std::move(works));
  for (std::size_t i = 1; i < answers.size(); i += 2) {
    ASSERT_TRUE(answers[i]) << answers[i].error().message;
    EXPECT_TRUE(answers[i]->text() == value);
  }
}

TEST_F(ConnectionTest, AnErrorAnswerIsTypedAndHarmsNobodyElse) {
  const auto connection = connect();
  ASSERT_TRUE(run(connection->command(Command("SET", key("s"), "v"))));
  const auto wrong = run(connection->command(Command("LPUSH", key("s"), "x")));
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, Errc::kRejected);
  EXPECT_THAT(wrong.error().message, HasSubstr("WRONGTYPE"));
  EXPECT_EQ(run(connection->command(Command("NOSUCH"))).error().code, Errc::kRejected);
  EXPECT_TRUE(connection->is_open());
  EXPECT_TRUE(run(connection->command(Command("GET", key("s")))));
}

TEST_F(ConnectionTest, WhatMustNotBeSentIsRefusedAndNeverSent) {
  const auto connection = connect();
  EXPECT_EQ(run(connection->command(Command())).error().code, Errc::kInvalidArgument);
  EXPECT_EQ(run(connection->command(Command("SUBSCRIBE", "c"))).error().code,
            Errc::kInvalidArgument);
  const auto large =
      run(connection->command(Command("SET", key("k"), std::string((512UL << 20) + 1, 'x'))));
  EXPECT_EQ(large.error().code, Errc::kInvalidArgument);
  EXPECT_EQ(connection->counters(), Counters{});
  EXPECT_TRUE(run(connection->command(Command("PING"))));
}

TEST_F(ConnectionTest, LogsInToItsDatabaseUnderItsName) {
  auto where = url();
  where.database = 9;
  Config named(where.text());
  named.client_name = "plimsoll-test";
  const auto connection = connect(named);
  const auto info = run(connection->command(Command("CLIENT", "INFO")));
  ASSERT_TRUE(info) << info.error().message;
  EXPECT_THAT(std::string(info->text()), HasSubstr("db=9"));
  EXPECT_THAT(std::string(info->text()), HasSubstr("name=plimsoll-test"));
}

TEST_F(ConnectionTest, GoesOverTcpAndByAName) {
  if (server_.tcp_url.empty()) GTEST_SKIP() << "the server listens on a socket only";
  EXPECT_TRUE(run(connect(Config(server_.tcp_url))->command(Command("PING"))));
  auto by_name = RedisUrl::parse(server_.tcp_url, "url").value_or(RedisUrl{});
  if (by_name.host != "127.0.0.1") GTEST_SKIP() << "the server is elsewhere";
  by_name.host = "localhost";
  EXPECT_TRUE(run(connect(Config(by_name.text()))->command(Command("PING"))));
}

TEST_F(ConnectionTest, AWrongPasswordIsARefusalWithoutItsText) {
  auto where = url();
  where.password = "wr0ng/pass word";
  const auto error = refused(Config(where.text()));
  EXPECT_EQ(error.code, Errc::kRefused) << error.message;
  EXPECT_THAT(error.message, Not(HasSubstr("wr0ng")));
  where.user = "nobody";
  EXPECT_EQ(refused(Config(where.text())).code, Errc::kRefused);
}

TEST_F(ConnectionTest, WithoutThePasswordThatIsWantedItIsARefusal) {
  auto where = url();
  if (where.password.empty()) GTEST_SKIP() << "this server asks for no password";
  where.password.clear();
  where.user.clear();
  const auto error = refused(Config(where.text()));
  EXPECT_EQ(error.code, Errc::kRefused) << error.message;
  EXPECT_THAT(error.message, HasSubstr("NOAUTH"));
}

TEST_F(ConnectionTest, LogsInAsAUserWithAnOddPassword) {
  if (!server_.may_disturb) GTEST_SKIP() << "users are not ours to make here";
  const std::string password = "it's @ /odd? \"one\" %";
  plain().text({"ACL", "SETUSER", "ann", "reset", "on", ">" + password, "~*", "+@all"});
  auto where = url();
  where.user = "ann";
  where.password = password;
  const auto connection = connect(Config(where.text()));
  EXPECT_EQ(run(connection->command(Command("ACL", "WHOAMI")))->text(), "ann");
  plain().text({"ACL", "DELUSER", "ann"});
}

TEST_F(ConnectionTest, ADatabaseThatIsNotThereIsNotFound) {
  auto where = url();
  where.database = 999'999;
  const auto error = refused(Config(where.text()));
  EXPECT_EQ(error.code, Errc::kNotFound) << error.message;
}

TEST_F(ConnectionTest, AnIdleConnectionKeepsNoLoopRunning) {
  const auto connection = connect();
  ASSERT_TRUE(run(connection->command(Command("PING"))));
  loop_.restart();
  loop_.run_for(60s);
  EXPECT_TRUE(loop_.stopped());
  EXPECT_TRUE(connection->is_idle());
  EXPECT_TRUE(connection->probe());
}

TEST_F(ConnectionTest, ACallThatIsKilledOnTheServerIsIndeterminate) {
  if (!server_.may_disturb) GTEST_SKIP() << "clients are not ours to kill here";
  const auto connection = connect();
  const auto id = std::to_string(*run(connection->command(Command("CLIENT", "ID")))->integer());
  std::vector<asio::awaitable<Result<Reply>>> works;
  works.push_back(connection->command(Command("BLPOP", key("none"), 0)));
  works.push_back([](Plain* plain, std::string client) -> asio::awaitable<Result<Reply>> {
    asio::steady_timer pause((co_await asio::this_coro::executor), 20ms);
    co_await pause.async_wait(kAsValue);
    plain->text({"CLIENT", "KILL", "ID", client});
    co_return Reply{};
  }(&plain(), id));
  const auto answers = run_all(std::move(works));
  EXPECT_EQ(answers[0].error().code, Errc::kUnavailable);
  EXPECT_THAT(answers[0].error().message, HasSubstr("indeterminate"));
  EXPECT_FALSE(connection->is_open());
}

}  // namespace
}  // namespace plimsoll::redis
