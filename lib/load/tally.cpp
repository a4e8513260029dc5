#include "lib/load/tally.hpp"

#include <algorithm>
#include <cassert>
#include <chrono>

namespace plimsoll::load {

void Tally::open_window(TimePoint begin, TimePoint end) {
  assert(begin_ == TimePoint::max() && begin < end);
  begin_ = begin;
  end_ = end;
}

std::int64_t Tally::inside(TimePoint when) const noexcept {
  if (when <= begin_) return 0;
  return (std::min(when, end_) - begin_).count();
}

bool Tally::plan(TimePoint planned) {
  const bool measured = planned >= begin_;
  if (!frozen_) ++ledger(measured).planned;
  return measured;
}

void Tally::skip(bool measured) {
  if (!frozen_) ++ledger(measured).skipped;
}

Flight Tally::start(TimePoint planned, TimePoint now, bool measured) {
  const Flight flight{sequence_++, planned, now, measured};
  if (frozen_) return flight;
  ++(measured ? open_window_ops_ : open_warmup_ops_);
  Ledger& books = ledger(measured);
  ++books.started;
  in_flight_ns_ -= inside(now);
  if (mode_ == Mode::kClosed) return flight;
  const Nanoseconds lag = now - planned;
  if (lag > late_limit_) ++books.late;
  if (measured) lag_.record(lag);
  return flight;
}

void Tally::finish(const Flight& flight, const Outcome& outcome, TimePoint now) {
  if (frozen_) return;
  --(flight.measured ? open_window_ops_ : open_warmup_ops_);
  ++ended_;
  last_end_ = std::max(last_end_, now);
  in_flight_ns_ += inside(now);
  Ledger& books = ledger(flight.measured);
  switch (outcome.kind) {
    case Outcome::Kind::kOk:
      ++books.ok;
      if (now >= begin_ && now <= end_) {
        ++completed_;
        items_ += outcome.items;
      }
      break;
    case Outcome::Kind::kBusy:
      ++books.busy;
      break;
    case Outcome::Kind::kFailed:
      ++books.failed;
      ++books.failed_by[outcome.error_kind.empty() ? "unnamed" : outcome.error_kind];
      break;
    case Outcome::Kind::kTimeout:
      ++books.timeout;
      break;
    case Outcome::Kind::kIndeterminate:
      ++books.indeterminate;
      break;
  }
  if (!flight.measured) {
    head_ns_ += inside(now) - inside(flight.start);
    return;
  }
  tail_ns_ += std::max<std::int64_t>(0, (now - std::max(end_, flight.start)).count());
  service_.record(now - flight.start);
  if (mode_ != Mode::kClosed) response_.record(now - flight.planned);
}

void Tally::note_issue(bool measured, Nanoseconds pacer_lag, bool cap_hit) {
  if (frozen_ || !measured) return;
  pacer_lag_.record(pacer_lag);
  if (cap_hit) ++cap_hits_;
}

void Tally::freeze(TimePoint now) {
  if (frozen_) return;
  frozen_ = true;
  warmup_.in_flight = open_warmup_ops_;
  window_.in_flight = open_window_ops_;
  if (end_ == TimePoint::max() && begin_ != TimePoint::max()) {
    end_ = open() > 0 ? now : std::max(last_end_, begin_);
  }
  in_flight_ns_ += static_cast<std::int64_t>(open()) * inside(end_);
}

void Tally::fill(Report& report) const {
  assert(frozen_);
  report.mode = mode_;
  report.ledger = window_;
  report.warmup = warmup_;
  report.service = service_;
  report.response = mode_ == Mode::kClosed ? service_ : response_;
  report.lag = lag_;
  report.window = Nanoseconds(inside(end_));
  report.completed = completed_;
  report.items = items_;
  report.pacer_lag_p99 = pacer_lag_.quantile_raw(0.99);
  report.cap_hits = cap_hits_;
  const auto window = static_cast<double>(std::max<std::int64_t>(1, inside(end_)));
  report.mean_in_flight = static_cast<double>(in_flight_ns_) / window;
}

void Tally::fill(Facts& facts) const {
  assert(frozen_);
  facts.imbalance = window_.imbalance();
  if (!facts.imbalance) facts.imbalance = warmup_.imbalance();
  facts.finished = window_.finished();
  facts.recorded = service_.count();
  facts.unfinished = window_.in_flight + warmup_.in_flight;
  const auto window = static_cast<double>(std::max<std::int64_t>(1, inside(end_)));
  // The window's operations alone: without the warm-up's inside it, with its own after its end.
  facts.mean_in_flight = static_cast<double>(in_flight_ns_ - head_ns_ + tail_ns_) / window;
  facts.little_in_flight = static_cast<double>(service_.count()) / window * service_.mean();
  facts.pacer_lag_p99 = pacer_lag_.quantile_raw(0.99);
  facts.planned = window_.planned;
  facts.cap_hits = cap_hits_;
}

}  // namespace plimsoll::load
