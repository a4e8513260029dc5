#include <fmt/format.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/this_coro.hpp>
#include <cstring>
#include <utility>

#include "lib/core/look_up.hpp"
#include "lib/core/redis_url.hpp"
#include "lib/core/units.hpp"
#include "lib/core/with_timeout.hpp"
#include "lib/redis/connection.hpp"
#include "lib/redis/encode.hpp"
#include "lib/redis/log_in.hpp"
#include "lib/redis/session.hpp"

namespace plimsoll::redis {
namespace {

using Endpoint = asio::generic::stream_protocol::endpoint;
using Endpoints = std::vector<Endpoint>;

bool is_address(const std::string& host) {
  boost::system::error_code not_an_address;
  asio::ip::make_address(host, not_an_address);
  return !not_an_address;
}

Result<Endpoints> socket_endpoint(const std::string& path) {
  try {
    return Endpoints{asio::local::stream_protocol::endpoint(path)};
  } catch (const boost::system::system_error&) {
    return fail(Errc::kInvalidArgument,
                fmt::format("the socket's path is longer than the system allows: {}", path));
  }
}

asio::awaitable<Result<Endpoints>> endpoints_of(RedisUrl url) {
  if (!url.socket.empty()) co_return socket_endpoint(url.socket);
  std::vector<std::string> addresses{url.host};
  if (!is_address(url.host)) {
    auto found = co_await look_up(url.host);
    if (!found) co_return fail(std::move(found.error()));
    addresses = std::move(*found);
  }
  Endpoints endpoints;
  for (const auto& text : addresses) {
    boost::system::error_code not_an_address;
    const auto address = asio::ip::make_address(text, not_an_address);
    if (!not_an_address) endpoints.emplace_back(asio::ip::tcp::endpoint(address, url.port));
  }
  co_return endpoints;
}

// The first of the addresses that answers.
asio::awaitable<Result<Session::Socket>> open(RedisUrl url) {
  auto endpoints = co_await endpoints_of(url);
  if (!endpoints) co_return fail(std::move(endpoints.error()));
  Session::Socket socket(co_await asio::this_coro::executor);
  std::string reason = "no address";
  for (const auto& endpoint : *endpoints) {
    boost::system::error_code ignored;
    socket.close(ignored);
    const auto [error] = co_await socket.async_connect(endpoint, kAsValue);
    if (!error) {
      // Commands are collected here; the kernel must not wait for more.
      if (url.socket.empty()) socket.set_option(asio::ip::tcp::no_delay(true), ignored);
      co_return std::move(socket);
    }
    if (error == asio::error::operation_aborted) {
      co_return fail(Errc::kCancelled, "the caller gave up while connecting");
    }
    reason = error.message();
  }
  co_return fail(Errc::kUnavailable, fmt::format("no connection to {}: {}", url.display(), reason));
}

asio::awaitable<Result<std::shared_ptr<Session>>> log_in(Config config, RedisUrl url) {
  auto socket = co_await open(url);
  if (!socket) co_return fail(std::move(socket.error()));
  auto session = Session::make(std::move(*socket), config);
  const auto call = std::make_shared<Call>(*session, log_in_commands(url, config.client_name));
  auto answered = co_await Session::run(session, call, config.connect_timeout);
  const Error closed{Errc::kCancelled, "the log-in was not finished", {}};
  if (!answered) {
    session->shut_down(closed);
    co_return fail(std::move(answered.error()));
  }
  if (auto judged = judge_log_in(url, call->results()); !judged) {
    session->shut_down(closed);
    co_return fail(judged.error().code,
                   fmt::format("{}: {}", url.display(), judged.error().message));
  }
  session->forget_counters();
  co_return session;
}

Result<RedisUrl> check_config(const Config& config) {
  if (auto named = check_client_name(config.client_name); !named) {
    return fail(std::move(named.error()));
  }
  if (config.max_in_flight == 0 || config.max_reply_bytes == 0) {
    return fail(Errc::kInvalidArgument, "max_in_flight and max_reply_bytes must be above 0");
  }
  return RedisUrl::parse(config.url, "the url");
}

}  // namespace

asio::awaitable<Result<std::unique_ptr<Connection>>> Connection::connect(Config config) {
  const auto url = check_config(config);
  if (!url) co_return fail(url.error());
  const auto limit = config.connect_timeout;
  auto session = co_await with_timeout(log_in(std::move(config), *url), limit);
  const auto cancellation = co_await asio::this_coro::cancellation_state;
  if (!session && cancellation.cancelled() != asio::cancellation_type::none) {
    co_return fail(Errc::kCancelled, "the caller gave up while connecting");
  }
  if (!session) {
    co_return fail(Errc::kTimeout, fmt::format("no connection to {} within {}", url->display(),
                                               format_duration(limit)));
  }
  if (!*session) co_return fail(std::move(session->error()));
  co_return std::unique_ptr<Connection>(new Connection(std::move(**session)));
}

}  // namespace plimsoll::redis
