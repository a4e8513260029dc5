#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/core/with_timeout.hpp"
#include "lib/pg/connection.hpp"
#include "lib/pg/server_pgtest.hpp"

namespace plimsoll::pg {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::Not;

// The words of a dsn with one of them replaced or added.
std::string with(const std::string& dsn, const std::string& keyword, const std::string& value) {
  const std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)> options(
      PQconninfoParse(dsn.c_str(), nullptr), &PQconninfoFree);
  std::string text;
  const auto add = [&text](const std::string& word, const std::string& content) {
    std::string quoted;
    for (const char c : content) (c == '\'' || c == '\\') ? quoted += {'\\', c} : quoted += c;
    text += word + "='" + quoted + "' ";
  };
  for (const auto* option = options.get(); option->keyword != nullptr; ++option) {
    if (option->val != nullptr && option->keyword != keyword) add(option->keyword, option->val);
  }
  add(keyword, value);
  return text;
}

// A socket that listens on a free loopback port and never says a word.
class SilentServer {
 public:
  SilentServer() : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    bind(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address));
    socklen_t size = sizeof(address);
    getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    listen(socket_, 8);
  }
  SilentServer(const SilentServer&) = delete;
  SilentServer& operator=(const SilentServer&) = delete;
  ~SilentServer() { stop(); }
  void stop() { close(std::exchange(socket_, -1)); }
  [[nodiscard]] std::string dsn() const {
    return "host=127.0.0.1 user=u password=hidden dbname=d port=" + std::to_string(port_);
  }

 private:
  int socket_;
  int port_ = 0;
};

class FaultsTest : public ServerTest {
 public:
  Error refused(const std::string& dsn, std::chrono::milliseconds limit = 60s) {
    Config where(dsn);
    where.connect_timeout = limit;
    auto connection = run(Connection::connect(where));
    if (connection) throw std::runtime_error("connected against all expectation");
    return connection.error();
  }
  /// The server's dsn by a host of this machine; empty when it does not listen there.
  std::string dsn_over_tcp(const std::string& host) {
    const auto port = plain().text("SELECT current_setting('port')");
    const auto dsn = with(with(schema_->dsn(), "host", host), "port", port);
    return PQping(dsn.c_str()) == PQPING_OK ? dsn : std::string{};
  }
  void kill(const Connection& connection) {
    ASSERT_EQ(plain().text("SELECT pg_terminate_backend(" +
                           std::to_string(connection.backend_pid()) + ", 60000)"),
              "t");
  }
};

TEST_F(FaultsTest, ADeadPortIsUnavailable) {
  SilentServer gone;
  gone.stop();
  const auto error = refused(gone.dsn());
  EXPECT_EQ(error.code, Errc::kUnavailable);
  EXPECT_THAT(error.message, HasSubstr("refused"));
  EXPECT_THAT(error.message, Not(HasSubstr("hidden")));
}

TEST_F(FaultsTest, ASocketThatDoesNotExistIsUnavailable) {
  EXPECT_EQ(refused("host=/nonexistent").code, Errc::kUnavailable);
}

TEST_F(FaultsTest, AServerThatSaysNothingIsATimeout) {
  const SilentServer silent;
  const auto error = refused(silent.dsn(), 100ms);
  EXPECT_EQ(error.code, Errc::kTimeout);
  EXPECT_THAT(error.message, HasSubstr("127.0.0.1"));
  EXPECT_THAT(error.message, Not(HasSubstr("hidden")));
}

TEST_F(FaultsTest, ConnectingCanBeCancelledFromOutside) {
  const SilentServer silent;
  Config where(silent.dsn());
  where.connect_timeout = 60s;
  EXPECT_FALSE(run(with_timeout(Connection::connect(where), 50ms)).has_value());
}

TEST_F(FaultsTest, AnUnknownHostIsATypedError) {
  const auto error = refused("host=no-such-host.invalid", 30s);
  // A resolver that cannot reach its server may keep silent longer than we wait.
  EXPECT_TRUE(error.code == Errc::kUnavailable || error.code == Errc::kTimeout) << error.message;
  EXPECT_THAT(error.message, HasSubstr("no-such-host.invalid"));
}

TEST_F(FaultsTest, ASlowNameLookUpIsLeftAtTheLimit) {
  const auto error = refused("host=no-such-host.invalid", 1ms);
  EXPECT_TRUE(error.code == Errc::kUnavailable || error.code == Errc::kTimeout) << error.message;
}

TEST_F(FaultsTest, AWrongPasswordIsARefusal) {
  const auto over_tcp = dsn_over_tcp("127.0.0.1");
  if (over_tcp.empty()) GTEST_SKIP() << "the server listens on sockets only";
  Config where(with(over_tcp, "password", "wrong"));
  const auto connection = run(Connection::connect(where));
  if (connection) GTEST_SKIP() << "this server asks for no password";
  EXPECT_EQ(connection.error().code, Errc::kRefused) << connection.error().message;
  EXPECT_EQ(connection.error().sqlstate, "28P01");
  EXPECT_THAT(connection.error().message, Not(HasSubstr("wrong")));
}

TEST_F(FaultsTest, AnUnknownUserIsARefusal) {
  const auto error = refused(with(schema_->dsn(), "user", "plimsoll_nobody"));
  EXPECT_EQ(error.code, Errc::kRefused) << error.message;
  EXPECT_THAT(error.sqlstate, ::testing::StartsWith("28"));
}

