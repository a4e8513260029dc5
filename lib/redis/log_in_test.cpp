#include "lib/redis/log_in.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plimsoll::redis {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

RedisUrl url(const std::string& text) {
  const auto parsed = RedisUrl::parse(text, "url");
  if (!parsed) throw std::runtime_error(parsed.error().message);
  return *parsed;
}

Result<Reply> ok() { return Reply::of(Reply::Kind::kStatus, "OK"); }
Result<Reply> error(const std::string& text) {
  return fail(Reply::of(Reply::Kind::kError, text).error());
}

Error judged(const std::string& where, std::vector<Result<Reply>> answers) {
  const auto judged = judge_log_in(url(where), answers);
  return judged ? Error{Errc::kInternal, "let in", {}} : judged.error();
}

TEST(LogIn, SaysWhoWhereAndUnderWhatNameInThatOrder) {
  const auto commands = log_in_commands(url("redis://ann:s3cret@h/3"), "bench");
  ASSERT_EQ(commands.size(), 3U);
  EXPECT_THAT(commands[0].words(), ElementsAre("AUTH", "ann", "s3cret"));
  EXPECT_THAT(commands[1].words(), ElementsAre("SELECT", "3"));
  EXPECT_THAT(commands[2].words(), ElementsAre("CLIENT", "SETNAME", "bench"));
}

TEST(LogIn, SaysNoMoreThanItMust) {
  EXPECT_THAT(log_in_commands(url("redis://:s3cret@h"), "")[0].words(),
              ElementsAre("AUTH", "s3cret"));
  const auto commands = log_in_commands(url("redis://h"), "");
  ASSERT_EQ(commands.size(), 1U);
  EXPECT_THAT(commands[0].words(), ElementsAre("SELECT", "0"));
}

TEST(JudgeLogIn, LetsInWhomTheServerLetsIn) {
  EXPECT_EQ(judged("redis://:p@h", {ok(), ok(), ok()}).message, "let in");
  EXPECT_EQ(judged("redis://h", {ok()}).message, "let in");
}

TEST(JudgeLogIn, NeverQuotesWhatTheServerSaysOfThePassword) {
  for (const char* text : {"WRONGPASS invalid username-password pair: s3cret", "s3cret is wrong",
                           "ERR unknown command 'AUTH', with args beginning with: 's3cret'"}) {
    const auto refused = judged("redis://:s3cret@h", {error(text), error("NOAUTH x"), ok()});
    EXPECT_EQ(refused.code, Errc::kRefused) << text;
    EXPECT_THAT(refused.message, Not(HasSubstr("s3cret")));
  }
  const auto echoed = judged("redis://:s3cret@h/9", {ok(), error("ERR s3cret has no 9"), ok()});
  EXPECT_EQ(echoed.code, Errc::kNotFound);
  EXPECT_THAT(echoed.message, Not(HasSubstr("s3cret")));
}

TEST(JudgeLogIn, TellsThatNoPasswordIsWanted) {
  const auto refused =
      judged("redis://:p@h", {error("ERR AUTH <password> called without any password configured "
                                    "for the default user."),
                              ok(), ok()});
  EXPECT_EQ(refused.code, Errc::kRefused);
  EXPECT_THAT(refused.message, HasSubstr("has no password"));
}

TEST(JudgeLogIn, RefusesWithoutThePasswordThatIsWanted) {
  const auto refused = judged("redis://h", {error("NOAUTH Authentication required."), ok()});
  EXPECT_EQ(refused.code, Errc::kRefused);
}

TEST(JudgeLogIn, NamesADatabaseThatIsNotThere) {
  const auto refused = judged("redis://h/99", {error("ERR DB index is out of range"), ok()});
  EXPECT_EQ(refused.code, Errc::kNotFound);
  EXPECT_THAT(refused.message, HasSubstr("no database 99"));
}

TEST(JudgeLogIn, TakesDatabaseZeroWithoutTheRightToSelect) {
  EXPECT_EQ(judged("redis://h", {error("NOPERM no select"), ok()}).message, "let in");
  EXPECT_EQ(judged("redis://h/1", {error("NOPERM no select"), ok()}).code, Errc::kRefused);
}

TEST(JudgeLogIn, DoesWithoutTheName) {
  EXPECT_EQ(judged("redis://h", {ok(), error("ERR unknown command 'CLIENT'")}).message, "let in");
}

TEST(JudgeLogIn, IsBusyWhenThereAreTooManyClients) {
  const Result<Reply> gone = fail(Errc::kUnavailable, "the server closed the connection");
  EXPECT_EQ(judged("redis://:p@h", {error("ERR max number of clients reached"), gone, gone}).code,
            Errc::kBusy);
}

TEST(JudgeLogIn, PassesALostConnectionOn) {
  const Result<Reply> gone = fail(Errc::kUnavailable, "the server closed the connection");
  EXPECT_EQ(judged("redis://:p@h", {gone, gone, gone}).code, Errc::kUnavailable);
  EXPECT_EQ(judged("redis://h", {gone, gone}).code, Errc::kUnavailable);
}

TEST(CheckClientName, TakesWhatRedisTakes) {
  EXPECT_TRUE(check_client_name("plimsoll-7:a"));
  EXPECT_TRUE(check_client_name(""));
  for (const char* name : {"two words", "line\n", "\x7f", "\xc3\xa9"}) {
    EXPECT_EQ(check_client_name(name).error().code, Errc::kInvalidArgument);
  }
}

}  // namespace
}  // namespace plimsoll::redis
