#include "lib/redis/log_in.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "lib/redis/reply_error.hpp"

namespace plimsoll::redis {
namespace {

// What a server says to one client too many, and then hangs up.
constexpr std::string_view kTooMany = "max number of clients";

Error judge_auth(const Error& error) {
  if (error.poisons_connection()) return error;
  if (error.code == Errc::kTimeout || error.code == Errc::kCancelled) return error;
  const auto prefix = known_prefix(error.message);
  const bool wants_none =
      error.message.find("without any password configured") != std::string::npos;
  return {Errc::kRefused,
          wants_none ? "the server has no password for the default user, and the url gives one"
                     : fmt::format("the server refused the user or the password{}",
                                   prefix.empty() ? "" : fmt::format(" ({})", prefix)),
          {}};
}

Error judge_select(const RedisUrl& url, const Error& error) {
  if (error.code == Errc::kRejected) {
    return {Errc::kNotFound,
            fmt::format("there is no database {}: {}", url.database, url.scrub(error.message)),
            {}};
  }
  return {error.code, url.scrub(error.message), {}};
}

}  // namespace

std::vector<Command> log_in_commands(const RedisUrl& url, std::string_view name) {
  std::vector<Command> commands;
  if (!url.password.empty()) {
    Command& auth = commands.emplace_back("AUTH");
    if (!url.user.empty()) auth.add(url.user);
    auth.add(url.password);
  }
  commands.emplace_back("SELECT", url.database);
  if (!name.empty()) commands.emplace_back("CLIENT", "SETNAME", name);
  return commands;
}

Result<void> judge_log_in(const RedisUrl& url, std::span<const Result<Reply>> answers) {
  for (const auto& answer : answers) {
    if (!answer && answer.error().message.find(kTooMany) != std::string::npos) {
      return fail(Errc::kBusy, "the server has its maximum number of clients");
    }
  }
  if (!url.password.empty()) {
    if (!answers.front()) return fail(judge_auth(answers.front().error()));
    answers = answers.subspan(1);
  }
  const auto& selected = answers.front();
  if (selected) return {};
  // Who may not SELECT is in database 0 all the same. The name is decoration: a proxy, or a user
  // without the right, may refuse it.
  const bool is_forbidden = known_prefix(selected.error().message) == "NOPERM";
  if (is_forbidden && url.database == 0) return {};
  return fail(judge_select(url, selected.error()));
}

Result<void> check_client_name(std::string_view name) {
  const bool is_plain = std::ranges::all_of(name, [](char c) { return c > ' ' && c <= '~'; });
  if (is_plain) return {};
  return fail(Errc::kInvalidArgument,
              "the client's name has a blank or a character that is not printable");
}

}  // namespace plimsoll::redis
