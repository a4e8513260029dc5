#include "lib/load/ledger.hpp"

#include <fmt/format.h>

namespace plimsoll::load {

std::optional<std::string> Ledger::imbalance() const {
  if (planned != started + skipped) {
    return fmt::format("planned {} is not started {} + skipped {}", planned, started, skipped);
  }
  if (started != finished() + in_flight) {
    return fmt::format(
        "started {} is not ok {} + busy {} + failed {} + timeout {} + indeterminate {} + in flight "
        "{}",
        started, ok, busy, failed, timeout, indeterminate, in_flight);
  }
  std::uint64_t by_kind = 0;
  for (const auto& [kind, count] : failed_by) by_kind += count;
  if (failed != by_kind) {
    return fmt::format("failed {} is not the {} failures counted by kind", failed, by_kind);
  }
  if (late > started) return fmt::format("late {} is above started {}", late, started);
  return std::nullopt;
}

void Ledger::merge(const Ledger& other) {
  planned += other.planned;
  started += other.started;
  ok += other.ok;
  busy += other.busy;
  failed += other.failed;
  timeout += other.timeout;
  indeterminate += other.indeterminate;
  in_flight += other.in_flight;
  skipped += other.skipped;
  late += other.late;
  for (const auto& [kind, count] : other.failed_by) failed_by[kind] += count;
}

}  // namespace plimsoll::load
