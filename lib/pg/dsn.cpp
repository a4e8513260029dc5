#include "lib/pg/dsn.hpp"

#include <fmt/format.h>
#include <libpq-fe.h>

#include <algorithm>
#include <boost/asio/ip/address.hpp>
#include <memory>

#include "lib/pg/sqlstate.hpp"

namespace plimsoll::pg {
namespace {

struct FreeOptions {
  void operator()(PQconninfoOption* options) const noexcept { PQconninfoFree(options); }
};
using Options = std::unique_ptr<PQconninfoOption, FreeOptions>;

std::string find(const Options& options, std::string_view keyword) {
  for (const auto* option = options.get(); option != nullptr && option->keyword != nullptr;
       ++option) {
    if (option->keyword == keyword && option->val != nullptr) return option->val;
  }
  return {};
}

// Entry `i` of a list; a list of one stands for all hosts, as in libpq.
std::string entry(const std::vector<std::string>& list, std::size_t i) {
  return i < list.size() ? list[i] : list.size() == 1 ? list.front() : std::string{};
}

}  // namespace

bool Host::needs_lookup() const {
  if (!address.empty() || host.empty() || host.front() == '/' || host.front() == '@') return false;
  boost::system::error_code not_an_address;
  boost::asio::ip::make_address(host, not_an_address);
  return static_cast<bool>(not_an_address);
}

std::string Dsn::display() const {
  std::string text;
  for (const auto& host : hosts) {
    if (!text.empty()) text += ", ";
    text +=
        host.host.empty() ? host.address.empty() ? "the local socket" : host.address : host.host;
    if (!host.port.empty()) text += fmt::format(" port {}", host.port);
  }
  return text;
}

std::vector<std::string> split_list(std::string_view list) {
  std::vector<std::string> parts;
  while (true) {
    const auto comma = list.find(',');
    parts.emplace_back(list.substr(0, comma));
    if (comma == std::string_view::npos) return parts;
    list.remove_prefix(comma + 1);
  }
}

std::string hide_quoted(std::string_view text) {
  std::string shown;
  bool is_inside = false;
  for (const char c : text) {
    if (c == '"') {
      shown += is_inside ? "...\"" : "\"";
      is_inside = !is_inside;
    } else if (!is_inside) {
      shown += c;
    }
  }
  return shown;
}

Result<Dsn> parse_dsn(const std::string& dsn) {
  if (dsn.find('\0') != std::string::npos) {
    return fail(Errc::kInvalidArgument, "the dsn has a NUL byte");
  }
  char* text = nullptr;
  const Options given(PQconninfoParse(dsn.c_str(), &text));
  const std::unique_ptr<char, decltype(&PQfreemem)> owned(text, &PQfreemem);
  if (given == nullptr) {
    return fail(Errc::kInvalidArgument,
                fmt::format("the dsn is not what libpq understands: {}",
                            text == nullptr ? "no memory" : hide_quoted(one_line(text))));
  }
  const Options defaults(PQconndefaults());
  const auto option = [&](std::string_view keyword) {
    const auto value = find(given, keyword);
    return value.empty() ? find(defaults, keyword) : value;
  };
  // A given host hides a default address and the other way round, as in libpq.
  const bool says_where = !find(given, "host").empty() || !find(given, "hostaddr").empty();
  const auto& source = says_where ? given : defaults;
  const auto hosts = split_list(find(source, "host"));
  const auto addresses = split_list(find(source, "hostaddr"));
  const auto ports = split_list(option("port"));
  const std::size_t count = std::max(hosts.size(), addresses.size());
  if ((hosts.size() != count && hosts.size() != 1) ||
      (addresses.size() != count && addresses.size() != 1) ||
      (ports.size() != count && ports.size() != 1)) {
    return fail(Errc::kInvalidArgument,
                fmt::format("the dsn names {} hosts, {} addresses and {} ports; the lists must be "
                            "equally long",
                            hosts.size(), addresses.size(), ports.size()));
  }
  Dsn parsed;
  for (std::size_t i = 0; i < count; ++i) {
    const auto host = i < hosts.size() ? hosts[i] : std::string{};
    const auto address = i < addresses.size() ? addresses[i] : std::string{};
    parsed.hosts.push_back({host, address, entry(ports, i)});
  }
  return parsed;
}

}  // namespace plimsoll::pg
