#include "lib/lease_claims/wire.hpp"

#include <gmock/gmock.h>

namespace plimsoll::lease {
namespace {

TEST(Wire, EveryElementOfATenantArrayIsQuoted) {
  const std::vector<Lease> leases{
      Lease{"a,b", 1, Timestamp{std::chrono::microseconds{5}}, 2, {}},
      Lease{"say \"hi\"", -3, Timestamp{std::chrono::microseconds{-1}}, 4, {}},
      Lease{"back\\slash", 5, Timestamp{}, 6, {}},
      Lease{"NULL", 7, Timestamp{}, 8, {}},
  };
  const pg::Params params = batch_params(leases);
  ASSERT_EQ(params.size(), 4U);
  EXPECT_EQ(params[0], R"({"a,b","say \"hi\"","back\\slash","NULL"})");
  EXPECT_EQ(params[1], "{1,-3,5,7}");
  EXPECT_EQ(params[2], "{2,4,6,8}");
  EXPECT_EQ(params[3], "{5,-1,0,0}");
}

TEST(Wire, ALeaseIsItsKeyItsTokenAndItsFireTime) {
  const Lease lease{"acme", 7, Timestamp{std::chrono::microseconds{1'700'000'000'123'456}}, 42, {}};
  EXPECT_EQ(lease_params(lease), (pg::Params{"acme", "7", "42", "1700000000123456"}));
}

}  // namespace
}  // namespace plimsoll::lease
