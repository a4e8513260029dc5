#include "lib/rls_queue/queue.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/this_coro.hpp>
#include <utility>

#include "lib/core/clock.hpp"
#include "lib/rls_queue/dispatcher.hpp"
#include "lib/rls_queue/stepwise.hpp"

namespace plimsoll::rls {
namespace {

constexpr auto kLongest = std::chrono::hours(24 * 365);  // What a clock can add without overflow.

Result<void> check(const Config& config) {
  if (config.connections > 0 && config.depth > 0) return {};
  return fail(Errc::kInvalidArgument,
              fmt::format("rls_queue: connections is {} and depth is {}; neither may be 0",
                          config.connections, config.depth));
}

}  // namespace

std::string_view name(Subject subject) noexcept {
  switch (subject) {
    case Subject::kSerial:
      return "serial";
    case Subject::kPipelined:
      return "pipelined";
    case Subject::kPool:
      return "pool";
  }
  return "unknown";
}

struct Queue::Core {
  Config config;
  Statements statements;
  std::shared_ptr<Dispatcher> dispatcher;
};

Queue::Queue(std::shared_ptr<const Core> core) noexcept : core_(std::move(core)) {}

Queue::~Queue() { close(); }

// These are no coroutines themselves: what they return holds the core, never the queue, so the
// queue may go while they are awaited.

asio::awaitable<Result<std::unique_ptr<Queue>>> Queue::open(Config config) {
  auto statements = statements_for(config.settings);
  return make(std::move(config), std::move(statements));
}

asio::awaitable<Result<std::unique_ptr<Queue>>> Queue::open(Config config, Statements statements) {
  return make(std::move(config), std::move(statements));
}

asio::awaitable<Result<Answers>> Queue::run(Job job) { return run_job(core_, std::move(job)); }

asio::awaitable<std::vector<Result<pg::Rows>>> Queue::inspect(pg::Query query) {
  return look(core_, std::move(query));
}

asio::awaitable<Result<std::unique_ptr<Queue>>> Queue::make(Config config, Result<Statements> all) {
  if (!all) co_return fail(std::move(all.error()));
  if (auto bad = check(config); !bad) co_return fail(std::move(bad.error()));
  auto probe = probe_for(config.settings);
  if (!probe) co_return fail(std::move(probe.error()));
  const auto executor = co_await asio::this_coro::executor;
  auto dispatcher = co_await Dispatcher::open(executor, config, std::move(*probe));
  if (!dispatcher) co_return fail(std::move(dispatcher.error()));
  auto core = std::make_shared<const Core>(
      Core{std::move(config), std::move(*all), std::move(*dispatcher)});
  co_return std::unique_ptr<Queue>(new Queue(std::move(core)));
}

asio::awaitable<Result<Answers>> Queue::run_job(std::shared_ptr<const Core> core, Job job) {
  const auto& config = core->config;
  const auto& statements = core->statements;
  if (auto bad = check_job(job, statements.with_actor, config.max_job_bytes); !bad) {
    co_return fail(std::move(bad.error()));
  }
  const auto limit = job.timeout.value_or(config.connection.statement_timeout);
  const auto deadline = Clock::now() + std::min<Nanoseconds>(limit, kLongest);
  const bool takes_turns = config.subject != Subject::kSerial;
  auto ticket = std::make_shared<Ticket>(takes_turns ? job.identity.tenant() : std::string(),
                                         job.caller, job.statements.size(), deadline);
  auto place = co_await Dispatcher::enter(core->dispatcher, std::move(ticket));
  if (!place) co_return fail(std::move(place.error()));
  auto group = group_of(statements, std::move(job), place->link().role, !config.connection.pooled);
  const bool sealed = !statements.seal.empty();
  if (!takes_turns) {
    auto steps = co_await run_stepwise(std::move(*place), std::move(group), deadline);
    co_return judge(std::move(steps), sealed);
  }
  auto& connection = *place->link().connection;
  auto results = co_await connection.pipeline(std::move(group), time_left(deadline));
  co_return judge(std::move(results), sealed);
}

asio::awaitable<std::vector<Result<pg::Rows>>> Queue::look(std::shared_ptr<const Core> core,
                                                           pg::Query query) {
  std::vector<Result<pg::Rows>> all;
  if (core->config.subject == Subject::kSerial) {  // Not in the middle of a job.
    const auto deadline = Clock::now() + core->config.connection.statement_timeout;
    auto ticket = std::make_shared<Ticket>(std::string(), 0, 1, deadline);
    auto place = co_await Dispatcher::enter(core->dispatcher, std::move(ticket));
    if (!place) {
      all.emplace_back(fail(std::move(place.error())));
      co_return all;
    }
    auto rows = co_await place->link().connection->query(std::move(query));
    all.push_back(std::move(rows));
    co_return all;
  }
  const auto links = core->dispatcher->links();
  for (const auto& link : links) {
    auto rows = co_await link->connection->query(query);
    all.push_back(std::move(rows));
  }
  core->dispatcher->look_after_links();
  co_return all;
}

void Queue::close() { core_->dispatcher->close(); }

std::size_t Queue::waiting() const noexcept { return core_->dispatcher->waiting(); }

std::size_t Queue::connections() const { return core_->dispatcher->links().size(); }

std::vector<int> Queue::backend_pids() const {
  std::vector<int> pids;
  for (const auto& link : core_->dispatcher->links()) {
    pids.push_back(link->connection->backend_pid());
  }
  return pids;
}

pg::Counters Queue::counters() const noexcept { return core_->dispatcher->counters(); }

}  // namespace plimsoll::rls
