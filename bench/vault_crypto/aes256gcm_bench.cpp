// Question: what do AES-256-GCM's own calls cost under one expanded key, before any envelope?
// Method:   13 bytes of additional data and a counted nonce, as `openssl speed -evp aes-256-gcm
//           -aead` does it, so that the difference to it is this layer and the tag.
// Expect:   some 200 ns a message and then memory speed. Not measured: drawing nonces.
#include <fmt/format.h>

#include <cstring>

#include "bench/vault_crypto/cases.hpp"
#include "lib/vault_crypto/aes_gcm.hpp"

namespace plimsoll::bench {
namespace {

using vault::AesGcm;
using vault::Bytes;
using vault::MutableBytes;

struct Message {
  std::array<std::byte, vault::kNonceBytes> nonce{};
  std::array<std::byte, vault::kTagBytes> tag{};
  std::array<std::byte, 13> aad{};
  std::uint64_t count = 0;

  void next_nonce() {
    ++count;
    std::memcpy(nonce.data(), &count, sizeof(count));
  }
};

void seal(Case& c, std::size_t size) {
  const auto master = master_key(1);
  auto gcm = must(AesGcm::create(AesGcm::Direction::kSeal, master->key()));
  const Buffer plain = payload(size);
  Buffer sealed(size);
  Message message;
  bool good = true;
  const AllocationScope allocations;
  for (auto _ : c.state()) {
    message.next_nonce();
    good &= gcm.seal(message.nonce, {.first = message.aad}, plain, sealed, message.tag).has_value();
  }
  c.allocations(allocations, static_cast<std::uint64_t>(c.state().iterations()));

  auto opening = must(AesGcm::create(AesGcm::Direction::kOpen, master->key()));
  Buffer opened(size);
  must(opening.open(message.nonce, {.first = message.aad}, sealed, message.tag, opened));
  if (!good || opened != plain) c.fail("wrong: what was sealed does not open to itself");
  c.state().SetBytesProcessed(c.state().iterations() * static_cast<std::int64_t>(size));
}

void open(Case& c, std::size_t size) {
  const auto master = master_key(1);
  auto sealing = must(AesGcm::create(AesGcm::Direction::kSeal, master->key()));
  auto gcm = must(AesGcm::create(AesGcm::Direction::kOpen, master->key()));
  const Buffer plain = payload(size);
  Buffer sealed(size), opened(size);
  Message message;
  must(sealing.seal(message.nonce, {.first = message.aad}, plain, sealed, message.tag));
  bool good = true;
  const AllocationScope allocations;
  for (auto _ : c.state()) {
    good &=
        gcm.open(message.nonce, {.first = message.aad}, sealed, message.tag, opened).has_value();
  }
  c.allocations(allocations, static_cast<std::uint64_t>(c.state().iterations()));
  if (!good || opened != plain) c.fail("wrong: the plaintext differs");
  c.state().SetBytesProcessed(c.state().iterations() * static_cast<std::int64_t>(size));
}

}  // namespace

void register_aes256gcm() {
  for (const std::size_t size : {std::size_t{1024}, std::size_t{65536}}) {
    cpu_case(fmt::format("vault_crypto/aes256gcm/seal/bytes:{}", size),
             [size](Case& c) { seal(c, size); });
    cpu_case(fmt::format("vault_crypto/aes256gcm/open/bytes:{}", size),
             [size](Case& c) { open(c, size); });
  }
}

}  // namespace plimsoll::bench
