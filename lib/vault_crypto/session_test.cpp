#include "lib/vault_crypto/session.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <set>
#include <thread>

#include "lib/vault_crypto/random.hpp"
#include "lib/vault_crypto/test_support.hpp"

namespace plimsoll::vault {
namespace {

using testing::Buffer;
using testing::code_of;
using testing::must;

constexpr std::string_view kContext = "tenant-a/api-key";

Nonce nonce_at(Bytes envelope, std::size_t offset) {
  Nonce nonce{};
  std::copy_n(envelope.begin() + static_cast<std::ptrdiff_t>(offset), nonce.size(), nonce.begin());
  return nonce;
}

TEST(VaultSession, TellsAnUnknownVersionFromAnotherKeyUnderTheSameVersion) {
  const auto ring = testing::make_ring(2);
  auto session = must(VaultSession::create(*ring));
  const Buffer sealed = testing::seal(session, kContext, "secret");

  const auto older = testing::make_ring(1);
  auto foreign = must(VaultSession::create(*older));
  const auto unknown = testing::open(foreign, kContext, sealed);
  EXPECT_EQ(code_of(unknown), Errc::kNotFound);
  EXPECT_THAT(unknown.error().message, ::testing::HasSubstr("no master key version 2"));

  must(older->add(testing::master(2, 200)));
  const auto wrong = testing::open(foreign, kContext, sealed);
  EXPECT_EQ(code_of(wrong), Errc::kNotFound);
  EXPECT_THAT(wrong.error().message, ::testing::HasSubstr("not the one that sealed this"));
}

TEST(VaultSession, WithoutACurrentKeyItSealsNothing) {
  KeyRing ring;
  auto session = must(VaultSession::create(ring));
  Buffer out(sealed_size(0));
  EXPECT_EQ(code_of(session.seal({}, {}, out)), Errc::kNotFound);
}

TEST(VaultSession, ADataKeyThatIsNotTheCommittedOneIsRefused) {
  // A writer who holds the master key wraps one data key under the commitment of another. GCM alone
  // would accept it.
  const auto ring = testing::make_ring();
  auto session = must(VaultSession::create(*ring));
  Buffer sealed = testing::seal(session, kContext, "secret");
  auto gcm = must(AesGcm::create(AesGcm::Direction::kSeal, testing::key_material(32)));
  const MutableBytes bytes(sealed);
  must(gcm.seal(Bytes(sealed).subspan<envelope::kWrapNonceAt, kNonceBytes>(),
                {.first = Bytes(sealed).first(envelope::kWrapNonceAt)}, testing::key_material(99),
                bytes.subspan<envelope::kWrappedKeyAt, kKeyBytes>(),
                bytes.subspan<envelope::kWrapTagAt, kTagBytes>()));
  const auto opened = testing::open(session, kContext, sealed);
  EXPECT_EQ(code_of(opened), Errc::kCorrupt);
  EXPECT_THAT(opened.error().message, ::testing::HasSubstr("commits to"));
}

TEST(VaultSession, RewrapKeepsTheDataAndChangesOnlyTheWrap) {
  const auto ring = testing::make_ring(1);
  auto session = must(VaultSession::create(*ring));
  const Buffer before = testing::seal(session, kContext, "secret");
  must(ring->add(testing::master(2, 64)));
  must(ring->make_current(2));

  Buffer after = before;
  std::ranges::copy(must(session.rewrap(before)), after.begin());

  EXPECT_EQ(master_version_of(after), 2u);
  EXPECT_EQ(must(testing::open(session, kContext, after)), "secret");
  EXPECT_TRUE(std::equal(before.begin(), before.begin() + 40, after.begin()));
  EXPECT_TRUE(std::equal(before.begin() + 120, before.end(), after.begin() + 120));
  EXPECT_NE(nonce_at(before, envelope::kWrapNonceAt), nonce_at(after, envelope::kWrapNonceAt));

  must(ring->retire(1));
  EXPECT_EQ(must(testing::open(session, kContext, after)), "secret");
  EXPECT_EQ(code_of(testing::open(session, kContext, before)), Errc::kNotFound);
}

TEST(VaultSession, AnUnwrappedDataKeyDoesNotOpenAnotherWrapOfItself) {
  const auto ring = testing::make_ring(2);
  auto session = must(VaultSession::create(*ring));
  const Buffer before = testing::seal(session, kContext, "secret");
  auto opener = must(Opener::create(must(session.unwrap(before))));
  Buffer after = before;
  std::ranges::copy(must(session.rewrap(before)), after.begin());
  Buffer out(6);
  EXPECT_EQ(code_of(opener.open(bytes_of(kContext), after, out)), Errc::kNotFound);
}

TEST(VaultSession, RefusesKeyBlocksThatAreTooShortOrMisshapen) {
  const auto ring = testing::make_ring();
  auto session = must(VaultSession::create(*ring));
  Buffer sealed = testing::seal(session, kContext, "secret");
  EXPECT_EQ(code_of(session.unwrap(Bytes(sealed).first(119))), Errc::kInvalidArgument);
  EXPECT_TRUE(session.unwrap(Bytes(sealed).first(120)));
  sealed[4] = std::byte{9};
  EXPECT_EQ(code_of(session.unwrap(sealed)), Errc::kRejected);
  EXPECT_EQ(code_of(session.rewrap(sealed)), Errc::kRejected);
}

TEST(Sealer, StopsAtTheLimitOfItsKeyOverAllThreads) {
  const auto ring = testing::make_ring();
  auto session = must(VaultSession::create(*ring));
  const auto key = must(session.new_data_key(100));
  std::atomic<int> sealed{0}, refused{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      auto sealer = must(Sealer::create(key));
      Buffer out(sealed_size(0));
      for (int i = 0; i < 50; ++i) {
        const auto done = sealer.seal({}, {}, out);
        ++(done ? sealed : refused);
        if (!done) {
          EXPECT_EQ(done.error().code, Errc::kRefused);
        }
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(sealed, 100);
  EXPECT_EQ(refused, 100);
}

TEST(SealBudget, HandsOutPortionsThatNeverExceedItAndTakesThemBack) {
  const auto budget = std::make_shared<SealBudget>(std::uint64_t{1} << 20);
  {
    SealAllowance allowance(budget);
    EXPECT_TRUE(allowance.spend());
    EXPECT_EQ(budget->left(), (std::uint64_t{1} << 20) - 16);
  }
  EXPECT_EQ(budget->left(), (std::uint64_t{1} << 20) - 1);
  SealAllowance allowance(budget);
  std::uint64_t spent = 0;
  while (allowance.spend()) ++spent;
  EXPECT_EQ(spent, (std::uint64_t{1} << 20) - 1);
}

TEST(SealBudget, TheStandardsLimitIsTheDefault) {
  EXPECT_EQ(SealBudget().left(), std::uint64_t{1} << 32);
}

TEST(VaultSession, TheMasterKeysLimitCountsWraps) {
  KeyRing ring;
  must(ring.add(testing::master(1, 32, 3)));
  must(ring.make_current(1));
  auto session = must(VaultSession::create(ring));
  for (int i = 0; i < 3; ++i) testing::seal(session, kContext, "secret");
  Buffer out(sealed_size(0));
  const auto refused = session.seal({}, {}, out);
  EXPECT_EQ(code_of(refused), Errc::kRefused);
  EXPECT_THAT(refused.error().message, ::testing::HasSubstr("rotate"));
}

TEST(VaultSession, AnUnwrappedKeyMakesNoSeals) {
  const auto ring = testing::make_ring();
  auto session = must(VaultSession::create(*ring));
  const Buffer sealed = testing::seal(session, kContext, "secret");
  auto sealer = must(Sealer::create(must(session.unwrap(sealed))));
  Buffer out(sealed_size(0));
  EXPECT_EQ(code_of(sealer.seal({}, {}, out)), Errc::kRefused);
}

TEST(Sealer, RepeatsNoNonceUnderOneKeyOverThreads) {
  const auto ring = testing::make_ring();
  auto session = must(VaultSession::create(*ring));
  const auto key = must(session.new_data_key());
  constexpr std::size_t kThreads = 4, kEach = 3000;
  std::vector<std::vector<Nonce>> nonces(kThreads);
  std::vector<std::thread> threads;
  for (auto& mine : nonces) {
    threads.emplace_back([&mine, key] {
      auto sealer = must(Sealer::create(key));
      Buffer out(sealed_size(4));
      for (std::size_t i = 0; i < kEach; ++i) {
        must(sealer.seal({}, bytes_of("data"), out));
        mine.push_back(nonce_at(out, envelope::kDataNonceAt));
      }
    });
  }
  for (auto& thread : threads) thread.join();
  std::set<Nonce> all;
  for (const auto& mine : nonces) all.insert(mine.begin(), mine.end());
  EXPECT_EQ(all.size(), kThreads * kEach);
}

TEST(VaultSession, SealsOfOnePlaintextShareNothingThatIsRandom) {
  const auto ring = testing::make_ring();
  auto session = must(VaultSession::create(*ring));
  std::set<Buffer> commitments, wrap_nonces, data_nonces;
  const auto field = [](const Buffer& from, std::size_t at, std::size_t size) {
    const Bytes bytes = Bytes(from).subspan(at, size);
    return Buffer(bytes.begin(), bytes.end());
  };
  for (int i = 0; i < 500; ++i) {
    const Buffer sealed = testing::seal(session, kContext, "secret");
    commitments.insert(field(sealed, envelope::kCommitmentAt, 32));
    wrap_nonces.insert(field(sealed, envelope::kWrapNonceAt, kNonceBytes));
    data_nonces.insert(field(sealed, envelope::kDataNonceAt, kNonceBytes));
  }
  EXPECT_EQ(commitments.size(), 500u);
  EXPECT_EQ(wrap_nonces.size(), 500u);
  EXPECT_EQ(data_nonces.size(), 500u);
}

}  // namespace
}  // namespace plimsoll::vault
