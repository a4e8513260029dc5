#pragma once

#include <boost/asio/awaitable.hpp>
#include <vector>

#include "lib/core/result.hpp"
#include "lib/redis/command.hpp"
#include "lib/redis/reply.hpp"

namespace plimsoll::redis {

namespace asio = boost::asio;

/// What takes commands: one Connection, or a SupervisedConnection that replaces a broken one.
class Channel {
 public:
  virtual ~Channel() = default;

  /// Executes one command. It is sent when the awaitable is awaited, together with whatever else is
  /// asked in the same turn of the loop. An error answer is this Result's error, by
  /// `error_of_reply`.
  [[nodiscard]] virtual asio::awaitable<Result<Reply>> command(Command command,
                                                               Timeout timeout = std::nullopt) = 0;

  /// Sends all commands together; answers are in their order and as many. Each command stands for
  /// itself: one that fails changes nothing for the others, and those that were answered before the
  /// time ran out keep their answers. For all or nothing put MULTI first and EXEC last.
  [[nodiscard]] virtual asio::awaitable<std::vector<Result<Reply>>> pipeline(
      std::vector<Command> commands, Timeout timeout = std::nullopt) = 0;

  [[nodiscard]] virtual Counters counters() const noexcept = 0;

 protected:
  Channel() = default;
  Channel(const Channel&) = default;
  Channel& operator=(const Channel&) = default;
};

}  // namespace plimsoll::redis
