#include "bench/rls_queue/crew.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <memory>
#include <string>
#include <utility>

#include "bench/rls_queue/audit.hpp"
#include "lib/core/with_timeout.hpp"

namespace plimsoll::bench {
namespace {

using Kind = load::Outcome::Kind;

load::Outcome wrong(std::string why) { return {Kind::kFailed, 0, std::move(why)}; }

}  // namespace

Crew::Crew(const Stage& stage, const Duty& duty, load::SubjectThread& thread)
    : stage_(stage),
      duty_(duty),
      thread_(thread),
      jobs_(stage.schema(), duty.with_actor),
      sent_(duty.callers) {
  const Rng draw(seed());
  for (std::size_t caller = 0; caller < duty.callers; ++caller) draws_.push_back(draw.fork(caller));
}

Result<std::unique_ptr<Crew>> Crew::hire(const Stage& stage, const Duty& duty,
                                         load::SubjectThread& thread) {
  rls::Config config(stage.connection(), duty.subject);
  config.connections = duty.connections;
  config.settings.with_actor = duty.with_actor;
  std::unique_ptr<Crew> crew(new Crew(stage, duty, thread));
  if (auto opened = thread.call(crew->open(std::move(config))); !opened) {
    return plimsoll::fail(opened.error());
  }
  return crew;
}

Crew::~Crew() { (void)thread_.call(close()); }

asio::awaitable<Result<void>> Crew::open(rls::Config config) {
  auto queue = co_await rls::Queue::open(std::move(config));
  if (!queue) co_return plimsoll::fail(std::move(queue.error()));
  queue_ = std::move(*queue);
  co_return Result<void>{};
}

asio::awaitable<Result<void>> Crew::close() {
  queue_.reset();
  co_return Result<void>{};
}

std::uint64_t Crew::draw_note(std::uint64_t caller) {
  return 1 + draws_[caller].below(static_cast<std::uint64_t>(stage_.shape().each));
}

asio::awaitable<load::Outcome> Crew::turn(load::OpContext context) {
  const std::size_t caller = context.caller % duty_.callers;
  const auto tenant = draws_[caller].below(static_cast<std::uint64_t>(stage_.shape().tenants));
  using Act = Duty::Act;
  ++counts_.jobs;
  switch (duty_.act) {
    case Act::kRead:
      return read(tenant, caller);
    case Act::kWrite:
      return write(tenant, caller);
    case Act::kMixed:
      return draws_[caller].below(5) == 0 ? write(tenant, caller) : read(tenant, caller);
    case Act::kFailTenth:
      return context.sequence % 10 == 0 ? fail(tenant, caller) : read(tenant, caller);
    case Act::kBurst:
      return burst(caller);
    case Act::kSmallAndBig:
      return small_or_big(caller);
  }
  return read(tenant, caller);
}

asio::awaitable<load::Outcome> Crew::read(std::uint64_t tenant, std::uint64_t caller) {
  auto job = jobs_.read(tenant, draw_note(caller), caller);
  auto answers = co_await queue_->run(std::move(job));
  if (!answers) co_return load::outcome_of(answers.error());
  counts_.foreign_rows += foreign_rows(*answers, tenant);
  if (answers->front().size() == 1) co_return load::Outcome{};
  ++counts_.wrong_answers;
  co_return wrong("not one row");
}

asio::awaitable<load::Outcome> Crew::write(std::uint64_t tenant, std::uint64_t caller) {
  auto job = jobs_.write(tenant, draw_note(caller), caller);
  auto answers = co_await queue_->run(std::move(job));
  if (!answers) co_return load::outcome_of(answers.error());
  counts_.foreign_rows += foreign_rows(*answers, tenant);
  counts_.written += answers->front().affected();
  if (answers->front().affected() == 1) co_return load::Outcome{};
  ++counts_.wrong_answers;
  co_return wrong("not one row");
}

// The job fails as it should, so the operation is a success.
asio::awaitable<load::Outcome> Crew::fail(std::uint64_t tenant, std::uint64_t caller) {
  auto job = jobs_.fail(tenant, caller);
  auto answers = co_await queue_->run(std::move(job));
  if (answers) {
    ++counts_.wrong_answers;
    co_return wrong("a job that divides by zero succeeded");
  }
  if (answers.error().sqlstate == "22012") co_return load::Outcome{};
  co_return load::outcome_of(answers.error());
}

asio::awaitable<load::Outcome> Crew::burst(std::uint64_t caller) {
  struct Rest {
    asio::steady_timer done;
    std::size_t left = kBurst;
    std::uint64_t logged = 0;
    load::Outcome outcome{Kind::kOk, kBurst, {}};
  };
  const auto executor = co_await asio::this_coro::executor;
  auto rest = std::make_shared<Rest>(
      Rest{asio::steady_timer(executor, asio::steady_timer::time_point::max())});
  const auto count = [rest](const std::exception_ptr& thrown, const Result<rls::Answers>& answers) {
    if (thrown) rest->outcome = wrong("exception");
    if (!thrown && !answers) rest->outcome = load::outcome_of(answers.error());
    rest->logged += !thrown && answers ? 1 : 0;
    if (--rest->left == 0) rest->done.cancel();
  };
  // Always the same tenant of a caller's, so that there is an order to keep.
  const auto tenant = caller % static_cast<std::uint64_t>(stage_.shape().tenants);
  for (std::size_t i = 0; i < kBurst; ++i) {
    auto job = jobs_.log(tenant, caller, ++sent_[caller]);
    asio::co_spawn(executor, queue_->run(std::move(job)), count);
  }
  if (rest->left > 0) co_await rest->done.async_wait(kAsValue);
  counts_.logged += rest->logged;
  co_return rest->outcome;
}

asio::awaitable<load::Outcome> Crew::small_or_big(std::uint64_t caller) {
  if (caller > 0) {
    auto outcome = co_await read(1, caller);
    co_return outcome;
  }
  const auto begin = Clock::now();
  auto outcome = co_await read(0, caller);
  counts_.small_time += Clock::now() - begin;
  ++counts_.small_jobs;
  co_return outcome;
}

asio::awaitable<Result<void>> Crew::look_each() {
  for (int tenant = 0; tenant < stage_.shape().tenants; ++tenant) {
    auto job = jobs_.look(static_cast<std::uint64_t>(tenant), 0);
    auto answers = co_await queue_->run(std::move(job));
    if (!answers) co_return plimsoll::fail(std::move(answers.error()));
  }
  co_return Result<void>{};
}

Result<void> Crew::look_around() { return thread_.call(look_each()); }

Result<std::int64_t> Crew::identities_left() {
  const auto answers = thread_.call(queue_->inspect(pg::Query(std::string(kIdentityLeft))));
  std::int64_t left = 0;
  for (const auto& rows : answers) {
    if (!rows) return plimsoll::fail(rows.error());
    left += rows->text(0, 0) == "1" ? 1 : 0;
  }
  if (!duty_.pooled) return left;
  const auto behind = stage_.identities_behind_pooler(duty_.connections);
  if (!behind) return plimsoll::fail(behind.error());
  return left + *behind;
}

}  // namespace plimsoll::bench