TEST_F(FaultsTest, AnUnknownDatabaseIsNotFound) {
  const auto error = refused(with(schema_->dsn(), "dbname", "plimsoll_nowhere"));
  EXPECT_EQ(error.code, Errc::kNotFound) << error.message;
  EXPECT_EQ(error.sqlstate, "3D000");
}

TEST_F(FaultsTest, ADsnThatIsNoneIsAnInvalidArgument) {
  EXPECT_EQ(refused("host").code, Errc::kInvalidArgument);
}

TEST_F(FaultsTest, AHostNameIsLookedUp) {
  const auto over_tcp = dsn_over_tcp("localhost");
  if (over_tcp.empty()) GTEST_SKIP() << "the server listens on sockets only";
  const auto connection = run(Connection::connect(Config(over_tcp)));
  // Where the server wants a password that the dsn has not, it was reached all the same.
  if (!connection) {
    EXPECT_EQ(connection.error().code, Errc::kRefused) << connection.error().message;
  }
}

TEST_F(FaultsTest, AKilledBackendFailsEveryCallerAndPoisonsTheConnection) {
  const auto connection = connect();
  std::vector<asio::awaitable<Result<Rows>>> works;
  for (int i = 0; i < 5; ++i) works.push_back(connection->query("SELECT pg_sleep(600)"));
  works.push_back([](FaultsTest* test, Connection* c) -> asio::awaitable<Result<Rows>> {
    EXPECT_TRUE(test->plain().becomes_true(is_busy(*c)));
    test->kill(*c);
    co_return Rows{};
  }(this, connection.get()));
  const auto results = run_all(std::move(works));
  for (std::size_t i = 0; i < 5; ++i) {
    ASSERT_FALSE(results[i]);
    EXPECT_EQ(results[i].error().code, Errc::kUnavailable);
    EXPECT_EQ(results[i].error().sqlstate, "57P01");
    EXPECT_FALSE(results[i].error().unsent) << "it may have been done";
  }
  EXPECT_FALSE(connection->is_open());
  const auto afterwards = run(connection->query("SELECT 1")).error();
  EXPECT_EQ(afterwards.sqlstate, "57P01");
  EXPECT_TRUE(afterwards.unsent) << "nobody was there to send it to";
}

TEST_F(FaultsTest, ABackendKilledWhileIdleIsNoticedAtTheNextCall) {
  const auto connection = connect();
  kill(*connection);
  const auto result = run(connection->query("SELECT 1"));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Errc::kUnavailable) << result.error().message;
  EXPECT_FALSE(connection->is_open());
}

TEST_F(FaultsTest, ABackendKilledInAScriptFailsIt) {
  const auto connection = connect();
  const auto result = run(connection->script(
      "SELECT 1; SELECT pg_terminate_backend(pg_backend_pid()); SELECT pg_sleep(600)"));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Errc::kUnavailable) << result.error().message;
}

TEST_F(FaultsTest, ClosingFailsWhatIsPendingAndCancelsItOnTheServer) {
  const auto connection = connect();
  const auto pid = connection->backend_pid();
  std::vector<asio::awaitable<Result<Rows>>> works;
  works.push_back(connection->query("SELECT pg_sleep(600)"));
  works.push_back([](FaultsTest* test, Connection* c) -> asio::awaitable<Result<Rows>> {
    EXPECT_TRUE(test->plain().becomes_true(is_busy(*c)));
    c->close();
    co_return Rows{};
  }(this, connection.get()));
  const auto results = run_all(std::move(works));
  EXPECT_EQ(results[0].error().code, Errc::kUnavailable);
  EXPECT_THAT(results[0].error().message, HasSubstr("closed by its owner"));
  EXPECT_TRUE(plain().becomes_true(
      "NOT EXISTS (SELECT FROM pg_stat_activity WHERE pid = " + std::to_string(pid) + ")"));
}

TEST_F(FaultsTest, AConnectionMayGoWhileItIsAwaited) {
  auto connection = connect();
  std::vector<asio::awaitable<Result<Rows>>> works;
  for (int i = 0; i < 3; ++i) works.push_back(connection->query("SELECT pg_sleep(600)"));
  works.push_back([](std::unique_ptr<Connection>* owner) -> asio::awaitable<Result<Rows>> {
    owner->reset();
    co_return Rows{};
  }(&connection));
  const auto results = run_all(std::move(works));
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(results[i].error().code, Errc::kUnavailable);
}

asio::awaitable<void> call_for_ever(Config where) {
  auto connection = co_await Connection::connect(where);
  if (!connection) co_return;
  auto answered = co_await (*connection)->query("SELECT pg_sleep(600)");
  EXPECT_FALSE(answered);
}

TEST_F(FaultsTest, ALoopMayEndWithCallsPending) {
  // Nothing may leak or be touched afterwards: the sanitizers look.
  asio::io_context loop{1};
  asio::co_spawn(loop, call_for_ever(config()), [](const std::exception_ptr&) {});
  const auto stop = std::chrono::steady_clock::now() + 300ms;
  while (std::chrono::steady_clock::now() < stop) loop.run_for(10ms);
}

}  // namespace
}  // namespace plimsoll::pg
