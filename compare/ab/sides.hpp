#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lib/core/result.hpp"

namespace plimsoll::compare {

/// One side of an A/B.
struct AbSide {
  enum class Kind {
    kBinary,    ///< One benchmark binary, ours or anybody's who uses Google Benchmark.
    kTree,      ///< A build tree: its bin/ holds bench_<group>.
    kRevision,  ///< A commit of the repository, built when needed.
  };
  Kind kind = Kind::kTree;
  std::filesystem::path path;  ///< Of the binary or the tree.
  std::string commit;          ///< Full id, for a revision.
  std::string label;           ///< As given.
  std::map<std::string, std::string>
      environment;  ///< Set for this side's processes only: two infrastructures.
};

/// What `text` names: an executable file, a build tree, or a revision of `repository`, looked for
/// in this order. Errors: kNotFound, with everything that was tried.
[[nodiscard]] Result<AbSide> parse_side(const std::string& text,
                                        const std::filesystem::path& repository);

/// The groups whose binaries lie in a build tree, sorted; bench_canary is none.
[[nodiscard]] std::vector<std::string> groups_in_tree(const std::filesystem::path& tree);

/// What a check has to re-run its suspects against.
struct BaseChoice {
  std::optional<AbSide> side;
  std::string reason;  ///< Why this one, or why nothing can be re-run.
};

/// The base of a check: the tree or the revision asked for, else the commit at which the baseline
/// was recorded if `repository` has it, else nothing. Errors: kNotFound when what was asked for
/// does not exist.
[[nodiscard]] Result<BaseChoice> choose_base(const std::string& base_tree,
                                             const std::string& base_rev,
                                             const std::string& baseline_commit,
                                             const std::filesystem::path& repository);

}  // namespace plimsoll::compare
