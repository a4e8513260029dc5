#include "lib/kv_store/cursor.hpp"

#include <gtest/gtest.h>

#include "lib/kv_store/types.hpp"

namespace plimsoll::kv {
namespace {

TEST(KvCursor, LeadsBackToItsKey) {
  for (const std::string& key : {std::string("k"), std::string("a.b.c"),
                                 std::string("\x01\xC3\xA4"), std::string(kMaxKeyBytes, 'k')}) {
    const auto decoded = decode_cursor(encode_cursor("acme", "p", key), "acme", "p");
    ASSERT_TRUE(decoded) << decoded.error().message;
    EXPECT_EQ(*decoded, key);
  }
}

TEST(KvCursor, IsRefusedForAnotherTenantOrPrefix) {
  const auto cursor = encode_cursor("acme", "p", "p1");
  EXPECT_EQ(decode_cursor(cursor, "evil", "p").error().code, Errc::kRefused);
  EXPECT_EQ(decode_cursor(cursor, "acme", "").error().code, Errc::kRefused);
  EXPECT_EQ(decode_cursor(cursor, "acm", "ep").error().code, Errc::kRefused);
  // Joined by the separator alone these two would be one.
  EXPECT_EQ(decode_cursor(encode_cursor("a", "b:c", "b:c1"), "a:b", "c").error().code,
            Errc::kRefused);
}

TEST(KvCursor, IsFoundOutWhenAnyOfItsCharactersWasChanged) {
  const auto cursor = encode_cursor("acme", "p", "p1");
  for (std::size_t at = 0; at < cursor.size(); ++at) {
    std::string changed = cursor;
    changed[at] = changed[at] == '0' ? '1' : '0';
    EXPECT_EQ(decode_cursor(changed, "acme", "p").error().code, Errc::kInvalidArgument) << at;
  }
  for (std::size_t length = 0; length < cursor.size(); ++length) {
    EXPECT_FALSE(decode_cursor(cursor.substr(0, length), "acme", "p")) << length;
  }
  EXPECT_FALSE(decode_cursor(cursor + "0", "acme", "p"));
  EXPECT_FALSE(decode_cursor("kv1....", "acme", "p"));
}

}  // namespace
}  // namespace plimsoll::kv
