#include "lib/lease_claims/checks.hpp"

#include <gmock/gmock.h>

#include <string>
#include <utility>

namespace plimsoll::lease {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

ClaimRequest good_request() { return ClaimRequest{"acme", "worker", milliseconds{1000}, 1}; }

TEST(Checks, AGoodRequestPasses) { EXPECT_TRUE(check_claim(good_request(), 1)); }

TEST(Checks, ATtlOutsideItsRangeIsNamedWithTheRange) {
  for (const milliseconds ttl :
       {milliseconds{0}, milliseconds{-5}, milliseconds{hours{24}} + milliseconds{1}}) {
    const auto result = check_ttl("renew", ttl);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, Errc::kInvalidArgument);
    EXPECT_THAT(result.error().message, HasSubstr(std::to_string(ttl.count()) + " ms"));
    EXPECT_THAT(result.error().message, HasSubstr("1 to 86400000"));
  }
  EXPECT_TRUE(check_ttl("renew", kMinTtl));
  EXPECT_TRUE(check_ttl("renew", kMaxTtl));
}

TEST(Checks, ALimitOfZeroOrBeyondTheBatchIsRefused) {
  for (const std::size_t limit : {std::size_t{0}, std::size_t{51}, std::size_t{1} << 40U}) {
    ClaimRequest request = good_request();
    request.limit = limit;
    const auto result = check_claim(request, 50);
    ASSERT_FALSE(result);
    EXPECT_THAT(result.error().message, HasSubstr("limit is " + std::to_string(limit)));
    EXPECT_THAT(result.error().message, HasSubstr("1 to 50"));
  }
}

TEST(Checks, ANameIsOneToTwoHundredBytesOfUtf8) {
  EXPECT_THAT(check_name("claim", "tenant", "").error().message, HasSubstr("tenant is empty"));
  EXPECT_TRUE(check_name("claim", "tenant", std::string(200, 'x')));
  EXPECT_THAT(check_name("claim", "owner", std::string(201, 'x')).error().message,
              HasSubstr("201 bytes"));
  EXPECT_THAT(check_name("claim", "tenant", std::string("ab\0c", 4)).error().message,
              HasSubstr("NUL at byte 2"));
}

TEST(Checks, QuotesBracesAndOtherScriptsAreOrdinaryNames) {
  for (const char* const name :
       {"it's", "\"x\"", "{a,b}", "a\\b", "Zürich", "東京", "\xF0\x9F\x98\x80"}) {
    EXPECT_TRUE(check_name("claim", "tenant", name)) << name;
  }
}

TEST(Checks, BrokenUtf8IsFoundAtItsByte) {
  // A stray tail, an overlong slash, a surrogate, beyond U+10FFFF, and a sequence cut short.
  for (const std::string bad :
       {"a\x80", "a\xC0\xAF", "a\xED\xA0\x80", "a\xF4\x90\x80\x80", "a\xE2\x82"}) {
    const auto result = check_name("claim", "tenant", bad);
    ASSERT_FALSE(result) << bad;
    EXPECT_THAT(result.error().message, HasSubstr("not UTF-8 at byte 1"));
  }
}

TEST(Checks, ABatchIsOneToAThousandLeasesEachOnce) {
  std::vector<Lease> leases;
  EXPECT_THAT(check_leases("fire_all", leases).error().message, HasSubstr("there are 0 leases"));
  for (std::int64_t schedule = 0; schedule < 1000; ++schedule)
    leases.push_back(Lease{"acme", schedule, {}, 1, {}});
  EXPECT_TRUE(check_leases("fire_all", leases));
  leases.push_back(Lease{"acme", 1000, {}, 1, {}});
  EXPECT_THAT(check_leases("fire_all", leases).error().message, HasSubstr("1001 leases"));
  leases = {Lease{"acme", 7, {}, 1, {}}, Lease{"other", 7, {}, 1, {}}};
  EXPECT_TRUE(check_leases("fire_all", leases));
  leases.push_back(Lease{"acme", 7, {}, 2, {}});
  EXPECT_THAT(check_leases("fire_all", leases).error().message,
              HasSubstr("schedule 7 of acme is in the list twice"));
}

TEST(Checks, APeriodIsOneSecondToAYear) {
  ScheduleSpec spec;
  spec.tenant = "acme";
  for (const seconds period : {seconds{0}, seconds{-1}, seconds{hours{24 * 366}} + seconds{1}}) {
    spec.period = period;
    EXPECT_THAT(check_schedule(spec).error().message,
                HasSubstr("period is " + std::to_string(period.count())));
  }
  spec.period = seconds{1};
  EXPECT_TRUE(check_schedule(spec));
}

}  // namespace
}  // namespace plimsoll::lease
