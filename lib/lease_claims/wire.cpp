#include "lib/lease_claims/wire.hpp"

#include <utility>

namespace plimsoll::lease {
namespace {

Result<std::int64_t> number(const pg::Rows& rows, std::size_t row, std::size_t column) {
  Result<std::int64_t> value = rows.integer(row, column);
  if (!value) return fail(Errc::kProtocol, "lease_claims: " + value.error().message);
  return value;
}

void append_quoted(std::string& array, std::string_view element) {
  array += '"';
  for (const char c : element) {
    if (c == '"' || c == '\\') array += '\\';
    array += c;
  }
  array += '"';
}

}  // namespace

pg::Query query_of(const Statement& statement, pg::Params params) {
  return pg::Query{statement.sql, std::move(params), statement.name};
}

pg::Params lease_params(const Lease& lease) {
  return {lease.tenant, std::to_string(lease.schedule), std::to_string(lease.fence),
          std::to_string(lease.fire_time.time_since_epoch().count())};
}

pg::Params batch_params(const std::vector<Lease>& leases) {
  std::string tenants{"{"};
  std::string schedules{"{"};
  std::string fences{"{"};
  std::string fire_times{"{"};
  for (const Lease& lease : leases) {
    if (&lease != &leases.front()) {
      tenants += ',';
      schedules += ',';
      fences += ',';
      fire_times += ',';
    }
    append_quoted(tenants, lease.tenant);
    schedules += std::to_string(lease.schedule);
    fences += std::to_string(lease.fence);
    fire_times += std::to_string(lease.fire_time.time_since_epoch().count());
  }
  return {tenants + '}', schedules + '}', fences + '}', fire_times + '}'};
}

Result<std::optional<Lease>> lease_of(const pg::Rows& rows, std::size_t row) {
  if (!rows.value(row, 0)) return std::optional<Lease>{};
  const Result<std::int64_t> schedule = number(rows, row, 0);
  const Result<Timestamp> fire_time = timestamp_of(rows, row, 1);
  const Result<std::int64_t> fence = number(rows, row, 2);
  if (!schedule) return fail(schedule.error());
  if (!fire_time) return fail(fire_time.error());
  if (!fence) return fail(fence.error());
  return Lease{{}, *schedule, *fire_time, *fence, {}};
}

Result<Timestamp> timestamp_of(const pg::Rows& rows, std::size_t row, std::size_t column) {
  const Result<std::int64_t> micros = number(rows, row, column);
  if (!micros) return fail(micros.error());
  return Timestamp{std::chrono::microseconds{*micros}};
}

}  // namespace plimsoll::lease
