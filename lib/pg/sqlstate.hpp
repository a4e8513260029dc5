#pragma once

#include <string>
#include <string_view>

#include "lib/core/result.hpp"

struct pg_result;

namespace plimsoll::pg {

/// What a caller can do about an SQLSTATE. The table, the more special line first:
///
///   08*  57P01 57P02 57P03 57P04 57P05 25P03             kUnavailable (the connection is gone)
///   57014                                               kCancelled
///   40*  23505 23P01 55P03 55006                         kConflict
///   53*                                                 kBusy
///   28*  42501                                          kRefused
///   3D000                                               kNotFound
///   XX001 XX002                                         kCorrupt
///   58*  F0* XX*                                         kInternal
///   08P01                                               kProtocol
///   everything else (22*, 23*, 42*, 0A*, P0*...)          kRejected
///
/// REQUIRES: five characters; anything else is kProtocol.
[[nodiscard]] Errc errc_of_sqlstate(std::string_view sqlstate) noexcept;

/// The error that a result carries: its primary message, its position in the statement, its
/// SQLSTATE. The DETAIL is left out, since it quotes values. An error without an SQLSTATE comes
/// from libpq itself, which has lost the connection: kUnavailable.
[[nodiscard]] Error error_of_result(const pg_result* result);

/// The error of a failed log-in, from libpq's text at verbosity VERBOSE, the only place where an
/// SQLSTATE can be found then. `needs_password` is PQconnectionNeedsPassword.
[[nodiscard]] Error error_of_connect(std::string_view text, bool needs_password);

/// Text of a server or of libpq as one line: line breaks become "; ", the end is trimmed.
[[nodiscard]] std::string one_line(std::string_view text);

}  // namespace plimsoll::pg
