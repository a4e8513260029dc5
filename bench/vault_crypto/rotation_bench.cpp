// Question: what do readers notice while every secret is moved to a new master key and the old one
// is
//           retired, and what does a process see that has only the old key?
// Method:   arm A: four readers on one thread, a connection each, read secrets of PostgreSQL in
// this
//           process, whose ring has the new key before anything is under it; beside them one thread
//           rotates again and again. Arm B: a process of its own with version 1 alone reads on
//           while this one rotates once. Plaintexts say whose they are and which version
//           (checks.hpp).
// Expect:   arm A not one failed, torn or wrong read, and a p99 of some ms; arm B the right secret
// or
//           "no master key version 2", never anything else.
#include <fmt/format.h>

#include <atomic>
#include <exception>
#include <thread>

#include "bench/harness/metrics.hpp"
#include "bench/vault_crypto/foreign.hpp"
#include "bench/vault_crypto/material.hpp"
#include "bench/vault_crypto/stage.hpp"
#include "lib/core/clock.hpp"
#include "lib/core/rng.hpp"
#include "lib/load/runner.hpp"
#include "lib/load/subject_thread.hpp"

namespace plimsoll::bench {
namespace {

using std::chrono::milliseconds;
constexpr std::size_t kReaders = 4;

/// Rotates until it is told to stop, at least once.
class Rotator {
 public:
  explicit Rotator(Stage& stage) : thread_([this, &stage] { work(stage); }) {}
  ~Rotator() {
    stopping_ = true;
    if (thread_.joinable()) thread_.join();
  }
  /// Throws what ended it before.
  void stop() {
    stopping_ = true;
    thread_.join();
    if (failure_) std::rethrow_exception(failure_);
  }
  [[nodiscard]] std::int64_t rotations() const { return rotations_; }
  [[nodiscard]] double mean_ms() const {
    return std::chrono::duration<double, std::milli>(spent_).count() /
           static_cast<double>(rotations_);
  }

 private:
  void work(Stage& stage) {
    try {
      Caller caller(stage.dsn());
      do {
        const TimePoint begin = Clock::now();
        if (stage.rotate(caller) != stage.secrets()) {
          throw std::runtime_error("wrong: a rotation left secrets behind");
        }
        spent_ += Clock::now() - begin;
        ++rotations_;
      } while (!stopping_);
    } catch (...) {
      failure_ = std::current_exception();
    }
  }

  std::atomic<bool> stopping_{false};
  std::int64_t rotations_ = 0;  // These three: read after stop().
  Nanoseconds spent_{0};
  std::exception_ptr failure_;
  std::thread thread_;
};

/// The readers of arm A. All members on the subject's thread while it runs.
struct Readers {
  explicit Readers(Stage& stage) : secrets(stage.secrets()), dsn(stage.dsn()) {
    const Rng draw(seed());
    for (std::size_t i = 0; i < kReaders; ++i) {
      draws.push_back(draw.fork(i));
      outs.emplace_back(kSecretBytes);
      stores.push_back(
          must(vault::SecretStore::create(stage.ring(), false, vault::LockPolicy::kBestEffort)));
    }
  }

  asio::awaitable<Result<void>> connect() {
    for (std::size_t i = 0; i < kReaders; ++i) {
      pg::Config config;
      config.dsn = dsn;
      Result<std::unique_ptr<pg::Connection>> made =
          co_await pg::Connection::connect(std::move(config));
      if (!made) co_return fail(made.error());
      connections.push_back(std::move(*made));
    }
    co_return Result<void>{};
  }
  asio::awaitable<Result<void>> disconnect() {
    connections.clear();
    co_return Result<void>{};
  }
  asio::awaitable<load::Outcome> turn(load::OpContext context) {
    const std::size_t i = context.caller % kReaders;
    vault::SecretName name = secret_name(draws[i].below(secrets));
    Result<vault::SecretStore::Read> read =
        co_await stores[i].read(*connections[i], "bench", name, outs[i]);
    if (!read) {
      ++failed;
      co_return load::Outcome{load::Outcome::Kind::kFailed, 0, read.error().message};
    }
    const auto seen = vault::checks::inspect(name.path, outs[i]);
    using Kind = vault::checks::Reading::Kind;
    torn += seen.kind == Kind::kTorn ? 1 : 0;
    wrong += seen.kind == Kind::kWrong ? 1 : 0;
    co_return load::Outcome{};
  }

