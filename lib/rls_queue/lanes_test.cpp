#include "lib/rls_queue/lanes.hpp"

#include <gmock/gmock.h>

#include "lib/rls_queue/link.hpp"

namespace plimsoll::rls {
namespace {

TEST(Lanes, HoldACallerToItsConnectionWhileAJobIsThere) {
  Lanes lanes;
  const auto here = std::make_shared<Link>();
  auto& first = lanes.join("acme", 1);
  EXPECT_EQ(first.link(), nullptr);
  first.place(here);
  auto& second = lanes.join("acme", 1);
  EXPECT_EQ(&second, &first);
  EXPECT_EQ(second.link(), here);
  second.place(here);
  lanes.leave(first, here);
  EXPECT_EQ(second.link(), here) << "one is still there";
  auto& third = lanes.join("acme", 1);
  lanes.leave(second, here);
  EXPECT_EQ(third.link(), nullptr) << "only one that waits is left";
  lanes.leave(third, nullptr);
  EXPECT_EQ(lanes.size(), 0U);
}

TEST(Lanes, AreOfOneCallerOfOneTenant) {
  Lanes lanes;
  auto& one = lanes.join("acme", 1);
  EXPECT_NE(&one, &lanes.join("acme", 11));
  EXPECT_NE(&one, &lanes.join("acme1", 1));
  EXPECT_EQ(&one, &lanes.join("acme", 1));
  EXPECT_EQ(lanes.size(), 3U);
}

TEST(Lanes, GoElsewhereWhenTheirConnectionIsLost) {
  Lanes lanes;
  const auto lost = std::make_shared<Link>();
  const auto made_anew = std::make_shared<Link>();
  auto& lane = lanes.join("acme", 1);
  lane.place(lost);
  (void)lanes.join("acme", 1);
  lane.place(made_anew);
  lanes.leave(lane, lost);
  EXPECT_EQ(lane.link(), made_anew) << "what was on the lost one counts no more";
  lanes.leave(lane, made_anew);
  EXPECT_EQ(lanes.size(), 0U);
}

}  // namespace
}  // namespace plimsoll::rls
