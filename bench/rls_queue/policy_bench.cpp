// Question: what does row-level security itself cost, by the number of policies, and what does it
//           cost to read the identity once a row?
// Method:   one caller, pipelined; count(*) and max() over one tenant's 500 notes, which are all
//           that the table holds, so that every case reads the same rows. policies:off has no
//           row-level security. scan_bare has a policy without its sub-select.
// Expect:   the first policy costs some us for planning nothing and reading one setting; each
//           further one a comparison a row. Bare, the setting is read 500 times: about 100 us.
#include <fmt/format.h>

#include <map>
#include <memory>
#include <string>

#include "bench/harness/case.hpp"
#include "bench/rls_queue/caller.hpp"
#include "bench/rls_queue/cases.hpp"
#include "bench/rls_queue/jobs.hpp"

namespace plimsoll::bench {
namespace {

constexpr int kNotes = 500;

struct Scan {
  std::unique_ptr<Stage> stage;
  std::unique_ptr<Caller> caller;
  std::unique_ptr<Jobs> jobs;
};

Result<std::unique_ptr<Scan>> make_scan(const rls::Protection& protection) {
  auto scan = std::make_unique<Scan>();
  auto stage = make_stage("policy", Shape{1, kNotes, protection});
  if (!stage) return fail(stage.error());
  scan->stage = std::move(*stage);
  auto caller = Caller::open(*scan->stage, rls::Subject::kPipelined, false);
  if (!caller) return fail(caller.error());
  scan->caller = std::move(*caller);
  scan->jobs = std::make_unique<Jobs>(scan->stage->schema(), false);
  return scan;
}

/// Once a process for each case, as in solo_bench.cpp.
Result<Scan*> scan_of(const std::string& name, const rls::Protection& protection) {
  static std::map<std::string, std::unique_ptr<Scan>> all;
  auto& scan = all[name];
  if (!scan) {
    auto made = make_scan(protection);
    if (!made) return fail(made.error());
    scan = std::move(*made);
  }
  return scan.get();
}

void run_scan(Case& c, const rls::Protection& protection) {
  const auto scan = scan_of(c.name(), protection);
  if (!scan) return c.fail(scan.error());
  // Without a policy nobody is let in.
  const bool lets_in = !protection.enabled || protection.policies > 0;
  const std::string expected = std::to_string(lets_in ? kNotes : 0);
  Caller& caller = *(*scan)->caller;
  std::int64_t wrong = 0;
  for (auto _ : c.state()) {
    const auto answers = caller.run(caller.queue().run((*scan)->jobs->scan(0)));
    if (!answers) {
      c.fail(answers.error());
      break;
    }
    wrong += answers->front().text(0, 0) == expected ? 0 : 1;
  }
  if (!c.failed()) c.invariant("wrong_answers", wrong);
}

void add(const std::string& name, const rls::Protection& protection) {
  cpu_case(fmt::format("{}/rls/{}", kGroup, name),
           [protection](Case& c) { run_scan(c, protection); }, {Resource::kDb, true});
}

}  // namespace

void register_policy_cases() {
  add("scan/policies:1", {true, true, 1, true});
  if (size() == Size::kSmoke) return;
  add("scan/policies:off", {false, false, 0, true});
  add("scan/policies:0", {true, true, 0, true});
  add("scan/policies:10", {true, true, 10, true});
  add("scan/policies:50", {true, true, 50, true});
  add("scan_bare/policies:1", {true, true, 1, false});
}

}  // namespace plimsoll::bench
