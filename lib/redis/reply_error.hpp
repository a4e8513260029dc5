#pragma once

#include <string>
#include <string_view>

#include "lib/core/result.hpp"

namespace plimsoll::redis {

/// What a caller can do about an error answer, by its first word. The connection stays usable, so
/// none of them is kUnavailable; the last line is the exception.
///
///   NOSCRIPT, as Redis itself words it                                  kNotFound (load it)
///   WRONGPASS NOAUTH NOPERM DENIED READONLY                             kRefused
///   OOM LOADING BUSY MASTERDOWN CLUSTERDOWN TRYAGAIN NOREPLICAS         kBusy
///   NOMASTERLINK INPROG UNKILLABLE                                      kBusy
///   BUSYKEY BUSYGROUP                                                   kConflict
///   UNBLOCKED                                                           kCancelled
///   MISCONF                                                             kInternal (its disk)
///   everything else (ERR, WRONGTYPE, MOVED, ASK, CROSSSLOT, EXECABORT)  kRejected
///   ERR Protocol error                                                  kProtocol (it hangs up)
///
/// MOVED and ASK are rejections, since this client knows no cluster.
[[nodiscard]] Errc errc_of_reply(std::string_view text) noexcept;

/// The error of an error answer: its text on one line.
[[nodiscard]] Error error_of_reply(std::string_view text);

/// The first word, if it is one that Redis uses so; empty otherwise. What is no such word may be
/// anything, also what a proxy repeats of our own command.
[[nodiscard]] std::string_view known_prefix(std::string_view text) noexcept;

}  // namespace plimsoll::redis
