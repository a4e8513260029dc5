#include "lib/vault_crypto/rotation.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "lib/vault_crypto/bytea.hpp"
#include "lib/vault_crypto/key_registry.hpp"
#include "lib/vault_crypto/secret_name.hpp"

namespace plimsoll::vault {
namespace {

constexpr std::uint64_t kMaxPasses = 1000;
constexpr std::string_view kForeignKeyViolation = "23503";

constexpr std::string_view kTakeLease = R"sql(
INSERT INTO vault_lease AS l (name, holder, fence, expires_at)
VALUES ('rotation', $1, 1, clock_timestamp() + $2::bigint * interval '1 millisecond')
ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, fence = l.fence + 1,
  expires_at = clock_timestamp() + $2::bigint * interval '1 millisecond'
WHERE l.expires_at <= clock_timestamp()
RETURNING fence)sql";

constexpr std::string_view kWhoHolds = R"sql(
SELECT holder, greatest(0, ceil(extract(epoch FROM expires_at - clock_timestamp()) * 1000))::bigint
FROM vault_lease WHERE name = 'rotation')sql";

constexpr std::string_view kGiveBack = R"sql(
UPDATE vault_lease SET expires_at = clock_timestamp()
WHERE name = 'rotation' AND fence = $1::bigint)sql";

constexpr std::string_view kNext = R"sql(
SELECT id, row_version, substr(envelope, 1, 120) FROM vault_secrets
WHERE id > $1::bigint AND master_version < $2::int ORDER BY id LIMIT $3::bigint)sql";

// The fence is compared under the lease's row lock, so that a new holder waits for this statement
// or this statement finds that it has lost. The blocks come as one string, 120 bytes a row.
constexpr std::string_view kPut = R"sql(
WITH held AS (
  UPDATE vault_lease SET expires_at = clock_timestamp() + $2::bigint * interval '1 millisecond'
  WHERE name = 'rotation' AND fence = $1::bigint RETURNING fence),
fresh AS (
  SELECT u.id, u.row_version, substr($5::bytea, (u.n::int - 1) * 120 + 1, 120) AS block
  FROM unnest($3::bigint[], $4::bigint[]) WITH ORDINALITY AS u (id, row_version, n)),
moved AS (
  UPDATE vault_secrets s SET envelope = overlay(s.envelope PLACING fresh.block FROM 1 FOR 120),
    master_version = $6::int, row_version = s.row_version + 1
  FROM fresh, held WHERE s.id = fresh.id AND s.row_version = fresh.row_version
  RETURNING s.tenant, s.path, s.version),
noted AS (
  INSERT INTO vault_audit (actor, action, tenant, path, secret_version, master_version)
  SELECT $7, 'rewrap', tenant, path, version, $6::int FROM moved)
SELECT (SELECT count(*) FROM held), (SELECT count(*) FROM moved))sql";

constexpr std::string_view kRetire = R"sql(
WITH held AS (
  UPDATE vault_lease SET expires_at = clock_timestamp() + $2::bigint * interval '1 millisecond'
  WHERE name = 'rotation' AND fence = $1::bigint RETURNING fence),
gone AS (
  DELETE FROM vault_keys k USING held WHERE k.version < $3::int RETURNING k.version, k.key_id),
kept AS (INSERT INTO vault_retired_keys (version, key_id) SELECT version, key_id FROM gone),
noted AS (
  INSERT INTO vault_audit (actor, action, master_version)
  SELECT $4, 'retire key', version FROM gone)
SELECT held.fence, gone.version FROM held LEFT JOIN gone ON true ORDER BY gone.version)sql";

pg::Query query_of(std::string_view name, std::string_view sql, pg::Params params) {
  return {std::string(sql), std::move(params), std::string(name)};
}

Result<void> check_options(const RotationOptions& options) {
  auto actor = check_name({options.actor, "-"});
  if (!actor) return fail(Errc::kInvalidArgument, "rotation: actor: " + actor.error().message);
  if (options.batch == 0 || options.batch > 10000) {
    return fail(Errc::kInvalidArgument,
                fmt::format("rotation: batch of {}; 1 to 10000 are allowed", options.batch));
  }
  if (options.lease.count() <= 0) {
    return fail(
        Errc::kInvalidArgument,
        fmt::format("rotation: lease of {} ms; it must be longer than 0", options.lease.count()));
  }
  return {};
}

Error lease_lost(std::int64_t fence) {
  return {Errc::kConflict,
          fmt::format("the rotation lease with fence {} has been taken over by another", fence),
          {}};
}

