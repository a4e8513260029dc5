#include <fmt/format.h>
#include <libpq-fe.h>

#include <array>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/this_coro.hpp>
#include <utility>

#include "lib/core/units.hpp"
#include "lib/core/with_timeout.hpp"
#include "lib/pg/connection.hpp"
#include "lib/pg/dsn.hpp"
#include "lib/pg/log_in.hpp"
#include "lib/pg/look_up.hpp"
#include "lib/pg/pooler.hpp"
#include "lib/pg/session.hpp"
#include "lib/pg/sqlstate.hpp"

namespace plimsoll::pg {
namespace {

using asio::posix::stream_descriptor;

// libpq's socket for the length of one wait: the next step may close it and open another.
class Watch {
 public:
  Watch(const asio::any_io_executor& executor, int socket) : descriptor_(executor, socket) {}
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  ~Watch() { descriptor_.release(); }
  [[nodiscard]] stream_descriptor& operator*() noexcept { return descriptor_; }

 private:
  stream_descriptor descriptor_;
};

asio::awaitable<boost::system::error_code> wait_once(asio::any_io_executor executor, int socket,
                                                     stream_descriptor::wait_type direction) {
  Watch watch(executor, socket);
  const auto [error] = co_await (*watch).async_wait(direction, kAsValue);
  co_return error;
}

std::string join(const std::vector<Host>& hosts, std::string Host::*part) {
  std::string list;
  for (const auto& host : hosts) {
    if (&host != &hosts.front()) list += ',';
    list += host.*part;
  }
  return list;
}

ConnectionPtr start(const Config& config, const std::vector<Host>& hosts) {
  const auto host = join(hosts, &Host::host);
  const auto address = join(hosts, &Host::address);
  const auto port = join(hosts, &Host::port);
  const bool has_address = address.find_first_not_of(',') != std::string::npos;
  const bool has_host = host.find_first_not_of(',') != std::string::npos;
  const bool has_port = port.find_first_not_of(',') != std::string::npos;
  // Words before `dbname`, which is the dsn, give way to it; those behind it win. libpq takes an
  // empty word as absent.
  const std::array keywords{"client_encoding",
                            "fallback_application_name",
                            "dbname",
                            "host",
                            "hostaddr",
                            "port",
                            static_cast<const char*>(nullptr)};
  const std::array values{"UTF8",
                          config.application_name.c_str(),
                          config.dsn.c_str(),
                          has_host ? host.c_str() : nullptr,
                          has_address ? address.c_str() : nullptr,
                          has_port ? port.c_str() : nullptr,
                          static_cast<const char*>(nullptr)};
  constexpr int kExpandDbname = 1;
  return ConnectionPtr(PQconnectStartParams(keywords.data(), values.data(), kExpandDbname));
}

asio::awaitable<Result<ConnectionPtr>> log_in_to(Config config, std::vector<Host> unresolved) {
  const auto executor = co_await asio::this_coro::executor;
  auto hosts = co_await look_up(std::move(unresolved));
  if (!hosts) co_return fail(std::move(hosts.error()));
  auto connection = start(config, *hosts);
  if (connection == nullptr) co_return fail(Errc::kInternal, "libpq has no memory");
  if (config.pooled) {
    if (auto fits = check_pooled(connection.get()); !fits) co_return fail(std::move(fits.error()));
  }
  PQsetErrorVerbosity(connection.get(), PQERRORS_VERBOSE);
  PQsetNoticeReceiver(
      connection.get(), [](void*, const PGresult*) {}, nullptr);

  auto next =
      PQstatus(connection.get()) == CONNECTION_BAD ? PGRES_POLLING_FAILED : PGRES_POLLING_WRITING;
  while (next != PGRES_POLLING_OK) {
    if (next == PGRES_POLLING_FAILED) {
      co_return fail(explain_pooler(error_of_connect(
          PQerrorMessage(connection.get()), PQconnectionNeedsPassword(connection.get()) != 0)));
    }
    const auto direction = next == PGRES_POLLING_READING ? stream_descriptor::wait_read
                                                         : stream_descriptor::wait_write;
    const auto error = co_await wait_once(executor, PQsocket(connection.get()), direction);
    if (error) co_return fail(Errc::kCancelled, "the caller gave up while connecting");
    next = PQconnectPoll(connection.get());
  }
  PQsetErrorVerbosity(connection.get(), PQERRORS_DEFAULT);
  if (PQsetnonblocking(connection.get(), 1) != 0) {
    co_return fail(Errc::kInternal, one_line(PQerrorMessage(connection.get())));
  }
  co_return std::move(connection);
}

}  // namespace

asio::awaitable<Result<ConnectionPtr>> log_in(Config config) {
  auto dsn = parse_dsn(config.dsn);
  if (!dsn) co_return fail(std::move(dsn.error()));
  const auto limit = config.connect_timeout;
  auto connection = co_await with_timeout(log_in_to(std::move(config), dsn->hosts), limit);
  const auto cancellation = co_await asio::this_coro::cancellation_state;
  if (!connection && cancellation.cancelled() != asio::cancellation_type::none) {
    co_return fail(Errc::kCancelled, "the caller gave up while connecting");
  }
  if (!connection) {
    co_return fail(Errc::kTimeout, fmt::format("no connection to {} within {}", dsn->display(),
                                               format_duration(limit)));
  }
  co_return std::move(*connection);
}

asio::awaitable<Result<std::unique_ptr<Connection>>> Connection::connect(Config config) {
  const auto executor = co_await asio::this_coro::executor;
  Result<ConnectionPtr> connection = co_await log_in(config);
  if (!connection) co_return fail(std::move(connection.error()));
  if (PQenterPipelineMode(connection->get()) != 1) {
    co_return fail(Errc::kInternal, one_line(PQerrorMessage(connection->get())));
  }
  auto session = Session::make(executor, std::move(*connection), config);
  co_return std::unique_ptr<Connection>(new Connection(std::move(session)));
}

}  // namespace plimsoll::pg
