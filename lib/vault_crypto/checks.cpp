#include "lib/vault_crypto/checks.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

namespace plimsoll::vault::checks {
namespace {

constexpr std::size_t kCell = 16;

std::uint64_t fnv1a(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

struct Cell {
  std::uint64_t name;
  std::uint64_t version;
};

Cell cell_at(Bytes plaintext, std::size_t index) {
  Cell cell;
  std::memcpy(&cell, plaintext.data() + index * kCell, kCell);
  return cell;
}

// Equal versions look different in each cell, so that a shifted copy is noticed as well.
std::uint64_t masked(std::uint64_t version, std::size_t index) {
  return version ^ (index * 0x9e3779b97f4a7c15);
}

std::uint64_t next_serial() {
  static std::atomic<std::uint64_t> serial{0};
  return ++serial;
}

}  // namespace

std::vector<std::byte> telling_plaintext(std::string_view name, std::uint64_t version,
                                         std::size_t size) {
  std::vector<std::byte> plaintext(size);
  for (std::size_t i = 0; i < size / kCell; ++i) {
    const Cell cell{fnv1a(name), masked(version, i)};
    std::memcpy(plaintext.data() + i * kCell, &cell, kCell);
  }
  return plaintext;
}

Reading inspect(std::string_view name, Bytes plaintext) {
  using enum Reading::Kind;
  if (plaintext.empty() || plaintext.size() % kCell != 0) return {kTorn, 0};
  const std::uint64_t expected = fnv1a(name);
  const Cell first = cell_at(plaintext, 0);
  for (std::size_t i = 0; i < plaintext.size() / kCell; ++i) {
    const Cell cell = cell_at(plaintext, i);
    if (cell.name != first.name || cell.version != masked(first.version, i)) return {kTorn, 0};
  }
  return {first.name == expected ? kRight : kWrong, first.version};
}

void NonceLog::add(Bytes key, Bytes nonce, Bytes tag, std::uint64_t serial) {
  Use use{};
  std::ranges::copy(key, use.key_and_nonce.begin());
  std::ranges::copy(nonce, use.key_and_nonce.begin() + 32);
  std::ranges::copy(tag, use.tag.begin());
  use.serial = serial;
  uses_.push_back(use);
}

void NonceLog::add_seal(Bytes envelope) {
  add(envelope.subspan(8, 32), envelope.subspan(120, 12), envelope.last(16), next_serial());
  add(envelope.subspan(44, 16), envelope.subspan(60, 12), envelope.subspan(104, 16), 0);
}

void NonceLog::add_stored(Bytes envelope) {
  add(envelope.subspan(8, 32), envelope.subspan(120, 12), envelope.last(16), 0);
  add(envelope.subspan(44, 16), envelope.subspan(60, 12), envelope.subspan(104, 16), 0);
}

void NonceLog::merge(const NonceLog& other) {
  uses_.insert(uses_.end(), other.uses_.begin(), other.uses_.end());
}

std::int64_t NonceLog::repeats() const {
  std::vector<Use> uses = uses_;
  std::ranges::sort(uses);
  const auto same = std::ranges::unique(uses);
  uses.erase(same.begin(), same.end());
  std::int64_t repeats = 0;
  for (std::size_t i = 1; i < uses.size(); ++i) {
    repeats += uses[i].key_and_nonce == uses[i - 1].key_and_nonce ? 1 : 0;
  }
  return repeats;
}

}  // namespace plimsoll::vault::checks
