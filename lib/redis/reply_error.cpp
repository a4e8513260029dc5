#include "lib/redis/reply_error.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace plimsoll::redis {
namespace {

struct Rule {
  std::string_view prefix;
  Errc code;
};

constexpr std::array kRules{
    Rule{"ERR", Errc::kRejected},
    Rule{"WRONGTYPE", Errc::kRejected},
    Rule{"NOSCRIPT", Errc::kRejected},
    Rule{"WRONGPASS", Errc::kRefused},
    Rule{"NOAUTH", Errc::kRefused},
    Rule{"NOPERM", Errc::kRefused},
    Rule{"DENIED", Errc::kRefused},
    Rule{"READONLY", Errc::kRefused},
    Rule{"OOM", Errc::kBusy},
    Rule{"LOADING", Errc::kBusy},
    Rule{"BUSY", Errc::kBusy},
    Rule{"MASTERDOWN", Errc::kBusy},
    Rule{"CLUSTERDOWN", Errc::kBusy},
    Rule{"TRYAGAIN", Errc::kBusy},
    Rule{"NOREPLICAS", Errc::kBusy},
    Rule{"NOMASTERLINK", Errc::kBusy},
    Rule{"INPROG", Errc::kBusy},
    Rule{"UNKILLABLE", Errc::kBusy},
    Rule{"BUSYKEY", Errc::kConflict},
    Rule{"BUSYGROUP", Errc::kConflict},
    Rule{"UNBLOCKED", Errc::kCancelled},
    Rule{"MISCONF", Errc::kInternal},
    Rule{"MOVED", Errc::kRejected},
    Rule{"ASK", Errc::kRejected},
    Rule{"CROSSSLOT", Errc::kRejected},
    Rule{"EXECABORT", Errc::kRejected},
    Rule{"NOTBUSY", Errc::kRejected},
    Rule{"NOPROTO", Errc::kRejected},
    Rule{"NOGOODSLAVE", Errc::kRejected},
};

// A script may make up an error that begins with NOSCRIPT; to take it for Redis' own would execute
// that script twice.
constexpr std::string_view kNoScript = "NOSCRIPT No matching script";
constexpr std::string_view kProtocolError = "ERR Protocol error";

const Rule* find(std::string_view text) noexcept {
  const auto word = text.substr(0, text.find(' '));
  const auto* const rule =
      std::ranges::find_if(kRules, [&](const Rule& known) { return known.prefix == word; });
  return rule == kRules.end() ? nullptr : rule;
}

}  // namespace

Errc errc_of_reply(std::string_view text) noexcept {
  if (text.starts_with(kNoScript)) return Errc::kNotFound;
  if (text.starts_with(kProtocolError)) return Errc::kProtocol;
  const auto* const rule = find(text);
  return rule == nullptr ? Errc::kRejected : rule->code;
}

Error error_of_reply(std::string_view text) {
  std::string line(text);
  std::ranges::replace_if(
      line, [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
  if (line.empty()) line = "the server answered with an error that has no text";
  return {errc_of_reply(text), std::move(line), {}};
}

std::string_view known_prefix(std::string_view text) noexcept {
  const auto* const rule = find(text);
  return rule == nullptr ? std::string_view{} : rule->prefix;
}

}  // namespace plimsoll::redis
