#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "compare/ab/process.hpp"
#include "lib/core/result.hpp"

namespace plimsoll::compare {

struct BuildOrder {
  std::filesystem::path repository;
  std::string commit;               ///< Full id.
  std::vector<std::string> groups;  ///< Of those that the commit has, bench_<group> is built.
};

/// Builds benchmark binaries of a commit with its own `bench` preset, in a worktree below
/// <cache>/builds/<commit>, and returns the build tree. What is there already is used; what was
/// left half-built is not: a group counts only once its mark is written, after its build succeeded.
/// Two builders of one commit wait for each other.
///
/// Errors: kUnavailable with the command and the last lines of its output, kCancelled.
[[nodiscard]] Result<std::filesystem::path> build_revision(
    const BuildOrder& order, const HeldSignals& signals,
    const std::function<void(const std::string&)>& say);

/// The groups that a commit has benchmarks of. Errors: kRejected.
[[nodiscard]] Result<std::vector<std::string>> groups_at(const std::filesystem::path& repository,
                                                         const std::string& commit,
                                                         const HeldSignals& signals);

}  // namespace plimsoll::compare
