#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "compare/ab/ab.hpp"
#include "compare/ab/process.hpp"

namespace plimsoll::compare {

/// A group that both sides have, and its binaries. The name is empty when both sides are single
/// binaries.
struct PlannedGroup {
  std::string name;
  std::filesystem::path base;
  std::filesystem::path fresh;
};

struct AbPlan {
  std::vector<PlannedGroup> groups;
  std::vector<AbTarget> missing;  ///< Targets whose group only one side has.
  std::vector<std::string> notes;
};

/// Which groups the request is about, with every revision built that it needs. Errors: as run_ab.
[[nodiscard]] Result<AbPlan> plan_ab(const AbRequest& request, const HeldSignals& signals);

/// What both binaries of a group list.
struct Listing {
  std::string group;
  std::vector<std::string> base;
  std::vector<std::string> fresh;
};

struct ChosenTargets {
  std::vector<AbTarget> both;
  std::vector<AbTarget> base_only;
  std::vector<AbTarget> fresh_only;
  std::vector<AbTarget> neither;
};

/// The request's targets, or what its filter finds. Pure. Errors: kInvalidArgument for a filter
/// that is no regular expression or that finds nothing; the nearest name is in the message.
[[nodiscard]] Result<ChosenTargets> select_targets(const AbRequest& request,
                                                   const std::vector<Listing>& listings);

/// The only group that a filter can find, where its beginning says so ("^?group/..."), else empty.
/// Pure.
[[nodiscard]] std::string group_of_filter(const std::string& filter);

}  // namespace plimsoll::compare
