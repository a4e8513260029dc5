// A process that holds only version 1 of the master key, and reads on while others rotate. Standard
// input: the dsn, then the seed and the number of secrets; its end means stop. Standard output:
// "reading" after the first secret, and at the end the counts of ForeignCounts.

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <cstdio>
#include <exception>
#include <iostream>
#include <string>

#include "bench/vault_crypto/foreign.hpp"
#include "bench/vault_crypto/material.hpp"
#include "lib/pg/connection.hpp"
#include "lib/vault_crypto/checks.hpp"
#include "lib/vault_crypto/store.hpp"

namespace plimsoll::bench {
namespace {

bool told_to_stop() {
  pollfd input{STDIN_FILENO, POLLIN, 0};
  return ::poll(&input, 1, 0) != 0;
}

void count(ForeignCounts& counts, const vault::SecretName& name,
           const Result<vault::SecretStore::Read>& read, vault::Bytes out) {
  using Kind = vault::checks::Reading::Kind;
  if (!read) {
    const bool unknown = read.error().code == Errc::kNotFound &&
                         read.error().message.find("no master key version") != std::string::npos;
    ++(unknown ? counts.unknown_key : counts.others);
    return;
  }
  const auto seen = vault::checks::inspect(name.path, out.first(read->size));
  ++(seen.kind == Kind::kTorn                                     ? counts.torn
     : seen.kind == Kind::kRight && seen.version == read->version ? counts.right
                                                                  : counts.wrong);
}

template <class T>
T run(boost::asio::io_context& loop, boost::asio::awaitable<T> work) {
  auto future = boost::asio::co_spawn(loop, std::move(work), boost::asio::use_future);
  loop.restart();
  loop.run();
  return future.get();
}

template <class T>
T must(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

void read_on() {
  std::string dsn;
  std::uint64_t seed = 0;
  std::size_t secrets = 0;
  if (!std::getline(std::cin, dsn) || !(std::cin >> seed >> secrets) || secrets == 0) {
    throw std::runtime_error("the input is a line with a dsn, and one with a seed and a count");
  }
  vault::KeyRing ring;
  must(ring.add(must(
      vault::MasterKey::create(1, master_material(seed, 1), 0, vault::LockPolicy::kBestEffort))));
  must(ring.make_current(1));
  auto store = must(vault::SecretStore::create(ring, false, vault::LockPolicy::kBestEffort));
  boost::asio::io_context loop;
  pg::Config config;
  config.dsn = dsn;
  const auto connection = must(run(loop, pg::Connection::connect(std::move(config))));
  ForeignCounts counts;
  std::vector<std::byte> out(kSecretBytes);
  for (std::size_t turn = 0;; ++turn) {  // Every other read is of a secret that is being updated.
    const auto name = secret_name(turn % 2 == 0 ? turn / 2 % secrets : turn / 2 % kChanging);
    const auto read = run(loop, store.read(*connection, "foreign", name, out));
    count(counts, name, read, out);
    if (counts.right + counts.unknown_key + counts.others == 1) {
      fmt::print("reading\n");
      std::fflush(stdout);
    }
    if (told_to_stop()) break;
  }
  fmt::print("{} {} {} {} {}\n", counts.right, counts.unknown_key, counts.torn, counts.wrong,
             counts.others);
}

}  // namespace
}  // namespace plimsoll::bench

int main() {
  try {
    plimsoll::bench::read_on();
    return 0;
  } catch (const std::exception& error) {
    fmt::print("{}\n", error.what());
    return 1;
  }
}
