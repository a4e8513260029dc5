#include "lib/core/redis_url.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plimsoll {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

RedisUrl parse(std::string_view text) {
  const auto url = RedisUrl::parse(text, "URL");
  EXPECT_TRUE(url) << text << ": " << (url ? "" : url.error().message);
  return url.value_or(RedisUrl{});
}

std::string refused(std::string_view text) {
  const auto url = RedisUrl::parse(text, "PLIMSOLL_REDIS_URL");
  EXPECT_FALSE(url) << text;
  if (url) return {};
  EXPECT_EQ(url.error().code, Errc::kInvalidArgument);
  EXPECT_THAT(url.error().message, HasSubstr("PLIMSOLL_REDIS_URL"));
  return url.error().message;
}

TEST(RedisUrl, HasDefaultsForAllButTheHost) {
  const auto url = parse("redis://db.example");
  EXPECT_EQ(url.host, "db.example");
  EXPECT_EQ(url.port, 6379);
  EXPECT_EQ(url.database, 0);
  EXPECT_EQ(url.user, "");
  EXPECT_EQ(url.password, "");
  EXPECT_EQ(parse("redis://db.example/"), url);
  EXPECT_EQ(parse("redis://db.example:6379/0"), url);
}

TEST(RedisUrl, ReadsEveryPart) {
  const auto url = parse("redis://ann:s3cret@db.example:7001/12");
  EXPECT_EQ(url.host, "db.example");
  EXPECT_EQ(url.port, 7001);
  EXPECT_EQ(url.database, 12);
  EXPECT_EQ(url.user, "ann");
  EXPECT_EQ(url.password, "s3cret");
  EXPECT_EQ(parse("redis://db.example:7001/?db=12&user=ann&password=s3cret"), url);
}

TEST(RedisUrl, ReadsAPasswordWithoutAUser) {
  EXPECT_EQ(parse("redis://:s3cret@h").password, "s3cret");
  EXPECT_EQ(parse("redis://:s3cret@h").user, "");
}

TEST(RedisUrl, ReadsPercentEscapesAndQuotes) {
  const auto url = parse("redis://a%20b:p%40s%2Fs%3A%25'\"@h");
  EXPECT_EQ(url.user, "a b");
  EXPECT_EQ(url.password, "p@s/s:%'\"");
}

TEST(RedisUrl, ReadsAddressesOfBothKinds) {
  EXPECT_EQ(parse("redis://127.0.0.1:1").host, "127.0.0.1");
  EXPECT_EQ(parse("redis://[::1]:7001/2").host, "::1");
  EXPECT_EQ(parse("redis://[::1]:7001/2").port, 7001);
  EXPECT_EQ(parse("redis://[::1]").port, 6379);
}

TEST(RedisUrl, ReadsUnixSockets) {
  const auto url = parse("unix://:s3cret@/run/a%20b/redis.sock?db=3");
  EXPECT_EQ(url.socket, "/run/a b/redis.sock");
  EXPECT_EQ(url.host, "");
  EXPECT_EQ(url.password, "s3cret");
  EXPECT_EQ(url.database, 3);
  EXPECT_EQ(parse("unix:///run/redis.sock").database, 0);
}

TEST(RedisUrl, SurvivesItsText) {
  for (const char* text : {"redis://h", "redis://ann:p%40s%2Fs%3A%25@h:1/2", "redis://:x@[::1]:1/2",
                           "unix:///run/redis.sock", "unix://u:%3F%23@/a%20b/c.sock?db=15"}) {
    const auto url = parse(text);
    EXPECT_EQ(parse(url.text()), url) << text << " became " << url.text();
  }
}

TEST(RedisUrl, ShowsNoPassword) {
  const auto url = parse("redis://ann:s3cret@h:1/2");
  EXPECT_EQ(url.display(), "redis://ann:***@h:1/2");
  EXPECT_EQ(url.scrub("wrong: s3cret, s3cret"), "wrong: ***, ***");
  EXPECT_EQ(parse("redis://h:1/2").display(), "redis://h:1/2");
  EXPECT_EQ(parse("redis://h").scrub("as it was"), "as it was");
  EXPECT_EQ(parse("unix:///run/r.sock?password=s3cret").display(), "unix://:***@/run/r.sock?db=0");
}

TEST(RedisUrl, RefusesWhatIsNone) {
  EXPECT_THAT(refused(""), HasSubstr("neither with redis://"));
  EXPECT_THAT(refused("http://h"), HasSubstr("neither with redis://"));
  EXPECT_THAT(refused("rediss://h"), HasSubstr("TLS"));
  EXPECT_THAT(refused("redis://"), HasSubstr("no host"));
  EXPECT_THAT(refused("redis://:s@:1"), HasSubstr("no host"));
  EXPECT_THAT(refused("redis://h:0"), HasSubstr("port"));
  EXPECT_THAT(refused("redis://h:65536"), HasSubstr("port"));
  EXPECT_THAT(refused("redis://h:1x"), HasSubstr("port"));
  EXPECT_THAT(refused("redis://[::1"), HasSubstr("without a ]"));
  EXPECT_THAT(refused("redis://h/one"), HasSubstr("database"));
  EXPECT_THAT(refused("redis://h/-1"), HasSubstr("database"));
  EXPECT_THAT(refused("redis://h/99999999999"), HasSubstr("database"));
  EXPECT_THAT(refused("redis://h?timeout=1"), HasSubstr("none of db"));
  EXPECT_THAT(refused("redis://h#1"), HasSubstr("%23"));
  EXPECT_THAT(refused("unix://"), HasSubstr("no path"));
  EXPECT_THAT(refused("unix://host/path"), HasSubstr("unix:///path"));
  EXPECT_THAT(refused("redis://ann@h"), HasSubstr("without a colon"));
  EXPECT_THAT(refused("redis://ann:@h"), HasSubstr("without a password"));
  EXPECT_THAT(refused("redis://:a%2@h"), HasSubstr("%25"));
  EXPECT_THAT(refused("redis://:a%00b@h"), HasSubstr("%25"));
}

TEST(RedisUrl, NeverQuotesAPasswordInARefusal) {
  for (const char* text :
       {"redis://ann:s3@cret@h", "redis://ann:s3/cret@h", "redis://ann:s3?cret@h",
        "redis://ann:s3#cret@h", "redis://ann:s3:cret@h", "redis://cret@h", "redis://ann:%zzcret@h",
        "redis://h?cret=1", "redis://h?password=cret%", "redis://h/cret", "cret", "redis://h:cret",
        "unix://cret/x", "redis://:cret@", "redis://ann:s3/cret"}) {
    EXPECT_THAT(refused(text), Not(HasSubstr("cret"))) << text;
  }
}

}  // namespace
}  // namespace plimsoll