/// "{1,2,3}"
template <class Range, class Member>
std::string array_of(const Range& range, Member member) {
  std::string text = "{";
  for (const auto& item : range) {
    fmt::format_to(std::back_inserter(text), "{}{}", text.size() > 1 ? "," : "", item.*member);
  }
  return text + "}";
}

// Parameters are put together in plain functions: GCC 12 cannot compile an initializer list inside
// a coroutine.
pg::Query lease_query(const std::string& holder, std::chrono::milliseconds lease) {
  return {std::string(kTakeLease), {holder, std::to_string(lease.count())}, {}};
}
pg::Query next_query(std::int64_t after, const RotationOptions& options) {
  return query_of(
      "vault_next", kNext,
      {std::to_string(after), std::to_string(options.to), std::to_string(options.batch)});
}
std::vector<pg::Query> retire_queries(std::int64_t fence, const RotationOptions& options) {
  std::vector<pg::Query> queries;
  queries.push_back(lock_keys_query());
  queries.push_back(query_of("vault_retire", kRetire,
                             {std::to_string(fence), std::to_string(options.lease.count()),
                              std::to_string(options.to), options.actor}));
  return queries;
}
pg::Query end_query(std::int64_t fence) {
  return query_of("vault_end", kGiveBack, {std::to_string(fence)});
}

asio::awaitable<Result<std::int64_t>> take_lease(pg::Connection& connection, std::string actor,
                                                 std::chrono::milliseconds lease) {
  auto taken = co_await connection.query(lease_query(actor, lease));
  if (!taken) co_return fail(std::move(taken.error()));
  if (!taken->empty()) co_return taken->integer(0, 0);
  auto holder = co_await connection.query(std::string(kWhoHolds));
  if (!holder) co_return fail(std::move(holder.error()));
  co_return fail(Errc::kConflict, fmt::format("'{}' is rotating; its lease runs for {} ms more",
                                              holder->text(0, 0), holder->text(0, 1)));
}

}  // namespace

asio::awaitable<Result<std::unique_ptr<Rotation>>> Rotation::begin(pg::Connection& connection,
                                                                   KeyRing& ring,
                                                                   RotationOptions options) {
  auto checked = check_options(options);
  if (!checked) co_return fail(std::move(checked.error()));
  auto key = ring.hold()->find(options.to);
  if (key == nullptr) {
    co_return fail(Errc::kNotFound,
                   fmt::format("rotation: this ring holds no master key version {}", options.to));
  }
  auto session = VaultSession::create(ring, options.policy);
  if (!session) co_return fail(std::move(session.error()));
  auto fence = co_await take_lease(connection, options.actor, options.lease);
  if (!fence) co_return fail(std::move(fence.error()));
  std::unique_ptr<Rotation> rotation(
      new Rotation(connection, ring, std::move(options), std::move(*session), *fence));
  auto ready = co_await register_key(connection, rotation->options_.actor, std::move(key));
  if (ready) ready = ring.make_current(rotation->options_.to);
  if (!ready) {
    auto ended = co_await rotation->end();  // The first error is the one that matters.
    static_cast<void>(ended);
    co_return fail(std::move(ready.error()));
  }
  co_return rotation;
}

asio::awaitable<Result<std::vector<Rotation::Block>>> Rotation::next_blocks() {
  auto query = next_query(after_, options_);
  auto rows = co_await connection_->query(std::move(query));
  if (!rows) co_return fail(std::move(rows.error()));
  std::vector<Block> blocks;
  for (std::size_t i = 0; i < rows->size(); ++i) {
    const auto id = rows->integer(i, 0);
    const auto row_version = rows->integer(i, 1);
    if (!id || !row_version) co_return fail(Errc::kProtocol, "a row's id is no number");
    auto bytes = from_bytea(rows->text(i, 2));
    if (!bytes) co_return fail(std::move(bytes.error()));
    bytes->resize(kKeyBlockBytes);  // What was cut short does not unwrap.
    Block& block = blocks.emplace_back(Block{*id, *row_version, {}});
    std::ranges::copy(*bytes, block.block.begin());
  }
  co_return blocks;
}

pg::Query Rotation::put_query(const std::vector<Block>& blocks) const {
  std::vector<std::byte> joined;
  joined.reserve(blocks.size() * kKeyBlockBytes);
  for (const Block& block : blocks) {
    joined.insert(joined.end(), block.block.begin(), block.block.end());
  }
  return query_of("vault_put", kPut,
                  {std::to_string(fence_), std::to_string(options_.lease.count()),
                   array_of(blocks, &Block::id), array_of(blocks, &Block::row_version),
                   to_bytea(joined), std::to_string(options_.to), options_.actor});
}

