#include "lib/vault_crypto/rotation.hpp"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <thread>

#include "lib/vault_crypto/bytea.hpp"
#include "lib/vault_crypto/checks.hpp"
#include "lib/vault_crypto/database_pgtest.hpp"

namespace plimsoll::vault {
namespace {

using namespace std::chrono_literals;
using testing::Actor;
using testing::code_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::must;

class RotationTest : public testing::VaultTest {
 protected:
  static SecretName name_of(int i) { return {"acme", fmt::format("secret-{:05}", i)}; }
  static std::string plain_of(int i, std::uint64_t version = 1) {
    const auto name = name_of(i);
    return std::string(text_of(checks::telling_plaintext(name.path, version, 64)));
  }
  void add_secrets(int secrets) {
    for (int i = 0; i < secrets; ++i) must(actor().add(name_of(i), plain_of(i)));
  }
  void expect_unchanged(int secrets) {
    for (int i = 0; i < secrets; ++i) EXPECT_EQ(must(actor().read(name_of(i))), plain_of(i)) << i;
  }
  static RotationOptions options(std::uint32_t to, std::size_t batch = 7,
                                 std::chrono::milliseconds lease = 600s) {
    return {.to = to, .actor = "rotator", .batch = batch, .lease = lease};
  }
  Result<std::unique_ptr<Rotation>> begin(Actor& by, RotationOptions with) {
    return by.run(Rotation::begin(by.connection(), *ring_, std::move(with)));
  }
  std::int64_t under(std::uint32_t version) {
    return count(
        fmt::format("SELECT count(*) FROM vault_secrets WHERE master_version = {}", version));
  }
};

TEST_F(RotationTest, MovesEverySecretKeepsEveryPlaintextAndRetiresTheOldKey) {
  add_secrets(50);
  add_key(2);
  auto rotation = must(begin(actor(), options(2)));
  const auto sweep = must(actor().run(rotation->sweep()));
  EXPECT_EQ(sweep.rewrapped, 50u);
  EXPECT_EQ(sweep.overtaken, 0u);
  EXPECT_EQ(sweep.batches, 8u);
  EXPECT_THAT(sweep.unreadable, IsEmpty());
  EXPECT_EQ(under(1), 0);
  EXPECT_EQ(under(2), 50);
  EXPECT_THAT(must(actor().run(rotation->retire())), ElementsAre(1u));
  must(actor().run(rotation->end()));
  EXPECT_EQ(ring_->hold()->find(1), nullptr);
  EXPECT_EQ(count("SELECT count(*) FROM vault_keys WHERE version = 1"), 0);
  expect_unchanged(50);
  // Exactly one line for each secret, and one for each thing done to a key.
  EXPECT_EQ(count("SELECT count(*) FROM vault_audit WHERE action = 'rewrap'"), 50);
  EXPECT_EQ(count("SELECT count(DISTINCT path) FROM vault_audit WHERE action = 'rewrap' "
                  "AND actor = 'rotator' AND secret_version = 1 AND master_version = 2"),
            50);
  EXPECT_EQ(count("SELECT count(*) FROM vault_audit WHERE action = 'retire key' "
                  "AND actor = 'rotator' AND master_version = 1"),
            1);
}

TEST_F(RotationTest, TheEnvelopeHeaderAgreesWithItsRowAfterwards) {
  add_secrets(5);
  add_key(2);
  auto rotation = must(begin(actor(), options(2)));
  must(actor().run(rotation->sweep()));
  EXPECT_EQ(count("SELECT count(*) FROM vault_secrets WHERE get_byte(envelope, 43) = 2"), 5);
}

TEST_F(RotationTest, OfTwoRotatorsOneWinsAndTheOtherIsTold) {
  add_secrets(3);
  add_key(2);
  Actor other(dsn(), *ring_);
  auto rotation = must(begin(actor(), options(2)));
  const auto refused = begin(other, options(2));
  EXPECT_EQ(code_of(refused), Errc::kConflict);
  EXPECT_THAT(refused.error().message, HasSubstr("'rotator' is rotating"));
  must(actor().run(rotation->end()));
  EXPECT_TRUE(begin(other, options(2)));
}

TEST_F(RotationTest, OfManyRotatorsAtOnceExactlyOneWins) {
  add_key(2);
  std::atomic<int> won{0}, refused{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 6; ++t) {
    threads.emplace_back([&] {
      Actor mine(dsn(), *ring_);
      const auto rotation = begin(mine, options(2));
      ++(rotation ? won : refused);
      if (!rotation) {
        EXPECT_EQ(rotation.error().code, Errc::kConflict) << rotation.error().message;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(won, 1);
  EXPECT_EQ(refused, 5);
}

TEST_F(RotationTest, WhoSleptPastItsLeaseIsFencedOff) {
  add_secrets(20);
  add_key(2);
  auto slept = must(begin(actor(), options(2)));
  must(actor().run(slept->step()));
  sql().rows("UPDATE vault_lease SET expires_at = clock_timestamp()");
  Actor other(dsn(), *ring_);
  auto rotation = must(begin(other, options(2)));
  EXPECT_EQ(rotation->fence(), slept->fence() + 1);
  const auto before = under(2);
  EXPECT_EQ(code_of(actor().run(slept->step())), Errc::kConflict);
  EXPECT_EQ(code_of(actor().run(slept->retire())), Errc::kConflict);
  EXPECT_EQ(under(2), before);
  EXPECT_EQ(must(other.run(rotation->sweep())).rewrapped, 13u);
  expect_unchanged(20);
}

TEST_F(RotationTest, ALeaseThatRanOutButWasNotTakenStillServesItsHolder) {
  add_secrets(5);
  add_key(2);
  auto rotation = must(begin(actor(), options(2)));
  sql().rows("UPDATE vault_lease SET expires_at = clock_timestamp() - interval '1 hour'");
  must(actor().run(rotation->step()));
  EXPECT_EQ(count("SELECT (expires_at > clock_timestamp())::int FROM vault_lease"), 1);
}

TEST_F(RotationTest, ARowThatIsUpdatedUnderTheSweepIsLookedAtAgain) {
  add_secrets(3);
  add_key(2);
  auto rotation = must(begin(actor(), options(2)));
  // A writer holds the row while the batch reads it and waits to change it.
  testing::Plain writer(dsn());
  writer.rows("BEGIN; UPDATE vault_secrets SET row_version = row_version + 1 WHERE path LIKE '%1'");
  std::thread stepping([&] { must(actor().run(rotation->step())); });
  while (count("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND "
               "query LIKE '%overlay%' AND query NOT LIKE '%pg_stat%'") == 0) {
    std::this_thread::sleep_for(1ms);
  }
  writer.rows("COMMIT");
  stepping.join();
  EXPECT_EQ(rotation->so_far().overtaken, 1u);
  EXPECT_EQ(under(1), 1);
  const auto sweep = must(actor().run(rotation->sweep()));
  EXPECT_EQ(sweep.rewrapped, 3u);
  EXPECT_EQ(under(1), 0);
  expect_unchanged(3);
}

TEST_F(RotationTest, ControlWithoutTheRowVersionAnUpdateUnderTheSweepIsDestroyed) {
  // What the compare-and-swap is for: a block that was read before an update, put back after it,
  // belongs to another data key.
  add_secrets(1);
  const auto block = sql().text("SELECT substr(envelope, 1, 120) FROM vault_secrets");
  must(actor().update(name_of(0), 1, plain_of(0, 2)));
  sql().rows(fmt::format(
      "UPDATE vault_secrets SET envelope = overlay(envelope PLACING '{}'::bytea FROM 1 FOR 120)",
      block));
  EXPECT_EQ(code_of(actor().read(name_of(0))), Errc::kCorrupt);
}

TEST_F(RotationTest, TheOldKeyIsNotRetiredWhileASecretIsUnderIt) {
  add_secrets(3);
  add_key(2);
  const auto lagging = testing::make_ring(1);  // A process that has not heard of version 2.
  Actor late(dsn(), *lagging);
  auto rotation = must(begin(actor(), options(2)));
  must(actor().run(rotation->sweep()));
  must(late.add(name_of(3), plain_of(3)));
  const auto refused = actor().run(rotation->retire());
  EXPECT_EQ(code_of(refused), Errc::kConflict);
  EXPECT_THAT(refused.error().message, HasSubstr("sweep again"));
  EXPECT_NE(ring_->hold()->find(1), nullptr);
  EXPECT_EQ(must(actor().run(rotation->sweep())).rewrapped, 4u);
  must(actor().run(rotation->retire()));
  expect_unchanged(4);
  // Too late now: the database refuses the old version, and says what is wrong.
  const auto too_late = late.add(name_of(4), plain_of(4));
  EXPECT_EQ(code_of(too_late), Errc::kConflict);
  EXPECT_THAT(too_late.error().message, HasSubstr("retired"));
}

TEST_F(RotationTest, AWriteSealedBeforeTheRotationAndSentAfterItIsSealedAgain) {
  testing::Plain rotator(dsn());
  rotator.rows(fmt::format("INSERT INTO vault_keys (version, key_id) VALUES (2, '{}')",
                           to_bytea(testing::master(2, 64)->id())));
  // The old key is being retired, and the writer's foreign key waits to see how that ends.
  rotator.rows("BEGIN; DELETE FROM vault_keys WHERE version = 1");
  Result<std::uint64_t> added = fail(Errc::kInternal, "not yet");
  std::thread writing([&] { added = actor().add(name_of(0), plain_of(0)); });
  while (count("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND "
               "query LIKE '%INSERT INTO vault_secrets%' AND query NOT LIKE '%pg_stat%'") == 0) {
    std::this_thread::sleep_for(1ms);
  }
  add_key(2);
  must(ring_->make_current(2));
  rotator.rows("COMMIT");
  writing.join();
  EXPECT_EQ(must(std::move(added)), 1u);
  EXPECT_EQ(under(2), 1);
  expect_unchanged(1);
  EXPECT_EQ(count("SELECT count(*) FROM vault_audit WHERE action = 'create'"), 1);
}

TEST_F(RotationTest, ARowUnderAnOlderKeyThanTheRingHoldsIsReadOnceMoreAndNotForEver) {
  add_secrets(1);
  const auto trips = [](Actor& reader) {
    const auto before = reader.connection().counters().round_trips;
    EXPECT_EQ(code_of(reader.read(name_of(0))), Errc::kNotFound);
    return reader.connection().counters().round_trips - before;
  };
  KeyRing newer;  // Only version 2: as after a rotation that this row was read just before.
  must(newer.add(testing::master(2, 64)));
  must(newer.make_current(2));
  Actor ahead(dsn(), newer);
  EXPECT_EQ(trips(ahead), 2u);
  KeyRing other;  // Version 1 is no older than what it holds: reading again cannot help.
  must(other.add(testing::master(1, 99)));
  must(other.make_current(1));
  Actor foreign(dsn(), other);
  EXPECT_EQ(trips(foreign), 1u);
}

TEST_F(RotationTest, ARetiredVersionDoesNotComeBack) {
  add_key(2);
  auto rotation = must(begin(actor(), options(2)));
  must(actor().run(rotation->sweep()));
  must(actor().run(rotation->retire()));
  const auto again = testing::make_ring(1);
  Actor old(dsn(), *again);
  const auto refused = old.register_key();
  EXPECT_EQ(code_of(refused), Errc::kConflict);
  EXPECT_THAT(refused.error().message, HasSubstr("retired"));
}

TEST_F(RotationTest, ASecretThatCannotBeUnwrappedIsNamedAndKeepsItsKey) {
  add_secrets(10);
  sql().rows(
      "UPDATE vault_secrets SET envelope = set_byte(envelope, 80, get_byte(envelope, 80) # 1) "
      "WHERE path LIKE '%4'");
  add_key(2);
  auto rotation = must(begin(actor(), options(2)));
  const auto sweep = must(actor().run(rotation->sweep()));
  EXPECT_EQ(sweep.rewrapped, 9u);
  EXPECT_THAT(sweep.unreadable, ElementsAre(HasSubstr("altered bytes")));
  EXPECT_EQ(code_of(actor().run(rotation->retire())), Errc::kConflict);
  EXPECT_EQ(under(1), 1);
}

TEST_F(RotationTest, RefusesOptionsOutOfBoundsAndAVersionThatItHasNot) {
  add_key(2);
  EXPECT_EQ(code_of(begin(actor(), options(3))), Errc::kNotFound);
  EXPECT_EQ(code_of(begin(actor(), options(2, 0))), Errc::kInvalidArgument);
  EXPECT_EQ(code_of(begin(actor(), options(2, 10001))), Errc::kInvalidArgument);
  EXPECT_EQ(code_of(begin(actor(), options(2, 1, 0ms))), Errc::kInvalidArgument);
  auto nobody = options(2);
  nobody.actor = "";
  EXPECT_EQ(code_of(begin(actor(), nobody)), Errc::kInvalidArgument);
  EXPECT_EQ(count("SELECT count(*) FROM vault_lease"), 0);
}

TEST_F(RotationTest, AFailedBeginGivesTheLeaseBack) {
  KeyRing theirs;
  must(theirs.add(testing::master(1, 99)));
  Actor other(dsn(), theirs);
  EXPECT_EQ(code_of(other.run(Rotation::begin(other.connection(), theirs, options(1)))),
            Errc::kConflict);
  add_key(2);
  EXPECT_TRUE(begin(actor(), options(2)));
}

TEST_F(RotationTest, RewrapsCountAgainstTheGrantOfTheNewKey) {
  add_secrets(3);
  must(ring_->add(testing::master(2, 64, 0)));
  auto rotation = must(begin(actor(), options(2)));
  must(actor().run(rotation->sweep()));
  EXPECT_EQ(count("SELECT wraps_granted FROM vault_keys WHERE version = 2"), 65536);
  EXPECT_EQ(ring_->hold()->find(2)->budget().left(), 65533u);
}

}  // namespace
}  // namespace plimsoll::vault
