// What is special to the Redis subject: what its acknowledgement promises, scripts, the index.
#include <algorithm>
#include <chrono>
#include <thread>

#include "fixtures/redis/local.hpp"
#include "lib/kv_store/database_redistest.hpp"
#include "lib/redis/supervised_connection.hpp"

namespace plimsoll::kv {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

class RedisStoreTest : public ::testing::Test {
 protected:
  void SetUp() override { opened_.emplace(loop_, keys_.url(), RedisConfig{keys_.prefix()}); }

  RedisStore& store() { return opened_->store(); }
  template <class T>
  T good(asio::awaitable<Result<T>> work) {
    auto result = loop_.run(std::move(work));
    if (!result) throw std::runtime_error(result.error().message);
    return std::move(*result);
  }
  static fixtures::LocalRedis start(fixtures::LocalRedis::Options options) {
    auto server = fixtures::LocalRedis::start(std::move(options));
    if (!server) throw std::runtime_error(server.error().message);
    return std::move(*server);
  }

  Loop loop_;
  Keyspace keys_;
  std::optional<Opened> opened_;
};

TEST_F(RedisStoreTest, EachOperationIsOneRoundTrip) {
  auto& connection = opened_->connection();
  good(store().set("acme", Write("warm", "v")));
  good(store().erase("acme", "warm"));
  good(store().list("acme", "", 10));
  const auto round_trips = [&] { return connection.counters().round_trips; };
  auto before = round_trips();
  const auto version = good(store().set("acme", Write("k", "v")));
  EXPECT_EQ(round_trips() - before, 1U);
  before = round_trips();
  good(store().get("acme", "k"));
  EXPECT_EQ(round_trips() - before, 1U);
  before = round_trips();
  good(store().compare_and_set("acme", Write("k", "w"), version));
  EXPECT_EQ(round_trips() - before, 1U);
  before = round_trips();
  good(store().set_all("acme", {Write("a", "1"), Write("b", "2")}));
  EXPECT_EQ(round_trips() - before, 1U);
  before = round_trips();
  good(store().get_all("acme", {"a", "b"}));
  EXPECT_EQ(round_trips() - before, 1U);
  before = round_trips();
  good(store().list("acme", "", 10));
  EXPECT_EQ(round_trips() - before, 1U);
}

TEST_F(RedisStoreTest, AServerThatForgotItsScriptsIsTaughtAnew) {
  auto server = start({});
  Opened opened(loop_, server.url(), RedisConfig{"p:"});
  good(opened.store().set("acme", Write("k", "v")));
  PlainRedis(server.url()).text({"SCRIPT", "FLUSH"});
  EXPECT_GT(good(opened.store().set("acme", Write("k", "w"))), 0);
  PlainRedis(server.url()).text({"SCRIPT", "FLUSH"});
  EXPECT_EQ(good(opened.store().list("acme", "", 10)).entries.size(), 1U);
}

TEST_F(RedisStoreTest, AServerThatMayEvictIsRefusedUnlessAllowed) {
  fixtures::LocalRedis::Options options;
  options.settings = {{"maxmemory", "64mb"}, {"maxmemory-policy", "allkeys-lru"}};
  auto server = start(options);
  auto connection = loop_.run(redis::Connection::connect(redis::Config(server.url())));
  ASSERT_TRUE(connection) << connection.error().message;
  const auto refused = loop_.run(RedisStore::open(**connection, RedisConfig{"p:"}));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kRefused);
  EXPECT_THAT(refused.error().message, HasSubstr("allkeys-lru"));
  EXPECT_TRUE(loop_.run(RedisStore::open(**connection, RedisConfig{"p:", true})));
  // What cannot happen is no reason: without a limit, or without eviction.
  PlainRedis plain(server.url());
  plain.text({"CONFIG", "SET", "maxmemory-policy", "noeviction"});
  EXPECT_TRUE(loop_.run(RedisStore::open(**connection, RedisConfig{"p:"})));
}

