#include "lib/kv_store/checks.hpp"

#include <gmock/gmock.h>

namespace plimsoll::kv {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

TEST(KvChecks, TakeEachLimitAndRefuseOneBeyond) {
  EXPECT_TRUE(check_tenant("get", std::string(kMaxTenantBytes, 't')));
  EXPECT_FALSE(check_tenant("get", std::string(kMaxTenantBytes + 1, 't')));
  EXPECT_TRUE(check_key("get", std::string(kMaxKeyBytes, 'k')));
  EXPECT_FALSE(check_key("get", std::string(kMaxKeyBytes + 1, 'k')));
  EXPECT_TRUE(check_prefix("list", ""));
  EXPECT_TRUE(check_prefix("list", std::string(kMaxKeyBytes, 'k')));
  EXPECT_FALSE(check_prefix("list", std::string(kMaxKeyBytes + 1, 'k')));
  EXPECT_TRUE(check_write("set", Write("k", std::string(kMaxValueBytes, 'v'))));
  EXPECT_FALSE(check_write("set", Write("k", std::string(kMaxValueBytes + 1, 'v'))));
  EXPECT_TRUE(check_write("set", Write("k", "v", kMinTtl)));
  EXPECT_TRUE(check_write("set", Write("k", "v", kMaxTtl)));
  EXPECT_FALSE(check_write("set", Write("k", "v", kMinTtl - milliseconds(1))));
  EXPECT_FALSE(check_write("set", Write("k", "v", kMaxTtl + milliseconds(1))));
  EXPECT_TRUE(check_limit("list", kMaxPage));
  EXPECT_FALSE(check_limit("list", kMaxPage + 1));
  EXPECT_TRUE(check_expected("compare_and_set", kAbsent));
  EXPECT_FALSE(check_expected("compare_and_set", -1));
}

TEST(KvChecks, BoundABatchByItsNumberAndByItsBytes) {
  EXPECT_TRUE(check_keys("get_all", std::vector<std::string>(kMaxBatch, "k")));
  EXPECT_FALSE(check_keys("get_all", std::vector<std::string>(kMaxBatch + 1, "k")));
  EXPECT_FALSE(check_writes("set_all", std::vector<Write>(kMaxBatch + 1, Write("k", "v"))));
  const Write large("k", std::string(kMaxValueBytes, 'v'));
  constexpr std::size_t kMost = kMaxBatchBytes / kMaxValueBytes;
  EXPECT_TRUE(check_writes("set_all", std::vector<Write>(kMost, large)));
  EXPECT_FALSE(check_writes("set_all", std::vector<Write>(kMost + 1, large)));
}

TEST(KvChecks, SayWhatWasSeenAndWhere) {
  using namespace std::string_literals;
  EXPECT_THAT(check_key("set", "ab\0c"s).error().message,
              HasSubstr("kv set: the key holds a NUL at byte 2"));
  EXPECT_THAT(check_key("set", "ab\xC3").error().message,
              HasSubstr("kv set: the key is not UTF-8 at byte 2"));
  EXPECT_THAT(check_tenant("get", "").error().message, HasSubstr("kv get: the tenant is empty"));
  EXPECT_THAT(check_writes("set_all", {Write("k", "v"), Write("", "v")}).error().message,
              HasSubstr("kv set_all: the key is empty"));
}

}  // namespace
}  // namespace plimsoll::kv
