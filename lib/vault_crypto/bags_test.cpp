#include "lib/vault_crypto/bags.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "lib/vault_crypto/test_support.hpp"

namespace plimsoll::vault {
namespace {

using testing::Buffer;
using testing::code_of;
using testing::must;

SealedSecret secret(VaultSession& session, std::string name, std::string_view value) {
  Buffer envelope = testing::seal(session, "context of " + name, value);
  std::string context = "context of " + name;
  return {std::move(name), std::move(context), std::move(envelope)};
}

class Bags : public ::testing::Test {
 protected:
  Result<std::string> read(RequestReader& reader, std::string_view name) {
    Buffer out(1024);
    auto size = reader.read(name, out);
    if (!size) return fail(size.error());
    return std::string(text_of(Bytes(out).first(*size)));
  }

  std::unique_ptr<KeyRing> ring_ = testing::make_ring();
  VaultSession session_ = must(VaultSession::create(*ring_));
};

TEST_F(Bags, TheBootBagHoldsEverySecretAndNoOther) {
  std::vector<SealedSecret> secrets;
  for (int i = 0; i < 1000; ++i) {
    secrets.push_back(secret(session_, "tenant/" + std::to_string(i), std::to_string(i * 7)));
  }
  secrets.push_back(secret(session_, "empty", ""));
  const auto bag = must(BootBag::open(session_, secrets));
  EXPECT_EQ(bag->size(), 1001u);
  for (int i = 0; i < 1000; ++i) {
    const auto value = bag->find("tenant/" + std::to_string(i));
    ASSERT_TRUE(value);
    EXPECT_EQ(text_of(*value), std::to_string(i * 7));
  }
  ASSERT_TRUE(bag->find("empty"));
  EXPECT_TRUE(bag->find("empty")->empty());
  EXPECT_FALSE(bag->find("tenant/1000"));
  EXPECT_FALSE(bag->find(""));
}

TEST_F(Bags, AnEmptyBootBagFindsNothing) { EXPECT_FALSE(must(BootBag::of({}))->find("a")); }

TEST_F(Bags, TheBootBagRefusesANameTwice) {
  const std::vector secrets{secret(session_, "a", "1"), secret(session_, "a", "2")};
  const auto bag = BootBag::open(session_, secrets);
  EXPECT_EQ(code_of(bag), Errc::kInvalidArgument);
  EXPECT_THAT(bag.error().message, ::testing::HasSubstr("'a' is named twice"));
}

TEST_F(Bags, OneSecretThatDoesNotOpenFailsTheBootBagAndIsNamed) {
  std::vector secrets{secret(session_, "good", "1"), secret(session_, "bad", "2")};
  secrets[1].envelope.back() ^= std::byte{1};
  const auto bag = BootBag::open(session_, secrets);
  EXPECT_EQ(code_of(bag), Errc::kCorrupt);
  EXPECT_THAT(bag.error().message, ::testing::HasSubstr("'bad'"));
}

TEST_F(Bags, TheBootBagLiesInPinnedMemoryAndIsGivenBack) {
  const auto before = locked_memory().locked;
  {
    const auto bag = must(BootBag::open(session_, std::vector{secret(session_, "a", "1")}));
    EXPECT_GT(locked_memory().locked, before);
  }
  EXPECT_EQ(locked_memory().locked, before);
}

TEST_F(Bags, AReaderSeesOneBagOrTheNextAndNeverAMixture) {
  // Both values of one bag carry its number; a torn read would show two numbers.
  const auto bag_of = [](int number) {
    const std::string value = std::to_string(number);
    const std::vector<NamedBlobs::Item> items{{"first", bytes_of(value)},
                                              {"second", bytes_of(value)}};
    return must(BootBag::of(items));
  };
  Published<BootBag> published(bag_of(0));
  std::atomic<bool> stop{false};
  std::atomic<long> reads{0}, torn{0}, backwards{0};
  std::vector<std::thread> readers;
  for (int t = 0; t < 3; ++t) {
    readers.emplace_back([&] {
      Published<BootBag>::Reader reader(published);
      int last = 0;
      while (!stop) {
        const BootBag& bag = reader.get();
        const std::string first(text_of(*bag.find("first")));
        torn += first != text_of(*bag.find("second")) ? 1 : 0;
        const int number = std::stoi(first);
        backwards += number < last ? 1 : 0;
        last = number;
        ++reads;
      }
    });
  }
  for (int number = 1; number <= 200; ++number) {
    published.publish(bag_of(number));
    const long before = reads;
    while (reads < before + 3) std::this_thread::yield();
  }
  stop = true;
  for (auto& thread : readers) thread.join();
  EXPECT_EQ(torn, 0);
  EXPECT_EQ(backwards, 0);
  EXPECT_EQ(text_of(*Published<BootBag>::Reader(published).get().find("first")), "200");
}

TEST_F(Bags, RequestReadsOpenEachSecretAndUnwrapItsKeyOnce) {
  Published<SealedBag> bag(must(SealedBag::of(
      std::vector{secret(session_, "a", "value of a"), secret(session_, "b", "value of b")})));
  auto reader = must(RequestReader::create(bag, *ring_, 64));
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(must(read(reader, "a")), "value of a");
    EXPECT_EQ(must(read(reader, "b")), "value of b");
  }
  EXPECT_EQ(reader.unwraps(), 2u);
  EXPECT_EQ(code_of(read(reader, "c")), Errc::kNotFound);
}

TEST_F(Bags, RequestReadsWorkWithMoreSecretsThanTheCacheHolds) {
  std::vector<SealedSecret> secrets;
  for (int i = 0; i < 50; ++i) {
    secrets.push_back(secret(session_, std::to_string(i), "value " + std::to_string(i)));
  }
  Published<SealedBag> bag(must(SealedBag::of(secrets)));
  auto reader = must(RequestReader::create(bag, *ring_, 4));
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 50; ++i) {
      ASSERT_EQ(must(read(reader, std::to_string(i))), "value " + std::to_string(i));
    }
  }
}

