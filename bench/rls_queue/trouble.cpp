#include "bench/rls_queue/trouble.hpp"

#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "bench/harness/case.hpp"
#include "bench/rls_queue/audit.hpp"
#include "lib/core/with_timeout.hpp"

namespace plimsoll::bench {
namespace {

constexpr std::string_view kDivisionByZero = "22012";

}  // namespace

std::string Trouble::ddl(const std::string& schema) {
  return fmt::format(
      "CREATE FUNCTION {}.become(tenant text, is_local boolean) RETURNS text LANGUAGE sql AS "
      "$$ SELECT set_config('plimsoll.tenant', tenant, is_local) $$",
      schema);
}

Trouble::Trouble(const Stage& stage, std::size_t callers, load::SubjectThread& thread)
    : stage_(stage),
      thread_(thread),
      jobs_(stage.schema(), false),
      become_(fmt::format("SELECT {}.become($1, $2)", stage.schema())) {
  const Rng draw(seed());
  for (std::size_t caller = 0; caller < callers; ++caller) draws_.push_back(draw.fork(caller));
}

Result<std::unique_ptr<Trouble>> Trouble::make(const Stage& stage, std::size_t callers,
                                               std::size_t connections,
                                               load::SubjectThread& thread) {
  rls::Config config(stage.connection(), rls::Subject::kPool);
  config.connections = connections;
  config.depth = 4;
  std::unique_ptr<Trouble> trouble(new Trouble(stage, callers, thread));
  if (auto opened = thread.call(trouble->open(std::move(config))); !opened) {
    return fail(opened.error());
  }
  return trouble;
}

Trouble::~Trouble() { (void)thread_.call(close()); }

asio::awaitable<Result<void>> Trouble::open(rls::Config config) {
  auto queue = co_await rls::Queue::open(std::move(config));
  if (!queue) co_return fail(std::move(queue.error()));
  queue_ = std::move(*queue);
  co_return Result<void>{};
}

asio::awaitable<Result<void>> Trouble::close() {
  queue_.reset();
  co_return Result<void>{};
}

rls::Job Trouble::draw_job(Rng& draw, Act act, std::uint64_t caller) const {
  const auto tenants = static_cast<std::uint64_t>(stage_.shape().tenants);
  const std::uint64_t tenant = draw.below(tenants);
  rls::Job job = jobs_.look(tenant, caller);
  if (act == Act::kFail) job.statements.emplace_back(kFailingSql, pg::params(0));
  if (act == Act::kSleep) {
    job.statements.emplace_back("SELECT pg_sleep(0.05)");
    job.timeout = std::chrono::milliseconds(1 + draw.below(10));
  }
  if (act == Act::kBecome) {
    const auto other = std::to_string((tenant + 1 + draw.below(tenants - 1)) % tenants);
    job.statements.emplace(job.statements.begin(), become_,
                           pg::params(other, draw.below(2) == 0 ? "t" : "f"));
  }
  return job;
}

asio::awaitable<load::Outcome> Trouble::turn(load::OpContext context) {
  Rng& draw = draws_[context.caller % draws_.size()];
  const auto die = draw.below(100);
  const Act act = die < 72   ? Act::kLook
                  : die < 84 ? Act::kFail
                  : die < 87 ? Act::kSleep
                  : die < 95 ? Act::kCancel
                             : Act::kBecome;
  rls::Job job = draw_job(draw, act, context.caller);
  if (act == Act::kCancel) {
    const std::chrono::microseconds patience(draw.below(3000));
    auto ended = co_await with_timeout(queue_->run(std::move(job)), patience);
    co_return note(act, ended);
  }
  auto answers = co_await queue_->run(std::move(job));
  co_return note(act, std::move(answers));
}

load::Outcome Trouble::note(Act act, const std::optional<Result<rls::Answers>>& answers) {
  const load::Outcome as_meant{};
  if (answers && answers->has_value()) {
    counts_.impostors_accepted += act == Act::kBecome ? 1 : 0;
    return as_meant;
  }
  const bool is_cut_off = !answers || answers->error().code == Errc::kCancelled;
  const Error* const error = answers ? &answers->error() : nullptr;
  if (error != nullptr && error->code == Errc::kUnavailable) {
    ++counts_.lost;
    return as_meant;
  }
  const bool is_meant = (act == Act::kCancel && is_cut_off) ||
                        (act == Act::kFail && error->sqlstate == kDivisionByZero) ||
                        (act == Act::kSleep && error->code == Errc::kTimeout) ||
                        (act == Act::kBecome && error->code == Errc::kRefused);
  if (is_meant) {
    ++counts_.provoked;
    return as_meant;
  }
  ++counts_.unexpected;
  return error != nullptr ? load::outcome_of(*error)
                          : load::Outcome{load::Outcome::Kind::kFailed, 0, "cut off"};
}

Result<std::int64_t> Trouble::identities_left() {
  const auto answers = thread_.call(queue_->inspect(pg::Query(std::string(kIdentityLeft))));
  std::int64_t left = 0;
  for (const auto& rows : answers) {
    if (!rows && rows.error().code == Errc::kUnavailable) continue;
    if (!rows) return fail(rows.error());
    left += rows->text(0, 0) == "1" ? 1 : 0;
  }
  return left;
}

}  // namespace plimsoll::bench
