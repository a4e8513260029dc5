#include <gmock/gmock.h>

#include <set>

#include "lib/lease_claims/database_pgtest.hpp"

namespace plimsoll::lease {
namespace {

using testing::ElementsAre;

/// Fires one schedule from `first` on, `times` times, as a worker would.
class Zones : public LeaseTest {
 protected:
  /// The fire times as local labels, in order.
  std::vector<std::string> labels(const std::string& zone, const std::string& first_utc,
                                  int period_s, int times) {
    sql().rows("DELETE FROM fires");
    sql().rows("DELETE FROM schedules");
    Worker worker(dsn_);
    const std::int64_t first =
        count("SELECT (extract(epoch FROM timestamptz '" + first_utc + "+00') * 1000000)::bigint");
    const ScheduleSpec spec{
        "acme", 1,   Timestamp{std::chrono::microseconds{first}}, std::chrono::seconds{period_s},
        zone,   true};
    const auto added = worker.run(add_schedule(worker.connection(), schema_, spec));
    if (!added) throw std::runtime_error(added.error().message);
    const Claimer claimer = this->claimer();
    for (int i = 0; i < times; ++i) {
      const auto leases = worker.run(claimer.claim(worker.connection(), request("acme")));
      if (!leases || leases->size() != 1) throw std::runtime_error("nothing due");
      const auto fired = worker.run(claimer.fire(worker.connection(), leases->front()));
      if (!fired) throw std::runtime_error(fired.error().message);
      if (fired->next_fire <= leases->front().fire_time)
        throw std::runtime_error("time stands still");
    }
    std::vector<std::string> all;
    for (const auto& row : sql().rows("SELECT to_char(fire_time AT TIME ZONE '" + zone +
                                      "', 'MM-DD HH24:MI') FROM fires ORDER BY fire_time")) {
      all.push_back(row.front());
    }
    return all;
  }
};

// Berlin 2023: clocks go from 02:00 to 03:00 on 26 March, from 03:00 to 02:00 on 29 October.

TEST_F(Zones, ADailySlotInTheSkippedHourFiresOnceAndKeepsItsPlaceAfterwards) {
  EXPECT_THAT(labels("Europe/Berlin", "2023-03-25 01:30", 86'400, 4),
              ElementsAre("03-25 02:30", "03-26 03:30", "03-27 02:30", "03-28 02:30"));
}

TEST_F(Zones, ADailySlotInTheRepeatedHourFiresOnce) {
  EXPECT_THAT(labels("Europe/Berlin", "2023-10-28 00:30", 86'400, 3),
              ElementsAre("10-28 02:30", "10-29 02:30", "10-30 02:30"));
}

TEST_F(Zones, QuartersOfTheSkippedHourDoNotFireTwiceUnderTheNextHoursLabels) {
  EXPECT_THAT(labels("Europe/Berlin", "2023-03-26 00:30", 900, 6),
              ElementsAre("03-26 01:30", "03-26 01:45", "03-26 03:00", "03-26 03:15", "03-26 03:30",
                          "03-26 03:45"));
}

TEST_F(Zones, QuartersOfTheRepeatedHourFireOnceALabel) {
  EXPECT_THAT(labels("Europe/Berlin", "2023-10-28 23:45", 900, 6),
              ElementsAre("10-29 01:45", "10-29 02:00", "10-29 02:15", "10-29 02:30", "10-29 02:45",
                          "10-29 03:00"));
}

TEST_F(Zones, AZoneThatSkippedAWholeDayFiresThatDayOnceWithTheNext) {
  // Samoa crossed the date line: there was no 30 December 2011.
  EXPECT_THAT(labels("Pacific/Apia", "2011-12-29 20:00", 86'400, 3),
              ElementsAre("12-29 10:00", "12-31 10:00", "01-01 10:00"));
}

TEST_F(Zones, AHalfHourShiftIsFollowed) {
  // Lord Howe Island moves by 30 minutes: back from 02:00 to 01:30 on 2 April 2023.
  EXPECT_THAT(labels("Australia/Lord_Howe", "2023-04-01 14:00", 1800, 4),
              ElementsAre("04-02 01:00", "04-02 01:30", "04-02 02:00", "04-02 02:30"));
}

TEST_F(Zones, ThroughAYearEveryLabelFiresAtMostOnceAndTimeNeverStandsStill) {
  for (const char* const zone :
       {"America/New_York", "Asia/Tehran", "Africa/Casablanca", "America/St_Johns", "UTC"}) {
    const auto all = labels(zone, "2022-03-01 00:10", 7 * 3600 + 1200, 120);
    EXPECT_EQ(all.size(), 120U) << zone;
    EXPECT_EQ(std::set<std::string>(all.begin(), all.end()).size(), 120U) << zone;
  }
}

}  // namespace
}  // namespace plimsoll::lease