TEST_F(Bags, AnUpdatedSecretIsReadAnewAtOnce) {
  Published<SealedBag> bag(must(SealedBag::of(std::vector{secret(session_, "a", "old")})));
  auto reader = must(RequestReader::create(bag, *ring_, 64));
  EXPECT_EQ(must(read(reader, "a")), "old");
  bag.publish(must(SealedBag::of(std::vector{secret(session_, "a", "new")})));
  EXPECT_EQ(must(read(reader, "a")), "new");
}

TEST_F(Bags, AfterARotationACachedKeyServesNeitherTheOldWrapNorTheNew) {
  const auto before = secret(session_, "a", "value");
  Published<SealedBag> bag(must(SealedBag::of(std::vector{before})));
  auto reader = must(RequestReader::create(bag, *ring_, 64));
  EXPECT_EQ(must(read(reader, "a")), "value");

  must(ring_->add(testing::master(2, 64)));
  must(ring_->make_current(2));
  auto after = before;
  std::ranges::copy(must(session_.rewrap(before.envelope)), after.envelope.begin());
  bag.publish(must(SealedBag::of(std::vector{after})));
  EXPECT_EQ(must(read(reader, "a")), "value");
  EXPECT_EQ(reader.unwraps(), 2u);

  // The old wrap again, its master key retired: the key in the cache must not open it.
  must(ring_->retire(1));
  bag.publish(must(SealedBag::of(std::vector{before})));
  EXPECT_EQ(code_of(read(reader, "a")), Errc::kNotFound);
}

TEST_F(Bags, RetiringAMasterKeyDropsTheCachedKeysUnderItAtTheNextRead) {
  Published<SealedBag> bag(must(SealedBag::of(std::vector{secret(session_, "a", "value")})));
  auto reader = must(RequestReader::create(bag, *ring_, 64));
  EXPECT_EQ(must(read(reader, "a")), "value");
  must(ring_->add(testing::master(2, 64)));
  must(ring_->make_current(2));
  must(ring_->retire(1));
  EXPECT_EQ(code_of(read(reader, "a")), Errc::kNotFound);
}

TEST_F(Bags, TheSealedBagRefusesWhatIsNoEnvelope) {
  auto bad = secret(session_, "a", "value");
  bad.envelope.resize(100);
  EXPECT_EQ(code_of(SealedBag::of(std::vector{bad})), Errc::kInvalidArgument);
}

TEST_F(Bags, AnAlteredEnvelopeIsNotReadAtRequestTime) {
  auto altered = secret(session_, "a", "value");
  altered.envelope[140] ^= std::byte{1};
  Published<SealedBag> bag(must(SealedBag::of(std::vector{altered})));
  auto reader = must(RequestReader::create(bag, *ring_, 64));
  EXPECT_EQ(code_of(read(reader, "a")), Errc::kCorrupt);
}

}  // namespace
}  // namespace plimsoll::vault
