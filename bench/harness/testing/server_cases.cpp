#include "bench/harness/testing/server_cases.hpp"

#include <signal.h>

#include <chrono>
#include <thread>

#include "bench/harness/case.hpp"
#include "bench/harness/infra.hpp"
#include "fixtures/postgres/client.hpp"

namespace plimsoll::bench::testing {
namespace {

/// Fails as a case does whose server has gone: with the reason of whoever missed it first.
void miss_the_server(Case& c) {
  const auto server = postgres();
  if (!server) return c.fail(server.error());
  if (!server->may_disturb) return c.fail("the probe kills only a server of its own");
  while (!postgres_death()) {
    ::kill(server->postmaster_pid, SIGKILL);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  const auto client = fixtures::Client::connect(server->dsn);
  if (client) return c.fail("connected to a dead server");
  c.fail(client.error());
}

}  // namespace

void register_server_cases() {
  cpu_case("probe/dead_server/loop", miss_the_server, {Resource::kDb, true});
  load_case("probe/dead_server/load", miss_the_server);
  work_case("probe/dead_server/work", miss_the_server);
}

}  // namespace plimsoll::bench::testing
