#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "lib/core/result.hpp"

namespace plimsoll::rls {

/// How `notes` is protected. The defaults are the way it should be; the others are what they are
/// measured and tested against.
struct Protection {
  bool enabled = true;  ///< Row-level security at all.
  bool forced = true;   ///< For the table's owner, too.
  /// Policies on the table. The first lets in the rows of the identity's tenant; without it nobody
  /// sees anything. Each further one, number n, takes away the rows whose `gate` is n, unless the
  /// identity has the role `gate_n`.
  std::size_t policies = 1;
  bool once = true;  ///< Policies read the identity once a statement, and not once a row.
};

inline constexpr std::size_t kMaxPolicies = 100;

/// The SQL that makes `notes` in a schema that exists: (tenant, id) -> author, gate, version, body.
/// The tenant leads the primary key; a note's author is the identity's user unless given.
/// `prefix` as in Settings.
///
/// Errors: kInvalidArgument (a schema that is no identifier, a prefix, too many policies).
[[nodiscard]] Result<std::string> ddl(std::string_view schema, const Protection& protection = {},
                                      std::string_view prefix = "plimsoll");

/// The SQL that lets a role use `notes`, and nothing else. Errors: kInvalidArgument.
[[nodiscard]] Result<std::string> grants(std::string_view schema, std::string_view role);

/// The name as an SQL identifier, in quotes. Errors: kInvalidArgument (empty, over 63 bytes, NUL).
[[nodiscard]] Result<std::string> quoted_name(std::string_view name);

}  // namespace plimsoll::rls
