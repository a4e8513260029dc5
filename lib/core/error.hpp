#pragma once

#include <string>
#include <string_view>

namespace plimsoll {

/// What a caller can act on. A value names a reaction, not a place in the code.
enum class Errc {
  kInvalidArgument,  ///< The caller broke a documented limit. Never retry.
  kNotFound,         ///< What was named does not exist. Never retry as it is.
  kRefused,          ///< A guard or a permission said no. The message names what would allow it.
  kConflict,  ///< Somebody else was first: unique key, serialization, deadlock, lost lease. Retry
              ///< from the start.
  kBusy,      ///< A stated limit is reached. Retry after a pause.
  kUnavailable,  ///< The peer is absent or closed the connection. Retry after a pause.
  kTimeout,      ///< The deadline passed. The work may still have been done.
  kCancelled,    ///< The caller asked for it. The work may still have been done.
  kRejected,     ///< The peer understood and refused this request (an SQL error). Do not retry
                 ///< unchanged.
  kCorrupt,      ///< Stored or received bytes fail their check. Never use them.
  kProtocol,     ///< The peer answered something we cannot use. Drop the connection.
  kInternal,     ///< The operating system refused something it normally grants.
};

/// The enumerator's name in words, e.g. "timeout".
[[nodiscard]] std::string_view name(Errc code) noexcept;

struct Error {
  Errc code;
  std::string message;   ///< For people: one line, no trailing full stop, never parsed.
  std::string sqlstate;  ///< Five characters where PostgreSQL gave one, else empty.
  /// True where the peer surely did nothing of this request, since it was not sent, or was undone
  /// before it was to be sent again. False where that is not known.
  bool unsent = false;

  /// True when the connection that reported this must not be used again.
  [[nodiscard]] bool poisons_connection() const noexcept {
    return code == Errc::kUnavailable || code == Errc::kProtocol;
  }
};

}  // namespace plimsoll
