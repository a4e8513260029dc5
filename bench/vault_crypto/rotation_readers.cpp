#include "bench/vault_crypto/rotation_readers.hpp"

#include <exception>
#include <future>
#include <thread>

namespace plimsoll::bench {

Readers::Readers(Stage& stage, const Retirements& retirements)
    : secrets_(stage.secrets()), dsn_(stage.dsn()), retirements_(&retirements) {
  const Rng draw(seed());
  for (std::size_t i = 0; i < kCount; ++i) {
    draws_.push_back(draw.fork(i));
    outs_.emplace_back(kSecretBytes);
    stores_.push_back(
        must(vault::SecretStore::create(stage.ring(), false, vault::LockPolicy::kBestEffort)));
  }
}

asio::awaitable<Result<void>> Readers::connect() {
  for (std::size_t i = 0; i < kCount; ++i) {
    pg::Config config;
    config.dsn = dsn_;
    Result<std::unique_ptr<pg::Connection>> made =
        co_await pg::Connection::connect(std::move(config));
    if (!made) co_return fail(made.error());
    connections_.push_back(std::move(*made));
  }
  co_return Result<void>{};
}

asio::awaitable<Result<void>> Readers::disconnect() {
  connections_.clear();
  co_return Result<void>{};
}

void Readers::note_retirements(std::int64_t retired_before) {
  if (first_met_ >= 0 && retired_before > first_met_) ++after_;
  if (retirements_->begun == retired_before) return;
  if (first_met_ < 0) first_met_ = retired_before;
  ++met_;
}

asio::awaitable<load::Outcome> Readers::turn(load::OpContext context) {
  const std::size_t i = context.caller % kCount;
  vault::SecretName name = secret_name(draws_[i].below(i == 0 ? kChanging : secrets_));
  const std::int64_t retired_before = retirements_->ended;
  Result<vault::SecretStore::Read> read =
      co_await stores_[i].read(*connections_[i], "bench", name, outs_[i]);
  if (!read) {
    ++failed_;
    co_return load::Outcome{load::Outcome::Kind::kFailed, 0, read.error().message};
  }
  note_retirements(retired_before);
  const auto seen = vault::checks::inspect(name.path, vault::Bytes(outs_[i]).first(read->size));
  using Kind = vault::checks::Reading::Kind;
  const bool right = seen.kind == Kind::kRight && seen.version == read->version;
  torn_ += seen.kind == Kind::kTorn ? 1 : 0;
  wrong_ += seen.kind != Kind::kTorn && !right ? 1 : 0;
  co_return load::Outcome{};
}

asio::awaitable<void> Readers::read_on(std::size_t reader, const std::atomic<bool>& enough) {
  while (!enough && failed_ == 0) co_await turn({0, reader});
}

bool Readers::see_a_retirement(load::SubjectThread& thread, Rotator& rotator) {
  std::atomic<bool> enough{false};
  std::vector<std::future<void>> reading;
  for (std::size_t i = 0; i < kCount; ++i) {
    reading.push_back(asio::co_spawn(thread.executor(), read_on(i, enough), asio::use_future));
  }
  const TimePoint deadline = Clock::now() + std::chrono::seconds{scaled(30, 60, 300)};
  while (after_ == 0 && failed_ == 0 && !rotator.failed() && Clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }
  const std::exception_ptr failure = rotator.stop();
  enough = true;
  for (auto& reader : reading) reader.wait();  // All refer to `enough`, also when one has thrown.
  for (auto& reader : reading) reader.get();
  if (failure) std::rethrow_exception(failure);
  return after_ > 0;
}

}  // namespace plimsoll::bench
