// Rotation with others at work: readers and writers of the same process, a process that is killed
// in the middle, and one that has only the old key.
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <thread>

#include "lib/vault_crypto/bytea.hpp"
#include "lib/vault_crypto/checks.hpp"
#include "lib/vault_crypto/database_pgtest.hpp"
#include "lib/vault_crypto/rotation.hpp"

namespace plimsoll::vault {
namespace {

using namespace std::chrono_literals;
using Kind = checks::Reading::Kind;
using testing::Actor;
using testing::must;

constexpr int kSecrets = 60;

SecretName name_of(int i) { return {"acme", fmt::format("secret-{:05}", i)}; }
std::string plain_of(int i, std::uint64_t version) {
  return std::string(text_of(checks::telling_plaintext(name_of(i).path, version, 64)));
}

class RotationUnderLoad : public testing::VaultTest {
 protected:
  void add_secrets() {
    for (int i = 0; i < kSecrets; ++i) must(actor().add(name_of(i), plain_of(i, 1)));
  }
  std::int64_t under(std::uint32_t version) {
    return count(
        fmt::format("SELECT count(*) FROM vault_secrets WHERE master_version = {}", version));
  }
  /// Every envelope that the table holds now.
  void log_nonces(checks::NonceLog& log) {
    for (const auto& row : sql().rows("SELECT envelope FROM vault_secrets")) {
      log.add_stored(must(from_bytea(row.front())));
    }
  }
};

struct Counts {
  std::atomic<long> right{0}, torn{0}, wrong{0}, failed{0};
  void add(int i, const Result<std::string>& text) {
    if (!text) {
      ++failed;
      ADD_FAILURE() << text.error().message;
      return;
    }
    const auto reading = checks::inspect(name_of(i).path, bytes_of(*text));
    ++(reading.kind == Kind::kRight ? right : reading.kind == Kind::kTorn ? torn : wrong);
  }
};

TEST_F(RotationUnderLoad, ReadersAndWritersGoOnWithoutOneFailedOrWrongRead) {
  add_secrets();
  std::atomic<bool> stop{false};
  Counts counts;
  std::atomic<long> written{0}, write_failed{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&, t] {
      Actor reader(dsn(), *ring_, "reader", false);
      for (int i = t; !stop; i = (i + 1) % kSecrets) counts.add(i, reader.read(name_of(i)));
    });
  }
  threads.emplace_back([&] {
    Actor writer(dsn(), *ring_, "writer");
    std::vector<std::uint64_t> versions(kSecrets, 1);
    for (int i = 0; !stop; i = (i + 1) % kSecrets) {
      auto& version = versions[static_cast<std::size_t>(i)];
      const auto next = writer.update(name_of(i), version, plain_of(i, version + 1));
      if (next) version = *next;
      ++(next ? written : write_failed);
    }
  });
  checks::NonceLog nonces;
  for (std::uint32_t to = 2; to <= 5; ++to) {
    log_nonces(nonces);
    add_key(to);
    auto rotation = must(actor().run(Rotation::begin(
        actor().connection(), *ring_, RotationOptions{.to = to, .actor = "rotator", .batch = 8})));
    must(actor().run(rotation->sweep()));
    for (;;) {  // A write that was under way with the old key may have come in behind the sweep.
      const auto retired = actor().run(rotation->retire());
      if (retired) break;
      ASSERT_EQ(retired.error().code, Errc::kConflict) << retired.error().message;
      must(actor().run(rotation->sweep()));
    }
    must(actor().run(rotation->end()));
    const long before = counts.right;
    while (counts.right + counts.failed < before + 20) std::this_thread::sleep_for(1ms);
  }
  stop = true;
  for (auto& thread : threads) thread.join();
  log_nonces(nonces);
  EXPECT_GT(counts.right, 80);
  EXPECT_EQ(counts.failed, 0);
  EXPECT_EQ(counts.torn, 0);
  EXPECT_EQ(counts.wrong, 0);
  EXPECT_GT(written, 0);
  EXPECT_EQ(write_failed, 0);
  EXPECT_EQ(nonces.repeats(), 0);
  EXPECT_EQ(under(5), kSecrets);
  EXPECT_EQ(count("SELECT count(*) FROM vault_audit WHERE action = 'update'"), written);
}

