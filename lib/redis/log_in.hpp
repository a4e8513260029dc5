#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "lib/core/redis_url.hpp"
#include "lib/core/result.hpp"
#include "lib/redis/command.hpp"
#include "lib/redis/reply.hpp"

namespace plimsoll::redis {

/// What a new connection says first, all in one round trip: AUTH where there is a password, SELECT,
/// which every server answers that lets us in, and CLIENT SETNAME where there is a name.
[[nodiscard]] std::vector<Command> log_in_commands(const RedisUrl& url, std::string_view name);

/// What the answers to them mean. Errors: kRefused (password, or one is wanted), kNotFound (the
/// database number), kBusy (too many clients), kUnavailable and others as they are. Nothing that
/// the server says is passed on where it could quote the password.
[[nodiscard]] Result<void> judge_log_in(const RedisUrl& url,
                                        std::span<const Result<Reply>> answers);

/// Errors: kInvalidArgument, for a name that CLIENT SETNAME would refuse.
[[nodiscard]] Result<void> check_client_name(std::string_view name);

}  // namespace plimsoll::redis
