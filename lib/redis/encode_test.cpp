#include "lib/redis/encode.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <hiredis/hiredis.h>

#include "lib/core/rng.hpp"

namespace plimsoll::redis {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string encoded(const Command& command) {
  std::string out;
  append(out, command);
  return out;
}

std::string by_hiredis(const Command& command) {
  std::vector<const char*> words;
  std::vector<std::size_t> sizes;
  for (const auto& word : command.words()) {
    words.push_back(word.data());
    sizes.push_back(word.size());
  }
  char* text = nullptr;
  const auto size =
      redisFormatCommandArgv(&text, static_cast<int>(words.size()), words.data(), sizes.data());
  std::string out(text, static_cast<std::size_t>(size));
  redisFreeCommand(text);
  return out;
}

TEST(Append, IsTheProtocolsForm) {
  EXPECT_EQ(encoded(Command("SET", "k", "")), "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$0\r\n\r\n");
}

TEST(Append, KeepsEveryByte) {
  const std::string odd("a\0b\r\nc\xff", 7);
  EXPECT_EQ(encoded(Command("GET", odd)), "*2\r\n$3\r\nGET\r\n$7\r\n" + odd + "\r\n");
}

TEST(Append, GivesWhatHiredisGivesForAnyWords) {
  Rng rng(5);
  for (int round = 0; round < 500; ++round) {
    Command command("NAME");
    const auto words = rng.below(12);
    for (std::uint64_t i = 0; i < words; ++i) {
      std::string word(rng.below(300), '\0');
      for (char& c : word) c = static_cast<char>(rng.below(256));
      command.add(std::move(word));
    }
    ASSERT_EQ(encoded(command), by_hiredis(command)) << round;
  }
}

TEST(Command, WritesIntegersAsDigits) {
  const Command command("SET", std::string("k"), -7, "PX", std::uint64_t{1} << 63);
  EXPECT_THAT(command.words(),
              ::testing::ElementsAre("SET", "k", "-7", "PX", "9223372036854775808"));
}

TEST(Check, PassesWhatIsAnsweredOnce) {
  for (const char* name : {"GET", "EVAL", "MULTI", "BLPOP", "PUBLISH", "client", "SUBSTR"}) {
    EXPECT_TRUE(check(Command(name, "x"))) << name;
  }
}

TEST(Check, RefusesACommandWithoutAName) {
  EXPECT_EQ(check(Command()).error().code, Errc::kInvalidArgument);
  EXPECT_EQ(check(Command("")).error().code, Errc::kInvalidArgument);
}

TEST(Check, RefusesWhatIsNotAnsweredExactlyOnce) {
  for (const char* name : {"SUBSCRIBE", "psubscribe", "SSubscribe", "UNSUBSCRIBE", "MONITOR",
                           "hello", "SYNC", "PSYNC"}) {
    const auto checked = check(Command(name, "c"));
    ASSERT_FALSE(checked) << name;
    EXPECT_EQ(checked.error().code, Errc::kInvalidArgument);
  }
  EXPECT_FALSE(check(Command("CLIENT", "reply", "OFF")));
  EXPECT_TRUE(check(Command("CLIENT", "ID")));
}

TEST(Check, RefusesTooMuchAndSaysWhereButNotWhat) {
  const CommandLimits limits{.max_argument_bytes = 8, .max_command_bytes = 200, .max_arguments = 5};
  EXPECT_TRUE(check(Command("SET", "k", "12345678"), limits));
  const auto large = check(Command("SET", "k", "123456789"), limits);
  ASSERT_FALSE(large);
  EXPECT_THAT(large.error().message, HasSubstr("word 2 of the command has 9 bytes"));
  EXPECT_THAT(large.error().message, Not(HasSubstr("123456789")));
  EXPECT_FALSE(check(Command("DEL", "1", "2", "3", "4", "5"), limits));
  const CommandLimits tight{.max_argument_bytes = 99, .max_command_bytes = 150, .max_arguments = 5};
  EXPECT_THAT(check(Command("SET", "k", std::string(60, 'x')), tight).error().message,
              HasSubstr("the command has"));
}

TEST(Check, RefusesAnArgumentOver512MebibytesByDefault) {
  const std::size_t limit = 512UL << 20;
  Command command("SET", "k", std::string(limit, 'x'));
  EXPECT_TRUE(check(command));
  command = Command("SET", "k", std::string(limit + 1, 'x'));
  EXPECT_THAT(check(command).error().message, HasSubstr("536870913 bytes"));
}

}  // namespace
}  // namespace plimsoll::redis