asio::awaitable<Result<void>> Rotation::put(std::vector<Block> blocks) {
  auto query = put_query(blocks);
  auto rows = co_await connection_->query(std::move(query));
  if (!rows) {
    // Undone as a whole by a deadlock with a writer: the next pass finds the same rows.
    if (!rows.error().sqlstate.starts_with("40")) co_return fail(std::move(rows.error()));
    sweep_.overtaken += blocks.size();
    co_return Result<void>{};
  }
  const auto held = rows->integer(0, 0);
  const auto moved = rows->integer(0, 1);
  if (!held || !moved) co_return fail(Errc::kProtocol, "a count is no number");
  if (*held == 0) co_return fail(lease_lost(fence_));
  sweep_.rewrapped += static_cast<std::uint64_t>(*moved);
  sweep_.overtaken += blocks.size() - static_cast<std::uint64_t>(*moved);
  co_return Result<void>{};
}

asio::awaitable<Result<bool>> Rotation::step() {
  auto blocks = co_await next_blocks();
  if (!blocks) co_return fail(std::move(blocks.error()));
  if (blocks->empty()) {
    if (done_in_pass_ == 0) co_return false;
    if (++passes_ == kMaxPasses) {
      co_return fail(Errc::kConflict,
                     fmt::format("others go on sealing under versions older than {}; make it "
                                 "current there and rotate again",
                                 options_.to));
    }
    // Rows that were overtaken, or added under an old version, lie behind us: one more pass.
    after_ = 0;
    done_in_pass_ = 0;
    sweep_.unreadable.clear();
    co_return true;
  }
  after_ = blocks->back().id;
  std::vector<Block> rewrapped;
  const auto target = ring_->hold()->find(options_.to);
  for (const Block& old : *blocks) {
    auto next = session_.rewrap(old.block);
    if (!next && next.error().code == Errc::kRefused && target != nullptr) {
      auto granted = co_await grant_wraps(*connection_, target);
      if (!granted) co_return fail(std::move(granted.error()));
      next = session_.rewrap(old.block);
    }
    if (next && master_version_of(*next) != options_.to) {
      co_return fail(Errc::kConflict, "another rotation has made a newer master key current");
    }
    if (next) {
      rewrapped.push_back({old.id, old.row_version, *next});
    } else if (next.error().code == Errc::kRefused || next.error().code == Errc::kInternal) {
      co_return fail(std::move(next.error()));
    } else {
      sweep_.unreadable.push_back(fmt::format("{}: {}", old.id, next.error().message));
    }
  }
  if (rewrapped.empty()) co_return true;
  done_in_pass_ += rewrapped.size();
  ++sweep_.batches;
  auto done = co_await put(std::move(rewrapped));
  if (!done) co_return fail(std::move(done.error()));
  co_return true;
}

asio::awaitable<Result<Sweep>> Rotation::sweep() {
  for (;;) {
    auto more = co_await step();
    if (!more) co_return fail(std::move(more.error()));
    if (!*more) co_return sweep_;
  }
}

asio::awaitable<Result<std::vector<std::uint32_t>>> Rotation::retire() {
  auto queries = retire_queries(fence_, options_);
  auto results = co_await connection_->pipeline(std::move(queries));
  if (!results.front()) co_return fail(std::move(results.front().error()));
  auto& rows = results.back();
  if (!rows && rows.error().sqlstate == kForeignKeyViolation) {
    co_return fail(Error{
        Errc::kConflict,
        fmt::format("secrets are still under versions older than {}: sweep again", options_.to),
        rows.error().sqlstate});
  }
  if (!rows) co_return fail(std::move(rows.error()));
  if (rows->empty()) co_return fail(lease_lost(fence_));
  std::vector<std::uint32_t> retired;
  for (std::size_t i = 0; i < rows->size(); ++i) {
    const auto version = rows->integer(i, 1);  // NULL where there was nothing to retire.
    if (version) retired.push_back(static_cast<std::uint32_t>(*version));
  }
  const auto ring = ring_->hold();
  for (const auto& key : ring->keys) {
    if (key->version() >= options_.to) break;
    auto dropped = ring_->retire(key->version());
    if (!dropped && dropped.error().code != Errc::kNotFound) {
      co_return fail(std::move(dropped.error()));
    }
  }
  co_return retired;
}

asio::awaitable<Result<void>> Rotation::end() {
  auto ended = co_await connection_->query(end_query(fence_));
  if (!ended) co_return fail(std::move(ended.error()));
  co_return Result<void>{};
}

}  // namespace plimsoll::vault