TEST_F(RedisStoreTest, AFullServerThatDoesNotEvictRefusesTheWriteAndKeepsTheRest) {
  fixtures::LocalRedis::Options options;
  options.settings = {{"maxmemory", "8mb"}, {"maxmemory-policy", "noeviction"}};
  auto server = start(options);
  Opened opened(loop_, server.url(), RedisConfig{"p:"});
  std::size_t stored = 0;
  std::optional<Error> refused;
  for (; stored < 100 && !refused; ++stored) {
    const auto set = loop_.run(
        opened.store().set("acme", Write("k" + std::to_string(stored), std::string(500'000, 'v'))));
    if (!set) refused = set.error();
  }
  ASSERT_TRUE(refused) << "never full";
  EXPECT_EQ(refused->code, Errc::kBusy) << refused->message;
  EXPECT_EQ(good(opened.store().list("acme", "", 100)).entries.size(), stored - 1);
}

TEST_F(RedisStoreTest, SaysWhatAnAcknowledgementPromises) {
  auto server = start({});
  PlainRedis plain(server.url());
  const auto durability = [&] {
    return Opened(loop_, server.url(), RedisConfig{"p:"}).store().durability();
  };
  EXPECT_EQ(durability(), Durability::kMemory);
  plain.text({"CONFIG", "SET", "appendonly", "yes"});
  EXPECT_EQ(durability(), Durability::kEverySecond);
  plain.text({"CONFIG", "SET", "appendfsync", "no"});
  EXPECT_EQ(durability(), Durability::kSystem);
  plain.text({"CONFIG", "SET", "appendfsync", "always"});
  EXPECT_EQ(durability(), Durability::kAlways);
  EXPECT_EQ(name(Durability::kAlways), "always");
}

/// Sets keys until the server is killed in the middle, restarts it, and returns how many of the
/// acknowledged ones are gone.
int lost_over_a_kill(Loop& loop, fixtures::LocalRedis& server) {
  redis::SupervisedConfig config;
  config.connection = redis::Config(server.url());
  redis::SupervisedConnection channel(loop.executor(), config);
  auto store = loop.run(RedisStore::open(channel, RedisConfig{"p:"}));
  if (!store) throw std::runtime_error(store.error().message);
  std::vector<std::string> acknowledged;
  std::thread killer;
  for (int number = 0; number < 100'000; ++number) {
    const std::string key = std::to_string(number);
    if (!loop.run((*store)->set("acme", Write(key, key)))) break;
    acknowledged.push_back(key);
    if (number == 50) killer = std::thread([&] { (void)server.kill9(); });
  }
  killer.join();
  if (const auto restarted = server.restart(); !restarted) {
    throw std::runtime_error(restarted.error().message);
  }
  PlainRedis plain(server.url());
  const RedisKeys& keys = (*store)->keys();
  const auto is_gone = [&](const std::string& key) {
    return plain.text({"EXISTS", keys.entry("acme", key)}) == "0";
  };
  return static_cast<int>(std::ranges::count_if(acknowledged, is_gone));
}

TEST_F(RedisStoreTest, WithFsyncAlwaysAKillLosesNoAcknowledgedWrite) {
  fixtures::LocalRedis::Options options;
  options.append_fsync_always = true;
  auto server = start(options);
  EXPECT_EQ(lost_over_a_kill(loop_, server), 0);
}

TEST_F(RedisStoreTest, InMemoryAKillLosesThemAll) {
  auto server = start({});
  EXPECT_GT(lost_over_a_kill(loop_, server), 50) << "the test above would see no loss";
}

TEST_F(RedisStoreTest, NoVersionComesTwiceAlsoWhereTheServerForgotEverything) {
  auto server = start({});
  redis::SupervisedConfig config;
  config.connection = redis::Config(server.url());
  redis::SupervisedConnection channel(loop_.executor(), config);
  auto store = loop_.run(RedisStore::open(channel, RedisConfig{"p:"}));
  ASSERT_TRUE(store) << store.error().message;
  const auto before = good((*store)->set("acme", Write("k", "v")));
  ASSERT_TRUE(server.kill9());
  ASSERT_TRUE(server.restart());
  (void)loop_.run((*store)->get("acme", "k"));  // Finds out that the connection is gone.
  EXPECT_EQ(good((*store)->get("acme", "k")), std::nullopt);
  EXPECT_GT(good((*store)->set("acme", Write("k", "v"))), before);
  EXPECT_EQ(loop_.run((*store)->compare_and_set("acme", Write("k", "x"), before)).error().code,
            Errc::kConflict);
}

TEST_F(RedisStoreTest, AClockThatWasSetBackDoesNotBringAVersionBack) {
  const auto before = good(store().set("acme", Write("k", "v")));
  // The last version lies ahead of the clock, as it would then.
  const auto ahead = before + 3'600'000'000;
  PlainRedis(keys_.url()).text({"SET", store().keys().counter(), std::to_string(ahead)});
  EXPECT_EQ(good(store().set("acme", Write("k", "v"))), ahead + 1);
  good(store().erase("acme", "k"));
  EXPECT_EQ(good(store().set("acme", Write("k", "v"))), ahead + 2);
}

TEST_F(RedisStoreTest, AListDropsFromTheIndexWhatExpired) {
  good(store().set("acme", Write("gone", "v", 1ms)));
  good(store().set("acme", Write("stays", "v")));
  PlainRedis plain(keys_.url());
  const auto give_up = std::chrono::steady_clock::now() + 60s;
  while (plain.text({"EXISTS", store().keys().entry("acme", "gone")}) == "1" &&
         std::chrono::steady_clock::now() < give_up) {
    std::this_thread::sleep_for(1ms);
  }
  EXPECT_EQ(plain.text({"ZCARD", store().keys().index("acme")}), "2");
  // A page that looked at as many keys as asked for tells where to go on, however few it found.
  const auto page = good(store().list("acme", "", 1));
  EXPECT_TRUE(page.entries.empty());
  ASSERT_FALSE(page.cursor.empty());
  EXPECT_EQ(plain.text({"ZCARD", store().keys().index("acme")}), "1");
  EXPECT_EQ(good(store().list("acme", "", 1, page.cursor)).entries.size(), 1U);
}

TEST_F(RedisStoreTest, WithoutTheVersionInTheScriptTwoWritersLoseAnUpdate) {
  auto scripts = redis_scripts();
  std::string text = scripts.write.text();
  const std::string check = "~= ARGV[1] then return false end";
  ASSERT_NE(text.find(check), std::string::npos);
  text.replace(text.find(check), check.size(), "~= ARGV[1] then end");
  scripts.write = redis::Script(text);
  Opened control(loop_, keys_.url(), RedisConfig{keys_.prefix()}, scripts);
  const auto version = good(control.store().set("acme", Write("k", "0")));
  good(control.store().compare_and_set("acme", Write("k", "1"), version));
  EXPECT_TRUE(loop_.run(control.store().compare_and_set("acme", Write("k", "1"), version)));
}

TEST_F(RedisStoreTest, WhatSomebodyElseWroteBelowThePrefixIsCorrupt) {
  PlainRedis(keys_.url()).text({"SET", store().keys().entry("acme", "k"), "no version"});
  EXPECT_EQ(loop_.run(store().get("acme", "k")).error().code, Errc::kCorrupt);
}

}  // namespace
}  // namespace plimsoll::kv
