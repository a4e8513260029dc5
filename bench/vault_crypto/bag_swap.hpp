#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <exception>
#include <thread>

#include "bench/vault_crypto/cases.hpp"
#include "lib/vault_crypto/published.hpp"

namespace plimsoll::bench {

/// Not measured: puts one bag in place of the other, each made anew and the old one dropped, while
/// `read_one` reads out of whichever is there: it returns whether it saw bag 1. Both must be seen.
template <class Bag, class Make, class Read>
void swap_under_reads(Case& c, vault::Published<Bag>& published, Make make, Read read_one) {
  constexpr int kSwaps = 50;
  std::atomic<bool> done{false};
  std::atomic<std::int64_t> reads{0};
  std::exception_ptr swapper_failure, reader_failure;
  std::thread swapper([&] {
    try {
      for (int swap = 1; swap <= kSwaps; ++swap) {
        published.publish(make(static_cast<std::size_t>(swap % 2)));
        const auto before = reads.load();
        while (reads < before + 3 && !done) std::this_thread::yield();
      }
    } catch (...) {
      swapper_failure = std::current_exception();
    }
    done = true;
  });
  std::array<std::int64_t, 2> seen{};
  try {
    for (; !done; ++reads) ++seen[read_one() ? 1 : 0];
  } catch (...) {
    reader_failure = std::current_exception();
  }
  done = true;
  swapper.join();
  if (reader_failure) std::rethrow_exception(reader_failure);
  if (swapper_failure) std::rethrow_exception(swapper_failure);
  if (seen[0] == 0 || seen[1] == 0) c.fail("wrong: the reader has not seen both bags");
}

}  // namespace plimsoll::bench
