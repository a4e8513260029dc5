#include "compare/ab/sides.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "compare/ab/command.hpp"

namespace plimsoll::compare {
namespace {

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

/// The full id of what `text` names in the repository. Errors: kRejected with git's own words.
Result<std::string> commit_of(const std::string& text, const std::filesystem::path& repository) {
  const HeldSignals signals;
  const auto id =
      output_of({"git", "rev-parse", "--verify", "--quiet", "--end-of-options", text + "^{commit}"},
                repository, signals);
  if (!id) return fail(id.error());
  return first_line(*id);
}

}  // namespace

std::vector<std::string> groups_in_tree(const std::filesystem::path& tree) {
  std::vector<std::string> groups;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(tree / "bin", ignored)) {
    const std::string file = entry.path().filename();
    const bool runnable = entry.is_regular_file(ignored) && access(entry.path().c_str(), X_OK) == 0;
    if (runnable && file.starts_with("bench_") && file != "bench_canary")
      groups.push_back(file.substr(6));
  }
  std::sort(groups.begin(), groups.end());
  return groups;
}

Result<AbSide> parse_side(const std::string& text, const std::filesystem::path& repository) {
  AbSide side;
  side.label = text;
  side.path = text;
  std::error_code ignored;
  if (std::filesystem::is_directory(side.path, ignored)) {
    if (!groups_in_tree(side.path).empty()) return side;
    return fail(
        Errc::kNotFound,
        fmt::format("{0} is a directory, but no build tree: {0}/bin holds no bench_<group>; "
                    "build one with: cmake --preset bench && cmake --build --preset bench",
                    text));
  }
  if (std::filesystem::exists(side.path, ignored)) {
    side.kind = AbSide::Kind::kBinary;
    // A path with a slash, so that nothing of the same name in PATH is taken.
    side.path = std::filesystem::absolute(side.path, ignored);
    if (std::filesystem::is_regular_file(side.path, ignored) &&
        access(side.path.c_str(), X_OK) == 0)
      return side;
    return fail(Errc::kNotFound, fmt::format("{} is not an executable file", text));
  }
  const auto commit = commit_of(text, repository);
  if (!commit && commit.error().code == Errc::kCancelled) return fail(commit.error());
  if (!commit) {
    return fail(
        Errc::kNotFound,
        fmt::format("'{}' is no file, no build tree, and no revision of the repository at {}", text,
                    std::filesystem::absolute(repository, ignored).string()));
  }
  side.kind = AbSide::Kind::kRevision;
  side.path.clear();
  side.commit = *commit;
  return side;
}

Result<BaseChoice> choose_base(const std::string& base_tree, const std::string& base_rev,
                               const std::string& baseline_commit,
                               const std::filesystem::path& repository) {
  for (const std::string& asked : {base_tree, base_rev}) {
    if (asked.empty()) continue;
    auto side = parse_side(asked, repository);
    if (!side) return fail(side.error());
    const bool is_revision = side->kind == AbSide::Kind::kRevision;
    if (is_revision != (base_tree.empty())) {
      return fail(Errc::kNotFound,
                  fmt::format("'{}' is {}", asked,
                              is_revision ? "a revision; give it as the base revision"
                                          : "a path; give it as the base tree"));
    }
    return BaseChoice{*side, fmt::format("the base that was asked for, {}", asked)};
  }
  if (baseline_commit.empty()) {
    return BaseChoice{
        std::nullopt,
        "the baseline does not say at which commit it was recorded, so that nothing can be "
        "re-run; name a base tree or revision"};
  }
  auto commit = commit_of(baseline_commit, repository);
  if (!commit && commit.error().code == Errc::kCancelled) return fail(commit.error());
  if (!commit) {
    return BaseChoice{
        std::nullopt,
        fmt::format("commit {:.12} of the baseline is not in this repository, so that nothing "
                    "can be re-run; name a base tree or revision",
                    baseline_commit)};
  }
  AbSide side;
  side.kind = AbSide::Kind::kRevision;
  side.commit = *commit;
  side.label = commit->substr(0, 12);
  return BaseChoice{side, fmt::format("the baseline's commit {:.12}", *commit)};
}

}  // namespace plimsoll::compare
