#pragma once

#include <cstddef>
#include <string>

#include "lib/core/result.hpp"
#include "lib/redis/command.hpp"

namespace plimsoll::redis {

/// What the server would answer by hanging up.
struct CommandLimits {
  std::size_t max_argument_bytes = 512UL << 20;  ///< Its proto-max-bulk-len.
  std::size_t max_command_bytes = 1UL << 30;     ///< Its client-query-buffer-limit.
  std::size_t max_arguments = 1UL << 20;         ///< Before version 7; later ones allow more.
};

/// Refuses what must not be sent: no name, too much, or a command that is not answered exactly once
/// and so would shift the answers of all behind it (SUBSCRIBE and its kin, MONITOR, CLIENT REPLY,
/// HELLO, SYNC).
///
/// Errors: kInvalidArgument, which says where and how much; arguments are never quoted.
[[nodiscard]] Result<void> check(const Command& command, const CommandLimits& limits = {});

/// Appends the command as it goes over the wire. REQUIRES: `check` passed.
///
/// hiredis' redisFormatCommandArgv gives the same bytes, which a test holds, but in a string of its
/// own: an allocation and a copy more for each command, where two lines of framing do.
void append(std::string& out, const Command& command);

}  // namespace plimsoll::redis
