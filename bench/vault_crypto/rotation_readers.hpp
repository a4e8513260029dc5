#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "bench/vault_crypto/rotator.hpp"
#include "lib/core/rng.hpp"
#include "lib/load/runner.hpp"
#include "lib/load/subject_thread.hpp"

namespace plimsoll::bench {

/// The readers of arm A, a connection each. The first one looks at the secrets that are being
/// updated, the others at all of them.
///
/// Thread safety: coroutines on the subject's thread, `see_a_retirement` and the counts from any
/// other; `torn` and `wrong` once nothing reads any more.
class Readers {
 public:
  static constexpr std::size_t kCount = 4;

  /// Both must outlive the readers.
  Readers(Stage& stage, const Retirements& retirements);

  [[nodiscard]] asio::awaitable<Result<void>> connect();
  [[nodiscard]] asio::awaitable<Result<void>> disconnect();
  [[nodiscard]] asio::awaitable<load::Outcome> turn(load::OpContext context);

  /// Ends the rotator with readers at work: a window may be shorter than a rotation, and what they
  /// are to show is that no read fails when the old key goes. Not measured. Returns whether one
  /// went under their eyes. Throws what ended the rotator before its time.
  [[nodiscard]] bool see_a_retirement(load::SubjectThread& thread, Rotator& rotator);

  [[nodiscard]] std::int64_t failed() const { return failed_; }
  [[nodiscard]] std::int64_t torn() const { return torn_; }
  [[nodiscard]] std::int64_t wrong() const { return wrong_; }
  /// Reads that were under way while an old key went.
  [[nodiscard]] std::int64_t met() const { return met_; }

 private:
  /// One reader goes on until `enough`, which outlives it, or the first failure.
  [[nodiscard]] asio::awaitable<void> read_on(std::size_t reader, const std::atomic<bool>& enough);
  /// Notes a good read that began when `retired_before` keys had gone.
  void note_retirements(std::int64_t retired_before);

  std::size_t secrets_;
  std::string dsn_;
  const Retirements* retirements_;
  std::vector<Rng> draws_;
  std::vector<Buffer> outs_;
  std::vector<vault::SecretStore> stores_;
  std::vector<std::unique_ptr<pg::Connection>> connections_;
  std::int64_t torn_ = 0;
  std::int64_t wrong_ = 0;
  std::int64_t first_met_ = -1;  // How many keys had gone before the first one that was met.
  std::atomic<std::int64_t> failed_{0};
  std::atomic<std::int64_t> met_{0};
  std::atomic<std::int64_t> after_{0};  // Reads that began when that one had gone.
};

}  // namespace plimsoll::bench
