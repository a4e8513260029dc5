// Question: what do readers notice while every secret is moved to a new master key and the old one
//           is retired, and what does a process see that has only the old key?
// Method:   arm A: four readers on one thread, a connection each, read secrets of PostgreSQL in
//           this process, whose ring has the new key before anything is under it; beside them one
//           thread rotates again and again, and updates four secrets between its batches. After
//           the window they read on, unmeasured, until an old key has gone under their eyes. Arm
//           B: a process of its own with version 1 alone reads on while this one updates four
//           secrets and then rotates once. Plaintexts say whose they are and which version
//           (checks.hpp).
// Expect:   arm A not one failed, torn or wrong read, and a p99 of some ms; arm B the right secret
//           or "no master key version 2", never anything else.
#include <fmt/format.h>

#include <thread>

#include "bench/harness/metrics.hpp"
#include "bench/vault_crypto/foreign.hpp"
#include "bench/vault_crypto/rotation_readers.hpp"
#include "bench/vault_crypto/rotator.hpp"
#include "bench/vault_crypto/stage.hpp"
#include "lib/load/runner.hpp"
#include "lib/load/subject_thread.hpp"

namespace plimsoll::bench {
namespace {

using std::chrono::milliseconds;
load::Options options_of(const Case& c, const Stage& stage) {
  load::Options options;
  options.concurrency = Readers::kCount;
  options.fixed_operations = c.fixed_operations();
  options.warmup_floor = milliseconds{scaled(0, 150, 200)};
  options.warmup_cap = milliseconds{scaled(0, 400, 2000)};
  options.window = milliseconds{scaled(60, 800, 5000)};
  options.seed = seed();
  if (stage.server().postmaster_pid > 0) options.server_pids = {stage.server().postmaster_pid};
  return options;
}

void arm_a(Case& c, std::size_t secrets) {
  Stage stage(secrets);
  vault::checks::NonceLog nonces;
  stage.log_nonces(nonces);
  Rotator rotator(stage);
  Readers readers(stage, rotator.retirements());
  load::SubjectThread thread;
  must(thread.call(readers.connect()));
  const auto report = load::run(options_of(c, stage), thread.executor(),
                                [&](load::OpContext context) { return readers.turn(context); });
  if (!readers.see_a_retirement(thread, rotator) && readers.failed() == 0) {
    c.fail("wrong: no rotation ended while the readers were reading");
  }
  (void)thread.call(readers.disconnect());
  c.report(must(report));
  c.counter("rotation_ms", rotator.mean_ms());
  c.counter("rotations", static_cast<double>(rotator.rotations()));
  c.counter("reads_across_retirement", static_cast<double>(readers.met()));

  stage.log_nonces(nonces);
  c.invariant("failed_reads", readers.failed());
  c.invariant("torn_reads", readers.torn());
  c.invariant("silent_wrong_plaintexts", readers.wrong() + stage.wrong_plaintexts());
  c.invariant("nonce_repeats", nonces.repeats());
  c.invariant("secrets_left_behind", stage.left_behind());
  c.invariant("rewraps_unaccounted", stage.rewraps_unaccounted());
  c.invariant("updates_unaccounted", stage.updates_unaccounted(rotator.updates()));
}

void arm_b(Case& c, std::size_t secrets) {
  Stage stage(secrets);
  auto foreign = must(ForeignReader::start(stage.dsn(), seed(), secrets));
  Caller caller(stage.dsn());
  Changer changer(stage);
  for (int i = 0; i < scaled(40, 200, 1000); ++i) changer.update(caller);
  if (stage.rotate(caller) != secrets) c.fail("wrong: the rotation says it left secrets behind");
  std::this_thread::sleep_for(milliseconds{scaled(50, 200, 1000)});  // Now every read must fail.
  const auto counts = must(foreign.stop());
  c.counter("foreign_right", static_cast<double>(counts.right));
  c.counter("foreign_unknown_key", static_cast<double>(counts.unknown_key));
  c.invariant("secrets_left_behind", stage.left_behind());
  c.invariant("torn_reads", counts.torn);
  c.invariant("silent_wrong_plaintexts", counts.wrong + stage.wrong_plaintexts());
  c.invariant("other_errors", counts.others);
  c.invariant("refused_after_rotation", counts.unknown_key > 0 ? 1 : 0, 1);
}

}  // namespace

void register_rotation() {
  declare_metric({"rotation_ms", "ms", Better::kLower, MetricClass::kInfo});
  declare_metric({"rotations", "1", Better::kHigher, MetricClass::kInfo});
  declare_metric({"reads_across_retirement", "1", Better::kHigher, MetricClass::kInfo});
  declare_metric({"foreign_right", "1", Better::kHigher, MetricClass::kInfo});
  declare_metric({"foreign_unknown_key", "1", Better::kHigher, MetricClass::kInfo});
  const auto secrets = scaled<std::size_t>(50, 1000, 100000);
  // Two loads share two cores here: its latencies are for people, its invariants for the gate.
  load_case(fmt::format("vault_crypto/rotation/arm_a/secrets:{}", secrets),
            [secrets](Case& c) { arm_a(c, secrets); }, {Resource::kDb, false});
  work_case(fmt::format("vault_crypto/rotation/arm_b/secrets:{}", secrets),
            [secrets](Case& c) { arm_b(c, secrets); });
}

}  // namespace plimsoll::bench
