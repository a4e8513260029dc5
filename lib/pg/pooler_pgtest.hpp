#pragma once

#include <boost/asio/steady_timer.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fixtures/pgbouncer/local.hpp"
#include "fixtures/pgbouncer/route.hpp"
#include "lib/core/with_timeout.hpp"
#include "lib/pg/connection.hpp"
#include "lib/pg/server_pgtest.hpp"

namespace plimsoll::pg {

/// ServerTest with a real PgBouncer of its own before the server.
class PoolerTest : public ServerTest {
 public:
  /// Starts the pooler, and a route on which the test's schema is the search path.
  void start_pooler(fixtures::LocalPgbouncer::Options options) {
    if (options.server_dsn.empty()) options.server_dsn = server_.dsn;
    auto started = fixtures::LocalPgbouncer::start(std::move(options));
    ASSERT_TRUE(started) << started.error().message;
    pooler_ = std::move(*started);
    auto route = fixtures::SchemaRoute::create(fixtures::describe(*pooler_), *schema_);
    ASSERT_TRUE(route) << route.error().message;
    route_.emplace(std::move(*route));
  }
  void start_pooler(int size) {
    fixtures::LocalPgbouncer::Options options;
    options.default_pool_size = size;
    start_pooler(std::move(options));
  }

  [[nodiscard]] Config pooled() const {
    Config config(route_->dsn());
    config.pooled = true;
    return config;
  }
  std::unique_ptr<Connection> connect_pooled() { return connect(pooled()); }

  std::optional<fixtures::LocalPgbouncer> pooler_;
  std::optional<fixtures::SchemaRoute> route_;
};

}  // namespace plimsoll::pg
