#include "lib/vault_crypto/store.hpp"

#include <gmock/gmock.h>

#include <atomic>
#include <thread>

#include "lib/vault_crypto/database_pgtest.hpp"

namespace plimsoll::vault {
namespace {

using testing::Actor;
using testing::code_of;
using ::testing::HasSubstr;
using testing::must;

const SecretName kName{"acme", "db/password"};
const SecretName kOther{"acme", "db/user"};

class Store : public testing::VaultTest {
 protected:
  std::string audit() {
    std::string lines;
    for (const auto& row : sql().rows("SELECT actor, action, coalesce(tenant, '-'), "
                                      "coalesce(path, '-'), coalesce(secret_version, 0), "
                                      "coalesce(master_version, 0) FROM vault_audit ORDER BY id")) {
      lines += fmt::format("{}\n", fmt::join(row, " "));
    }
    return lines;
  }
};

TEST_F(Store, AddsReadsUpdatesAndRemovesUnderGrowingVersions) {
  EXPECT_EQ(must(actor().add(kName, "first")), 1u);
  EXPECT_EQ(must(actor().read(kName)), "first");
  EXPECT_EQ(must(actor().update(kName, 1, "second")), 2u);
  EXPECT_EQ(must(actor().read(kName)), "second");
  must(actor().remove(kName, 2));
  EXPECT_EQ(code_of(actor().read(kName)), Errc::kNotFound);
  EXPECT_EQ(must(actor().add(kName, "third")), 3u);
  EXPECT_EQ(must(actor().read(kName)), "third");
}

TEST_F(Store, NotesWhoDidWhatToWhichVersionExactlyOnce) {
  must(actor().add(kName, "first"));
  must(actor().update(kName, 1, "second"));
  Actor other(dsn(), *ring_, "other");
  must(other.read(kName));
  must(other.remove(kName, 2));
  must(other.add(kName, "third"));
  must(other.load("acme"));
  EXPECT_EQ(audit(),
            "tester register key - - 0 1\n"
            "tester create acme db/password 1 1\n"
            "tester update acme db/password 2 1\n"
            "other read acme db/password 2 1\n"
            "other delete acme db/password 2 0\n"
            "other create acme db/password 3 1\n"
            "other load acme - 0 0\n");
}

TEST_F(Store, WhatFailsIsNotNoted) {
  must(actor().add(kName, "first"));
  const std::string before = audit();
  EXPECT_FALSE(actor().add(kName, "again"));
  EXPECT_FALSE(actor().update(kName, 7, "wrong version"));
  EXPECT_FALSE(actor().remove(kName, 7));
  EXPECT_FALSE(actor().read(kOther));
  EXPECT_EQ(audit(), before);
}

TEST_F(Store, TheAuditTrailCanOnlyGrow) {
  must(actor().add(kName, "first"));
  for (const char* change : {"UPDATE vault_audit SET actor = 'nobody'", "DELETE FROM vault_audit",
                             "TRUNCATE vault_audit"}) {
    EXPECT_THROW(sql().rows(change), std::runtime_error) << change;
    const auto refused = actor().run(actor().connection().query(std::string(change)));
    EXPECT_EQ(code_of(refused), Errc::kRefused) << change;
  }
  EXPECT_EQ(count("SELECT count(*) FROM vault_audit"), 2);
}

TEST_F(Store, ReadsAreNotNotedWhereTheyNeedNotBe) {
  must(actor().add(kName, "first"));
  Actor quiet(dsn(), *ring_, "quiet", false);
  EXPECT_EQ(must(quiet.read(kName)), "first");
  EXPECT_EQ(count("SELECT count(*) FROM vault_audit WHERE actor = 'quiet'"), 0);
  EXPECT_EQ(quiet.connection().counters().commits, 0u);
}

TEST_F(Store, TellsATakenNameAStaleVersionAndAMissingSecretApart) {
  must(actor().add(kName, "first"));
  const auto taken = actor().add(kName, "again");
  EXPECT_EQ(code_of(taken), Errc::kConflict);
  EXPECT_THAT(taken.error().message, HasSubstr("exists"));
  must(actor().update(kName, 1, "second"));
  const auto stale = actor().update(kName, 1, "too late");
  EXPECT_EQ(code_of(stale), Errc::kConflict);
  EXPECT_THAT(stale.error().message, HasSubstr("is at version 2, not 1"));
  EXPECT_EQ(code_of(actor().update(kOther, 1, "x")), Errc::kNotFound);
  EXPECT_EQ(code_of(actor().remove(kOther, 1)), Errc::kNotFound);
  EXPECT_EQ(must(actor().read(kName)), "second");
}

TEST_F(Store, RefusesNamesActorsAndSizesOutOfBoundsBeforeAnythingIsSent) {
  const auto sent = actor().connection().counters().round_trips;
  const std::string long_name(513, 'x');
  for (const SecretName& bad :
       {SecretName{"", "p"}, SecretName{"t", ""}, SecretName{long_name, "p"},
        SecretName{"t", long_name}, SecretName{"t", std::string("a\0b", 3)}}) {
    EXPECT_EQ(code_of(actor().add(bad, "x")), Errc::kInvalidArgument);
    EXPECT_EQ(code_of(actor().read(bad)), Errc::kInvalidArgument);
    EXPECT_EQ(code_of(actor().update(bad, 1, "x")), Errc::kInvalidArgument);
    EXPECT_EQ(code_of(actor().remove(bad, 1)), Errc::kInvalidArgument);
  }
  Actor nobody(dsn(), *ring_, "");
  EXPECT_EQ(code_of(nobody.add(kName, "x")), Errc::kInvalidArgument);
  EXPECT_EQ(code_of(actor().add(kName, std::string(kMaxMessage + 1, 'x'))), Errc::kInvalidArgument);
  EXPECT_EQ(actor().connection().counters().round_trips, sent);
}

TEST_F(Store, TakesNamesAsTheyAreWhateverIsInThem) {
  for (const std::string name : {"it's", "x'; DROP TABLE vault_secrets; --", "\"q\"", "{a,b}",
                                 "a\\b", "NULL", "%", "Zürich", "東京"}) {
    EXPECT_EQ(must(actor().add({name, name}, name)), 1u);
    EXPECT_EQ(must(actor().read({name, name})), name);
  }
}

TEST_F(Store, NamesThatJoinToTheSameLettersAreDifferentSecrets) {
  must(actor().add({"ab", "c"}, "of ab"));
  must(actor().add({"a", "bc"}, "of a"));
  sql().rows(
      "UPDATE vault_secrets a SET envelope = b.envelope FROM vault_secrets b "
      "WHERE a.tenant = 'a' AND b.tenant = 'ab'");
  EXPECT_EQ(code_of(actor().read({"a", "bc"})), Errc::kCorrupt);
}

TEST_F(Store, CiphertextsSwappedBetweenRowsOpenInNeither) {
  must(actor().add(kName, "the password"));
  must(actor().add(kOther, "the user"));
  sql().rows(
      "UPDATE vault_secrets a SET envelope = b.envelope FROM vault_secrets b WHERE a.id <> b.id");
  EXPECT_EQ(code_of(actor().read(kName)), Errc::kCorrupt);
  EXPECT_EQ(code_of(actor().read(kOther)), Errc::kCorrupt);
}

TEST_F(Store, AnOlderEnvelopeOfTheSameSecretPutBackDoesNotOpen) {
  must(actor().add(kName, "first"));
  const std::string old = sql().text("SELECT envelope FROM vault_secrets");
  must(actor().update(kName, 1, "second"));
  sql().rows(fmt::format("UPDATE vault_secrets SET envelope = '{}'", old));
  EXPECT_EQ(code_of(actor().read(kName)), Errc::kCorrupt);
}

TEST_F(Store, AStoredByteThatChangesIsNoticed) {
  must(actor().add(kName, "first"));
  const auto size = count("SELECT octet_length(envelope) FROM vault_secrets");
  for (std::int64_t at = 0; at < size; at += 13) {
    const auto flip = fmt::format(
        "UPDATE vault_secrets SET envelope = set_byte(envelope, {0}, get_byte(envelope, {0}) # 1)",
        at);
    sql().rows(flip);
    EXPECT_FALSE(actor().read(kName)) << "byte " << at;
    sql().rows(flip);
  }
  EXPECT_EQ(must(actor().read(kName)), "first");
}

TEST_F(Store, ARowThatNamesAnotherMasterKeyThanItsEnvelopeIsCorrupt) {
  must(actor().add(kName, "first"));
  sql().rows(
      "INSERT INTO vault_keys (version, key_id) VALUES (2, decode(repeat('00', 16), 'hex'))");
  sql().rows("UPDATE vault_secrets SET master_version = 2");
  EXPECT_EQ(code_of(actor().read(kName)), Errc::kCorrupt);
}

TEST_F(Store, TheDatabaseNeverSeesThePlaintext) {
  must(actor().add(kName, "correct horse battery staple"));
  EXPECT_EQ(count("SELECT count(*) FROM vault_secrets WHERE "
                  "position('horse'::bytea IN envelope) > 0"),
            0);
  EXPECT_EQ(count("SELECT octet_length(envelope) FROM vault_secrets"), 152 + 28);
}

// The current version, read by a mere read.
std::uint64_t version_of(Actor& actor) {
  testing::Buffer out(64);
  return must(actor.run(actor.store().read(actor.connection(), "tester", kName, out))).version;
}

TEST_F(Store, OfManyUpdatesOfOneVersionExactlyOneWins) {
  must(actor().add(kName, "0"));
  std::atomic<int> won{0}, lost{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      Actor mine(dsn(), *ring_);
      for (std::uint64_t version = 1; version <= 25; ++version) {
        const auto updated = mine.update(kName, version, std::to_string(version));
        ++(updated ? won : lost);
        if (!updated) {
          EXPECT_EQ(updated.error().code, Errc::kConflict);
        }
        // Wait for whoever won, so that all meet at the next version.
        while (version_of(mine) <= version) std::this_thread::yield();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(won, 25);
  EXPECT_EQ(lost, 75);
  EXPECT_EQ(count("SELECT count(*) FROM vault_audit WHERE action = 'update'"), 25);
  EXPECT_EQ(must(actor().read(kName)), "25");
}

TEST_F(Store, ASecretUnderAKeyThatTheDatabaseDoesNotKnowIsRefused) {
  add_key(2);
  must(ring_->make_current(2));
  const auto refused = actor().add(kName, "first");
  EXPECT_EQ(code_of(refused), Errc::kConflict);
  EXPECT_THAT(refused.error().message, HasSubstr("not registered"));
}

TEST_F(Store, AVersionIsOneKeyForAllProcesses) {
  KeyRing theirs;
  must(theirs.add(testing::master(1, 99)));
  must(theirs.make_current(1));
  Actor other(dsn(), theirs);
  EXPECT_EQ(code_of(other.register_key()), Errc::kConflict);
  must(actor().register_key());  // Again, and no error.
  EXPECT_EQ(count("SELECT count(*) FROM vault_audit WHERE action = 'register key'"), 1);
}

TEST_F(Store, WrapsAreGrantedInBlocksByTheDatabaseOverAllProcesses) {
  const auto counted = [] {
    auto ring = std::make_unique<KeyRing>();
    must(ring->add(testing::master(1, 32, 0)));
    must(ring->make_current(1));
    return ring;
  };
  const auto one = counted(), two = counted();
  Actor first(dsn(), *one), second(dsn(), *two);
  const auto granted = "SELECT wraps_granted FROM vault_keys";
  must(first.add(kName, "x"));
  EXPECT_EQ(count(granted), 65536);
  must(first.add(kOther, "x"));
  EXPECT_EQ(count(granted), 65536);
  must(second.add({"acme", "third"}, "x"));
  EXPECT_EQ(count(granted), 2 * 65536);

  sql().rows("UPDATE vault_keys SET wraps_granted = 4294967296 - 65536 + 1");
  const auto three = counted();
  Actor third(dsn(), *three);
  const auto refused = third.add({"acme", "fourth"}, "x");
  EXPECT_EQ(code_of(refused), Errc::kRefused);
  EXPECT_THAT(refused.error().message, HasSubstr("rotate"));
}

TEST_F(Store, LoadsATenantIntoTheBagsAndNobodyElse) {
  must(actor().add(kName, "the password"));
  must(actor().add(kOther, "the user"));
  must(actor().add({"evil", "db/password"}, "theirs"));
  must(actor().add({"acme", "gone"}, "gone"));
  must(actor().remove({"acme", "gone"}, 1));
  const auto secrets = must(actor().load("acme"));
  const auto bag = must(BootBag::open(actor().store().session(), secrets));
  EXPECT_EQ(bag->size(), 2u);
  EXPECT_EQ(text_of(*bag->find("db/password")), "the password");
  EXPECT_EQ(text_of(*bag->find("db/user")), "the user");
}

TEST_F(Store, LargeSecretsComeBackWhole) {
  std::string large(3 << 20, '\0');
  for (std::size_t i = 0; i < large.size(); ++i) large[i] = static_cast<char>(i * 2654435761 >> 7);
  must(actor().add(kName, large));
  testing::Buffer out(large.size());
  const auto read =
      must(actor().run(actor().store().read(actor().connection(), "tester", kName, out)));
  EXPECT_EQ(read.size, large.size());
  EXPECT_TRUE(text_of(out) == large);
}

}  // namespace
}  // namespace plimsoll::vault
