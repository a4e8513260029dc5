#include "lib/rls_queue/link.hpp"

#include <fmt/format.h>

#include <utility>

namespace plimsoll::rls {
namespace {

Result<void> check(const pg::Rows& rows, bool pooled) {
  if (rows.size() != 1 || rows.columns() != 3) {
    return fail(Errc::kProtocol, "rls_queue: no answer to the question who logged in");
  }
  const auto role = rows.text(0, 0);
  if (rows.text(0, 1) != "f") {
    return fail(Errc::kRefused,
                fmt::format("rls_queue: the role {} is a superuser or has BYPASSRLS, so every "
                            "tenant's rows would be open to it; log in as one that is neither",
                            role));
  }
  // Behind a pooler another client may have left it; no job reads it there either.
  if (!pooled && rows.text(0, 2) != "f") {
    return fail(Errc::kRefused,
                fmt::format("rls_queue: a connection of the role {} starts with an identity; take "
                            "it out of the dsn's options, or ALTER ROLE or DATABASE ... RESET it",
                            role));
  }
  return {};
}

}  // namespace

asio::awaitable<Result<LinkPtr>> connect_link(pg::Config config, std::string probe) {
  const bool pooled = config.pooled;
  auto connection = co_await pg::Connection::connect(std::move(config));
  if (!connection) co_return fail(std::move(connection.error()));
  const auto link = std::make_shared<Link>();
  link->connection = std::move(*connection);
  auto rows = co_await link->connection->query(std::move(probe));
  if (!rows) co_return fail(std::move(rows.error()));
  if (auto bad = check(*rows, pooled); !bad) co_return fail(std::move(bad.error()));
  link->role = std::string(rows->text(0, 0));
  co_return link;
}

}  // namespace plimsoll::rls
