#include "lib/pg/look_up.hpp"

#include <utility>

#include "lib/core/look_up.hpp"

namespace plimsoll::pg {

boost::asio::awaitable<Result<std::vector<Host>>> look_up(std::vector<Host> hosts) {
  std::vector<Host> known;
  Error reason{Errc::kUnavailable, "no host is named", {}};
  for (const Host& host : hosts) {
    if (!host.needs_lookup()) {
      known.push_back(host);
      continue;
    }
    auto addresses = co_await plimsoll::look_up(host.host);
    if (addresses) {
      for (auto& address : *addresses) known.push_back({host.host, std::move(address), host.port});
    } else {
      reason = std::move(addresses.error());
      if (reason.code != Errc::kUnavailable) co_return fail(std::move(reason));
    }
  }
  if (known.empty()) co_return fail(std::move(reason));
  co_return known;
}

}  // namespace plimsoll::pg
