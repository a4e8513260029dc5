#pragma once

#include <optional>
#include <string>

#include "fixtures/infra.hpp"
#include "lib/core/result.hpp"

namespace plimsoll::bench {

/// Says, in `register_cases`, that the group's numbers belong to a Postgres: it is then found or
/// started before the first case whatever the filter selects, and its major version is part of the
/// machine class.
void needs_postgres();
[[nodiscard]] bool postgres_is_needed() noexcept;

/// The session's Postgres, as Infra finds it. The first call that succeeds records it in the result
/// file and counts its processes as ours when the host is watched.
///
/// Errors: as Infra::postgres.
[[nodiscard]] Result<fixtures::Postgres> postgres();

/// The session's Redis, as Infra finds it. The first call that succeeds records it in the result
/// file and counts its process as ours when the host is watched.
///
/// Errors: as Infra::redis.
[[nodiscard]] Result<fixtures::Redis> redis();

/// A pooler before the session's Postgres, as Infra finds it. The first call that succeeds records
/// it in the result file and counts its process as ours when the host is watched.
///
/// Errors: as Infra::pooler.
[[nodiscard]] Result<fixtures::Pooler> pooler();

/// That the server which `postgres` gave has died, for people; nullopt while it lives, or where it
/// is not ours and its process cannot be seen. Costs a few reads of /proc.
[[nodiscard]] std::optional<std::string> postgres_death();

}  // namespace plimsoll::bench
