#include "bench/harness/infra.hpp"

#include <fmt/format.h>

#include <array>

#include "bench/harness/host.hpp"
#include "bench/harness/session.hpp"
#include "fixtures/process/identity.hpp"

namespace plimsoll::bench {
namespace {

bool needed = false;
std::optional<fixtures::ProcessIdentity> postmaster;  // Of a server that is ours.

std::string_view name(fixtures::Provider provider) {
  constexpr std::array<std::string_view, 3> kNames{"external", "docker", "local"};
  return kNames[static_cast<std::size_t>(provider)];
}

}  // namespace

void needs_postgres() { needed = true; }

bool postgres_is_needed() noexcept { return needed; }

Result<fixtures::Postgres> postgres() {
  auto server = fixtures::Infra::instance().postgres();
  if (!server || used_infra().servers.contains("postgres")) return server;
  used_infra().servers["postgres"] = {{"provider", name(server->provider)},
                                      {"version", server->version},
                                      {"major", server->major},
                                      {"settings", server->settings},
                                      {"settings_hash", server->settings_hash}};
  used_infra().postgres_major = server->major;
  if (server->postmaster_pid > 0) {
    host_watch().add_server(server->postmaster_pid);
    if (const auto found = fixtures::ProcessIdentity::of(server->postmaster_pid)) {
      postmaster = *found;
    }
  }
  return server;
}

Result<fixtures::Redis> redis() {
  auto server = fixtures::Infra::instance().redis();
  if (!server || used_infra().servers.contains("redis")) return server;
  used_infra().servers["redis"] = {{"provider", name(server->provider)},
                                   {"version", server->version},
                                   {"major", server->major},
                                   {"settings", server->settings},
                                   {"settings_hash", server->settings_hash}};
  if (server->server_pid > 0) host_watch().add_server(server->server_pid);
  return server;
}

Result<fixtures::Pooler> pooler() {
  auto found = fixtures::Infra::instance().pooler();
  if (!found || used_infra().servers.contains("pgbouncer")) return found;
  used_infra().servers["pgbouncer"] = {{"provider", name(found->provider)},
                                       {"version", found->version}};
  if (found->pid > 0) host_watch().add_server(found->pid);
  return found;
}

std::optional<std::string> postgres_death() {
  if (!postmaster || fixtures::liveness(*postmaster) != fixtures::Liveness::kDead) {
    return std::nullopt;
  }
  return fmt::format("the server is dead (its postmaster was process {})", postmaster->pid);
}

}  // namespace plimsoll::bench
