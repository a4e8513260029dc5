#include "compare/ab/build.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <system_error>

#include "compare/ab/command.hpp"

namespace plimsoll::compare {
namespace {

constexpr std::size_t kQuotedLines = 20;

class Builder {
 public:
  Builder(const BuildOrder& order, std::filesystem::path home, const HeldSignals& signals)
      : order_(order), home_(std::move(home)), signals_(signals) {}

  [[nodiscard]] std::filesystem::path source() const { return home_ / "source"; }
  [[nodiscard]] std::filesystem::path tree() const { return source() / "build" / "bench"; }

  [[nodiscard]] bool has(const std::string& group) const {
    return std::filesystem::exists(mark_of("built-" + group)) &&
           std::filesystem::exists(tree() / "bin" / ("bench_" + group));
  }

  /// The worktree, checked out anew unless an earlier check-out came to its end.
  Result<void> check_out() {
    if (std::filesystem::exists(mark_of("checked-out"))) return {};
    std::error_code error;
    std::filesystem::remove_all(source(), error);
    std::filesystem::create_directories(home_, error);
    const std::string repository = order_.repository.string();
    // A worktree whose folder is gone stays registered and would be in the way.
    if (auto ran = run({"git", "-C", repository, "worktree", "prune"}); !ran) return ran;
    if (auto ran = run({"git", "-C", repository, "worktree", "add", "--quiet", "--detach",
                        "--force", source().string(), order_.commit});
        !ran) {
      return ran;
    }
    return mark("checked-out");
  }

  Result<void> build(const std::vector<std::string>& groups) {
    if (auto ran = run({"cmake", "--preset", "bench"}); !ran) return ran;
    std::vector<std::string> command{"cmake", "--build", "--preset", "bench", "--target"};
    for (const std::string& group : groups) command.push_back("bench_" + group);
    if (auto ran = run(command); !ran) return ran;
    for (const std::string& group : groups) {
      if (auto marked = mark("built-" + group); !marked) return marked;
    }
    return {};
  }

 private:
  [[nodiscard]] std::filesystem::path mark_of(const std::string& what) const {
    return home_ / what;
  }

  Result<void> mark(const std::string& what) {
    std::ofstream file(mark_of(what));
    file << order_.commit << '\n';
    if (!file.flush()) return fail(Errc::kInternal, "cannot write " + mark_of(what).string());
    return {};
  }

  Result<void> run(const std::vector<std::string>& argv) {
    ProcessSpec spec;
    spec.argv = argv;
    spec.environment = environment_with({});
    if (argv[0] != "git") spec.directory = source();
    spec.output = spec.errors = home_ / "log";
    const auto end = run_process(spec, signals_);
    if (!end) return fail(end.error());
    if (end->ok()) return {};
    return fail(Errc::kUnavailable,
                fmt::format("building {:.12}: `{}` ended with {}; the end of {}:\n{}",
                            order_.commit, fmt::join(argv, " "), end->describe(),
                            spec.output.string(), tail_of(spec.output, kQuotedLines)));
  }

  const BuildOrder& order_;
  std::filesystem::path home_;
  const HeldSignals& signals_;
};

}  // namespace

Result<std::vector<std::string>> groups_at(const std::filesystem::path& repository,
                                           const std::string& commit, const HeldSignals& signals) {
  const auto listed =
      output_of({"git", "ls-tree", "-r", "--full-tree", "--name-only", commit, "bench/"},
                repository, signals);
  if (!listed) return fail(listed.error());
  std::vector<std::string> groups;
  std::istringstream lines(*listed);
  const std::string suffix = "/CMakeLists.txt";
  for (std::string line; std::getline(lines, line);) {
    if (!line.ends_with(suffix)) continue;
    const auto folder = std::filesystem::path(line).parent_path();
    if (folder.parent_path() == "bench" && folder.filename() != "harness")
      groups.push_back(folder.filename());
  }
  return groups;
}

Result<std::filesystem::path> build_revision(const BuildOrder& order, const HeldSignals& signals,
                                             const std::function<void(const std::string&)>& say) {
  const auto cache = cache_root();
  if (!cache) return fail(cache.error());
  const auto builds = *cache / "builds";
  const auto lock = FileLock::acquire(builds / (order.commit + ".lock"), signals, [&] {
    if (say) say(fmt::format("waiting for another build of {:.12}", order.commit));
  });
  if (!lock) return fail(lock.error());

  Builder builder(order, builds / order.commit, signals);
  if (auto ready = builder.check_out(); !ready) return fail(ready.error());
  const auto existing = groups_at(order.repository, order.commit, signals);
  if (!existing) return fail(existing.error());
  std::vector<std::string> missing;
  for (const std::string& group : order.groups) {
    const bool exists = std::find(existing->begin(), existing->end(), group) != existing->end();
    if (exists && !builder.has(group)) missing.push_back(group);
  }
  if (missing.empty()) return builder.tree();
  if (say)
    say(fmt::format("building {} of {:.12} in {}", fmt::join(missing, ", "), order.commit,
                    builder.source().string()));
  if (auto built = builder.build(missing); !built) return fail(built.error());
  return builder.tree();
}

}  // namespace plimsoll::compare
