#include "lib/kv_store/place.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "lib/kv_store/redis_scripts.hpp"

namespace plimsoll::kv {
namespace {

// All texts of up to `length` bytes over an alphabet of digits, separators and letters.
std::vector<std::string> texts(std::size_t length) {
  std::vector<std::string> all{""};
  for (std::size_t begin = 0; length > 0; --length) {
    const std::size_t end = all.size();
    for (; begin < end; ++begin) {
      for (const char byte : std::string_view("12:ae")) all.push_back(all[begin] + byte);
    }
  }
  return all;
}

TEST(KvPlace, NoTwoTenantsAndKeysShareOne) {
  std::map<std::string, std::pair<std::string, std::string>> places;
  std::size_t joined_alike = 0;
  std::map<std::string, int> naive;
  for (const auto& tenant : texts(3)) {
    for (const auto& key : texts(3)) {
      const auto [found, is_new] = places.emplace(place_of(tenant, key), std::pair(tenant, key));
      EXPECT_TRUE(is_new) << tenant << " and " << key << " beside " << found->second.first;
      if (naive[tenant + ':' + key]++ > 0) ++joined_alike;
    }
  }
  EXPECT_GT(joined_alike, 0U) << "a colon alone would have done";
}

TEST(KvPlace, NoKeyOfARedisIsAnothersOrOfAnotherKind) {
  const RedisKeys keys{"p:"};
  std::map<std::string, int> seen;
  for (const auto& tenant : texts(2)) {
    ++seen[keys.index(tenant)];
    for (const auto& key : texts(2)) ++seen[keys.entry(tenant, key)];
  }
  ++seen[keys.counter()];
  ++seen[keys.expiries()];
  for (const auto& [name, times] : seen) EXPECT_EQ(times, 1) << name;
  EXPECT_EQ(keys.entry("acme", "k"), keys.entries("acme") + "k");
}

}  // namespace
}  // namespace plimsoll::kv
