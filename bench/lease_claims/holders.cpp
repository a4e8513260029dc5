#include "bench/lease_claims/holders.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <utility>

namespace plimsoll::bench {

Holders::Holders(const Stage& stage, Plan plan) : plan_(plan) {
  program_.program = program_beside_us("plimsoll-lease-claims");
  program_.arguments = {"hold"};
  program_.input =
      fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n{}\n", stage.dsn(), stage.schema(), stage.rows().tenants,
                  plan.ttl.count(), lease::name(plan.subject), plan.batch, ::getpid());
}

Result<std::unique_ptr<Holders>> Holders::start(const Stage& stage, Plan plan) {
  std::unique_ptr<Holders> holders(new Holders(stage, plan));
  for (std::size_t i = 0; i < plan.count; ++i) {
    auto holder = HelperProcess::start(holders->program_);
    if (!holder) return fail(holder.error());
    holders->holders_.push_back(std::move(*holder));
  }
  holders->ruler_ = std::thread([&self = *holders] { self.rule(); });
  return holders;
}

Holders::~Holders() { (void)stop(); }

bool Holders::wait(std::chrono::milliseconds time) const {
  const TimePoint until = Clock::now() + time;
  while (!stopping_ && Clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds{5});
  }
  return !stopping_;
}

bool Holders::freeze(const HelperProcess& holder) const {
  holder.signal(SIGSTOP);
  const bool whole = wait(plan_.ttl * 2);
  holder.signal(SIGCONT);
  return whole;
}

void Holders::rule() {
  for (std::size_t turn = 0; wait(plan_.pause); ++turn) {
    HelperProcess& holder = holders_[turn % holders_.size()];
    if (const auto status = holder.ended()) {
      failure_ = fmt::format("a holder ended by itself, status {}", *status);
      return;
    }
    if (plan_.fate == Fate::kFrozen) {
      if (!freeze(holder)) return;
    } else {
      holder.kill();
      auto next = HelperProcess::start(program_);
      if (!next) {
        failure_ = next.error().message;
        return;
      }
      holder = std::move(*next);
    }
    ++fates_;
  }
}

Result<std::uint64_t> Holders::stop() {
  stopping_ = true;
  if (ruler_.joinable()) ruler_.join();
  holders_.clear();
  if (!failure_.empty()) return fail(Errc::kInternal, failure_);
  return fates_;
}

}  // namespace plimsoll::bench