TEST_F(RotationUnderLoad, KilledInTheMiddleItIsResumedByBeginningAgain) {
  add_secrets();
  // Everything that the child uses, it makes itself: only memory is shared, and that by copy.
  const std::string dsn = this->dsn();
  const pid_t child = ::fork();
  if (child == 0) {
    try {
      const auto ring = testing::make_ring(1);
      must(ring->add(testing::master(2, 64)));
      Actor rotator(dsn, *ring);
      auto rotation = must(rotator.run(
          Rotation::begin(rotator.connection(), *ring,
                          RotationOptions{.to = 2, .actor = "killed", .batch = 3, .lease = 300s})));
      for (;;) {
        if (!must(rotator.run(rotation->step()))) ::_exit(3);  // It was to be killed before.
        std::this_thread::sleep_for(50ms);
      }
    } catch (...) {
      ::_exit(4);
    }
  }
  while (under(2) < 6) {
    ASSERT_EQ(::waitpid(child, nullptr, WNOHANG), 0) << "the child ended by itself";
    std::this_thread::sleep_for(1ms);
  }
  ASSERT_EQ(::kill(child, SIGKILL), 0);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status)) << "exit status " << WEXITSTATUS(status);
  // The server ends the dead client's session, and its statement with it, in its own time.
  while (count("SELECT count(*) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND "
               "query LIKE '%overlay%' AND state = 'active'") != 0) {
    std::this_thread::sleep_for(1ms);
  }
  const auto moved = under(2);
  EXPECT_GE(moved, 6);
  EXPECT_LT(moved, kSecrets);
  EXPECT_EQ(under(1) + moved, kSecrets);

  add_key(2);
  const auto begin = [&] {
    return actor().run(Rotation::begin(actor().connection(), *ring_,
                                       RotationOptions{.to = 2, .actor = "resumer", .batch = 16}));
  };
  const auto held = begin();  // The dead one's lease has not run out yet.
  EXPECT_EQ(testing::code_of(held), Errc::kConflict);
  sql().rows("UPDATE vault_lease SET expires_at = clock_timestamp()");
  auto rotation = must(begin());
  const auto sweep = must(actor().run(rotation->sweep()));
  EXPECT_EQ(sweep.rewrapped, static_cast<std::uint64_t>(kSecrets - moved));
  EXPECT_EQ(under(1), 0);
  must(actor().run(rotation->retire()));
  for (int i = 0; i < kSecrets; ++i) EXPECT_EQ(must(actor().read(name_of(i))), plain_of(i, 1));
  // Each secret was rewrapped once, by one or the other.
  EXPECT_EQ(count("SELECT count(*) FROM vault_audit WHERE action = 'rewrap'"), kSecrets);
  EXPECT_EQ(count("SELECT count(DISTINCT path) FROM vault_audit WHERE action = 'rewrap'"),
            kSecrets);
}

TEST_F(RotationUnderLoad, AProcessWithOnlyTheOldKeyIsToldSoAndNeverReadsWrongly) {
  add_secrets();
  const std::string dsn = this->dsn();
  int counts[2];
  ASSERT_EQ(::pipe(counts), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    try {
      const auto ring = testing::make_ring(1);
      Actor foreign(dsn, *ring, "foreign", false);
      // Right, unknown key, anything else; until every secret is out of reach.
      long seen[3] = {0, 0, 0};
      for (int i = 0, missed = 0; missed < kSecrets; i = (i + 1) % kSecrets) {
        const auto text = foreign.read(name_of(i));
        const bool right =
            text && checks::inspect(name_of(i).path, bytes_of(*text)).kind == Kind::kRight;
        const bool unknown =
            !text && text.error().code == Errc::kNotFound &&
            text.error().message.find("no master key version 2") != std::string::npos;
        missed = unknown ? missed + 1 : 0;
        ++seen[right ? 0 : unknown ? 1 : 2];
        if (seen[0] == 1) static_cast<void>(!::write(counts[1], "r", 1));
      }
      static_cast<void>(!::write(counts[1], seen, sizeof(seen)));
      ::_exit(0);
    } catch (...) {
      ::_exit(4);
    }
  }
  ::close(counts[1]);
  char ready = 0;
  ASSERT_EQ(::read(counts[0], &ready, 1), 1) << "the child did not read once";
  add_key(2);
  auto rotation = must(actor().run(Rotation::begin(
      actor().connection(), *ring_, RotationOptions{.to = 2, .actor = "rotator", .batch = 8})));
  must(actor().run(rotation->sweep()));
  must(actor().run(rotation->retire()));
  std::string rest;
  char buffer[4096];
  for (ssize_t got = 0; (got = ::read(counts[0], buffer, sizeof(buffer))) > 0;) {
    rest.append(buffer, static_cast<std::size_t>(got));
  }
  int status = 1;
  ::waitpid(child, &status, 0);
  ::close(counts[0]);
  ASSERT_EQ(status, 0);
  long seen[3];
  ASSERT_GE(rest.size(), sizeof(seen));
  std::memcpy(seen, rest.data() + rest.size() - sizeof(seen), sizeof(seen));
  EXPECT_GT(seen[0], 0);
  EXPECT_GE(seen[1], kSecrets);
  EXPECT_EQ(seen[2], 0);
}

}  // namespace
}  // namespace plimsoll::vault
