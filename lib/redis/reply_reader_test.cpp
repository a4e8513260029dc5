#include "lib/redis/reply_reader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/core/rng.hpp"

namespace plimsoll::redis {
namespace {

using ::testing::HasSubstr;
using Kind = Reply::Kind;

constexpr std::size_t kRoomy = 1UL << 20;

/// All replies in these bytes, given in pieces of this size.
Result<std::vector<Reply>> read(std::string_view bytes, std::size_t piece = 1UL << 20,
                                std::size_t limit = kRoomy) {
  ReplyReader reader(limit);
  std::vector<Reply> replies;
  while (!bytes.empty()) {
    const auto part = bytes.substr(0, piece);
    bytes.remove_prefix(part.size());
    if (auto fed = reader.feed(part); !fed) return fail(fed.error());
    for (;;) {
      auto next = reader.next();
      if (!next) return fail(next.error());
      if (!*next) break;
      replies.push_back(std::move(**next));
    }
  }
  return replies;
}

Error error_of(std::string_view bytes, std::size_t limit = kRoomy) {
  const auto replies = read(bytes, 1UL << 20, limit);
  return replies ? Error{Errc::kInternal, "no error", {}} : replies.error();
}

TEST(ReplyReader, ReadsEveryKind) {
  const auto replies =
      read("+OK\r\n-ERR no\r\n:-42\r\n$3\r\na\r\n\r\n$0\r\n\r\n$-1\r\n*-1\r\n*0\r\n");
  ASSERT_TRUE(replies) << replies.error().message;
  ASSERT_EQ(replies->size(), 8U);
  EXPECT_EQ((*replies)[0], Reply::of(Kind::kStatus, "OK"));
  EXPECT_EQ((*replies)[1], Reply::of(Kind::kError, "ERR no"));
  EXPECT_EQ((*replies)[2], Reply::of(std::int64_t{-42}));
  EXPECT_EQ((*replies)[3], Reply::of(Kind::kString, "a\r\n"));
  EXPECT_EQ((*replies)[4], Reply::of(Kind::kString, ""));
  EXPECT_TRUE((*replies)[5].is_nil());
  EXPECT_TRUE((*replies)[6].is_nil());
  EXPECT_EQ((*replies)[7], Reply::of(Reply::Array{}));
}

TEST(ReplyReader, ReadsTreesInAnyPieces) {
  const std::string odd("\0\r\n\xff", 4);
  const std::string bytes =
      "*3\r\n*2\r\n:1\r\n$4\r\n" + odd + "\r\n*1\r\n*1\r\n$-1\r\n-WRONGTYPE x\r\n";
  const auto whole = read(bytes + "+after\r\n");
  ASSERT_TRUE(whole) << whole.error().message;
  ASSERT_EQ(whole->size(), 2U);
  const auto& root = whole->front();
  ASSERT_EQ(root.elements().size(), 3U);
  EXPECT_EQ(root.elements()[0].elements()[1].text(), odd);
  EXPECT_TRUE(root.elements()[1].elements()[0].elements()[0].is_nil());
  EXPECT_TRUE(root.elements()[2].is_error());
  for (std::size_t piece = 1; piece < bytes.size(); ++piece) {
    const auto again = read(bytes + "+after\r\n", piece);
    ASSERT_TRUE(again) << piece;
    EXPECT_TRUE(*again == *whole) << piece;
  }
}

TEST(ReplyReader, WaitsForTheRest) {
  for (const char* half :
       {"", "$", "$5", "$5\r\nab", "$5\r\nabcde", "$5\r\nabcde\r", "*2\r\n:1\r\n"}) {
    const auto replies = read(half);
    ASSERT_TRUE(replies) << half;
    EXPECT_TRUE(replies->empty()) << half;
  }
}

TEST(ReplyReader, RefusesWhatIsNoReply) {
  for (const char* bytes : {"hello\r\n", "HTTP/1.1 200 OK\r\n", "\r\n", ":12x\r\n", "$x\r\n",
                            "$-2\r\n", "*-2\r\n", "\x16\x03\x01", "*1\r\nx"}) {
    const auto error = error_of(bytes);
    EXPECT_EQ(error.code, Errc::kProtocol) << bytes;
    EXPECT_TRUE(error.poisons_connection());
  }
}

TEST(ReplyReader, RefusesKindsOfTheNewerProtocol) {
  for (const char* bytes : {",1.5\r\n", "#t\r\n", "%1\r\n+a\r\n+b\r\n", ">1\r\n+a\r\n"}) {
    EXPECT_EQ(error_of(bytes).code, Errc::kProtocol) << bytes;
  }
}

TEST(ReplyReader, StaysWithAnError) {
  ReplyReader reader(kRoomy);
  ASSERT_TRUE(reader.feed("nonsense\r\n"));
  EXPECT_FALSE(reader.next());
  (void)reader.feed("+OK\r\n");
  EXPECT_FALSE(reader.next());
}

TEST(ReplyReader, RefusesAStringOverTheLimitBeforeItIsWhole) {
  EXPECT_TRUE(read("$100\r\n" + std::string(100, 'x') + "\r\n", 1 << 20, 200));
  const auto error = error_of("$1000\r\n" + std::string(300, 'x'), 200);
  EXPECT_EQ(error.code, Errc::kProtocol);
  EXPECT_THAT(error.message, HasSubstr("200 B"));
}

TEST(ReplyReader, BelievesNoArraysCountBeyondTheLimit) {
  EXPECT_THAT(error_of("*2000000000\r\n").message, HasSubstr("1.00 MiB"));
  EXPECT_THAT(error_of("*2\r\n*10000\r\n", 1000).message, HasSubstr("more than"));
}

TEST(ReplyReader, AddsUpWhatOneReplyTakes) {
  const std::string piece = "$100\r\n" + std::string(100, 'x') + "\r\n";
  std::string array = "*20\r\n";
  for (int i = 0; i < 20; ++i) array += piece;
  EXPECT_FALSE(read(array, 64, 1500));
  EXPECT_TRUE(read(array, 64, 5000));
  std::string single;
  for (int i = 0; i < 20; ++i) single += piece;
  EXPECT_TRUE(read(single, 64, 1500));  // Each for itself.
}

TEST(ReplyReader, ReadsDeepNestingOrSaysNo) {
  std::string deep;
  for (int i = 0; i < 7; ++i) deep += "*1\r\n";
  EXPECT_TRUE(read(deep + ":1\r\n"));
  for (int i = 0; i < 100; ++i) deep += "*1\r\n";
  EXPECT_EQ(error_of(deep + ":1\r\n").code, Errc::kProtocol);
}

TEST(ReplyReader, SurvivesAnyBytes) {
  constexpr std::string_view kLikely = "+-:$*\r\n0123456789x";
  Rng rng(3);
  for (int round = 0; round < 3000; ++round) {
    std::string bytes;
    for (auto left = rng.below(60); left > 0; --left) {
      bytes += rng.below(8) == 0 ? static_cast<char>(rng.below(256))
                                 : kLikely[rng.below(kLikely.size())];
      if (rng.below(4) == 0) bytes += "\r\n";
    }
    (void)read(bytes, 1 + rng.below(20), 10'000);  // The sanitizers look.
  }
}

}  // namespace
}  // namespace plimsoll::redis