  std::size_t secrets;
  std::string dsn;
  std::vector<Rng> draws;
  std::vector<Buffer> outs;
  std::vector<vault::SecretStore> stores;
  std::vector<std::unique_ptr<pg::Connection>> connections;
  std::int64_t failed = 0, torn = 0, wrong = 0;
};

void arm_a(Case& c, std::size_t secrets) {
  Stage stage(secrets);
  Readers readers(stage);
  vault::checks::NonceLog nonces;
  stage.log_nonces(nonces);
  load::SubjectThread thread;
  must(thread.call(readers.connect()));
  load::Options options;
  options.concurrency = kReaders;
  options.fixed_operations = c.fixed_operations();
  options.warmup_floor = milliseconds{scaled(0, 150, 200)};
  options.warmup_cap = milliseconds{scaled(0, 400, 2000)};
  options.window = milliseconds{scaled(60, 800, 5000)};
  options.seed = seed();
  if (stage.server().postmaster_pid > 0) options.server_pids = {stage.server().postmaster_pid};

  Rotator rotator(stage);
  const auto report = load::run(options, thread.executor(),
                                [&](load::OpContext context) { return readers.turn(context); });
  rotator.stop();
  (void)thread.call(readers.disconnect());
  c.report(must(report));
  c.counter("rotation_ms", rotator.mean_ms());
  c.counter("rotations", static_cast<double>(rotator.rotations()));

  stage.log_nonces(nonces);
  c.invariant("failed_reads", readers.failed);
  c.invariant("torn_reads", readers.torn);
  c.invariant("silent_wrong_plaintexts", readers.wrong + stage.wrong_plaintexts());
  c.invariant("nonce_repeats", nonces.repeats());
  c.invariant("secrets_left_behind",
              stage.number(fmt::format("SELECT count(*) FROM vault_secrets WHERE master_version "
                                       "IS DISTINCT FROM {}",
                                       stage.ring().hold()->current)));
  c.invariant("rewraps_unaccounted",
              stage.number("SELECT count(*) FROM vault_audit WHERE action = 'rewrap'") -
                  rotator.rotations() * static_cast<std::int64_t>(secrets));
}

void arm_b(Case& c, std::size_t secrets) {
  Stage stage(secrets);
  auto foreign = must(ForeignReader::start(stage.dsn(), seed(), secrets));
  Caller caller(stage.dsn());
  const auto rewrapped = stage.rotate(caller);
  std::this_thread::sleep_for(milliseconds{scaled(50, 200, 1000)});  // Now every read must fail.
  const auto counts = must(foreign.stop());
  c.counter("foreign_right", static_cast<double>(counts.right));
  c.counter("foreign_unknown_key", static_cast<double>(counts.unknown_key));
  c.invariant("secrets_left_behind", static_cast<std::int64_t>(secrets - rewrapped));
  c.invariant("torn_reads", counts.torn);
  c.invariant("silent_wrong_plaintexts", counts.wrong + stage.wrong_plaintexts());
  c.invariant("other_errors", counts.others);
  c.invariant("refused_after_rotation", counts.unknown_key > 0 ? 1 : 0, 1);
}

}  // namespace

void register_rotation() {
  declare_metric({"rotation_ms", "ms", Better::kLower, MetricClass::kInfo});
  declare_metric({"rotations", "1", Better::kHigher, MetricClass::kInfo});
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
