#pragma once

#include <boost/asio/awaitable.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lib/core/result.hpp"
#include "lib/redis/channel.hpp"

namespace plimsoll::redis {

/// A Lua script that a server keeps under its SHA-1. It is called by that name; only when the
/// server answers that it does not know it (restarted, failed over, SCRIPT FLUSH), so that nothing
/// was executed, it is sent whole, once. After a time-out or a lost connection nobody can know
/// whether it ran, so it is never tried again here.
///
/// Copies share the text. Thread safety: const calls from any thread.
class Script {
 public:
  explicit Script(std::string text);

  [[nodiscard]] const std::string& text() const noexcept { return source_->text; }
  /// Forty hexadecimal digits.
  [[nodiscard]] const std::string& sha1() const noexcept { return source_->sha1; }

  /// Runs it. `keys` are all keys that it touches. `timeout` is for both tries together. `channel`
  /// must outlive the call; the script need not. Errors: as Channel::command.
  [[nodiscard]] asio::awaitable<Result<Reply>> run(Channel& channel, std::vector<std::string> keys,
                                                   std::vector<std::string> arguments,
                                                   Timeout timeout = std::nullopt) const;

 private:
  struct Source {
    std::string text;
    std::string sha1;
  };
  [[nodiscard]] static asio::awaitable<Result<Reply>> run_source(
      std::shared_ptr<const Source> source, Channel& channel, std::vector<std::string> keys,
      std::vector<std::string> arguments, Timeout timeout);

  std::shared_ptr<const Source> source_;
};

}  // namespace plimsoll::redis
