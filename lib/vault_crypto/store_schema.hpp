#pragma once

#include <string_view>

namespace plimsoll::vault {

/// The statements that make the tables, for Connection::script, in the schema that comes first in
/// the search path. Not to be run twice.
///
///   vault_keys          the master key versions in use: version, id, data keys granted. A version
///                       that a secret refers to cannot leave it (foreign key)
///   vault_retired_keys  versions that have left, which cannot come back
///   vault_secrets       the secrets; a removed one keeps its version and loses its envelope
///   vault_audit         who did what to which version and when; only ever added to
///   vault_lease         who may rotate, until when, and the fence of the last one
[[nodiscard]] std::string_view store_ddl() noexcept;

}  // namespace plimsoll::vault
