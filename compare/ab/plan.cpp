#include "compare/ab/plan.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <regex>
#include <set>

#include "compare/ab/build.hpp"
#include "compare/ab/sides.hpp"
#include "lib/core/nearest.hpp"

namespace plimsoll::compare {
namespace {

using Kind = AbSide::Kind;

std::string group_of_name(const std::string& benchmark) {
  return benchmark.substr(0, benchmark.find('/'));
}

std::string group_of(const AbTarget& target) {
  return target.group.empty() ? group_of_name(target.benchmark) : target.group;
}

bool has(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

/// The groups that a side could measure.
Result<std::vector<std::string>> groups_of(const AbSide& side, const AbRequest& request,
                                           const HeldSignals& signals) {
  if (side.kind == Kind::kTree) return groups_in_tree(side.path);
  if (side.kind == Kind::kRevision) return groups_at(request.repository, side.commit, signals);
  const std::string file = side.path.filename();
  if (file.starts_with("bench_")) return std::vector{file.substr(6)};
  return fail(
      Errc::kInvalidArgument,
      fmt::format(
          "{} is not named bench_<group>, so that nothing in a build tree or revision is its pair; "
          "give two binaries",
          side.path.string()));
}

/// The groups that are asked for; empty for all.
std::vector<std::string> wanted_groups(const AbRequest& request) {
  std::set<std::string> wanted;
  for (const AbTarget& target : request.targets) wanted.insert(group_of(target));
  if (const std::string one = group_of_filter(request.filter);
      request.targets.empty() && !one.empty()) {
    wanted.insert(one);
  }
  return {wanted.begin(), wanted.end()};
}

/// Where the binaries of a side lie; builds a revision.
Result<std::filesystem::path> tree_of(const AbSide& side, const std::vector<std::string>& groups,
                                      const AbRequest& request, const HeldSignals& signals) {
  if (side.kind != Kind::kRevision) return side.path;
  return build_revision({request.repository, side.commit, groups}, signals, request.say);
}

std::filesystem::path binary_in(const AbSide& side, const std::filesystem::path& tree,
                                const std::string& group) {
  return side.kind == Kind::kBinary ? tree : tree / "bin" / ("bench_" + group);
}

/// What a side has of the groups that are asked for.
std::vector<std::string> those_wanted(const std::vector<std::string>& groups,
                                      const std::vector<std::string>& wanted) {
  if (wanted.empty()) return groups;
  std::vector<std::string> kept;
  std::copy_if(groups.begin(), groups.end(), std::back_inserter(kept),
               [&](const std::string& group) { return has(wanted, group); });
  return kept;
}

Result<std::vector<std::string>> common_groups(const AbRequest& request, const HeldSignals& signals,
                                               AbPlan& plan) {
  const auto base = groups_of(request.base, request, signals);
  if (!base) return fail(base.error());
  const auto fresh = groups_of(request.fresh, request, signals);
  if (!fresh) return fail(fresh.error());
  const auto wanted = wanted_groups(request);
  for (const std::string& group : wanted) {
    if (has(*base, group) || has(*fresh, group)) continue;
    const auto near = nearest(group, *base);
    return fail(Errc::kInvalidArgument, fmt::format("neither side has a group {}{}", group,
                                                    near ? "; the nearest is " + *near : ""));
  }
  for (const AbTarget& target : request.targets) {
    if (!has(*base, group_of(target)) || !has(*fresh, group_of(target)))
      plan.missing.push_back(target);
  }
  std::vector<std::string> common;
  for (const std::string& group : those_wanted(*base, wanted)) {
    if (has(*fresh, group)) common.push_back(group);
    if (!has(*fresh, group))
      plan.notes.push_back(fmt::format("group {}: only {} has it", group, request.base.label));
  }
  if (!common.empty() || !plan.missing.empty()) return common;
  return fail(
      Errc::kInvalidArgument,
      fmt::format("the sides have no group in common: {} has [{}], {} has [{}]", request.base.label,
                  fmt::join(*base, ", "), request.fresh.label, fmt::join(*fresh, ", ")));
}

}  // namespace

std::string group_of_filter(const std::string& filter) {
  std::size_t at = filter.starts_with('^') ? 1 : 0;
  // Without the anchor, "x/seal" could be the middle of a name; group names hold no slash.
  if (at == 0) return "";
  std::string group;
  for (; at < filter.size(); ++at) {
    const char c = filter[at];
    if (c == '/') return filter.find('|') == std::string::npos ? group : "";
    const bool literal = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
    if (!literal) return "";
    group += c;
  }
  return "";
}

Result<AbPlan> plan_ab(const AbRequest& request, const HeldSignals& signals) {
  AbPlan plan;
  if (request.base.kind == Kind::kBinary && request.fresh.kind == Kind::kBinary) {
    plan.groups.push_back({"", request.base.path, request.fresh.path});
    return plan;
  }
  const auto groups = common_groups(request, signals, plan);
  if (!groups) return fail(groups.error());
  if (groups->empty()) return plan;
  const auto base = tree_of(request.base, *groups, request, signals);
  if (!base) return fail(base.error());
  const auto fresh = tree_of(request.fresh, *groups, request, signals);
  if (!fresh) return fail(fresh.error());
  for (const std::string& group : *groups) {
    plan.groups.push_back(
        {group, binary_in(request.base, *base, group), binary_in(request.fresh, *fresh, group)});
  }
  return plan;
}

Result<ChosenTargets> select_targets(const AbRequest& request,
                                     const std::vector<Listing>& listings) {
  std::regex filter;
  try {
    filter = std::regex(request.filter, std::regex::extended);
  } catch (const std::regex_error& error) {
    return fail(Errc::kInvalidArgument,
                fmt::format("'{}' is not an extended regular expression: {}", request.filter,
                            error.what()));
  }
  std::vector<std::string> names;
  ChosenTargets chosen;
  std::vector<std::string> found;
  for (const Listing& listing : listings) {
    std::set<std::string> all(listing.base.begin(), listing.base.end());
    all.insert(listing.fresh.begin(), listing.fresh.end());
    for (const std::string& name : all) {
      names.push_back(name);
      const auto is_name = [&](const AbTarget& target) { return target.benchmark == name; };
      const bool wanted = request.targets.empty() ? std::regex_search(name, filter)
                                                  : std::any_of(request.targets.begin(),
                                                                request.targets.end(), is_name);
      if (!wanted) continue;
      found.push_back(name);
      const bool in_base = has(listing.base, name);
      auto& list = !in_base                   ? chosen.fresh_only
                   : has(listing.fresh, name) ? chosen.both
                                              : chosen.base_only;
      list.push_back({listing.group, name});
    }
  }
  std::copy_if(request.targets.begin(), request.targets.end(), std::back_inserter(chosen.neither),
               [&](const AbTarget& target) { return !has(found, target.benchmark); });
  if (!found.empty() || !request.targets.empty()) return chosen;
  const auto near = nearest(request.filter, names);
  return fail(Errc::kInvalidArgument,
              fmt::format("'{}' finds none of the {} benchmarks{}", request.filter, names.size(),
                          near ? fmt::format("; the nearest is {}", *near) : ""));
}

}  // namespace plimsoll::compare
