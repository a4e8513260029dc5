#include "bench/vault_crypto/rotator.hpp"

namespace plimsoll::bench {

Changer::Changer(Stage& stage)
    : store_(
          must(vault::SecretStore::create(stage.ring(), false, vault::LockPolicy::kBestEffort))) {
  versions_.fill(1);
}

void Changer::update(Caller& caller) {
  const std::size_t i = static_cast<std::size_t>(updates_) % kChanging;
  const auto name = secret_name(i);
  const auto plain = vault::checks::telling_plaintext(name.path, versions_[i] + 1, kSecretBytes);
  versions_[i] =
      must(caller.run(store_.update(caller.connection(), "bench", name, versions_[i], plain)));
  ++updates_;
}

Rotator::~Rotator() {
  if (thread_.joinable()) static_cast<void>(stop());
}

std::exception_ptr Rotator::stop() {
  stopping_ = true;
  thread_.join();
  return failure_;
}

double Rotator::mean_ms() const {
  return std::chrono::duration<double, std::milli>(spent_).count() /
         static_cast<double>(rotations_);
}

void Rotator::rotate(Stage& stage, Caller& caller) {
  Nanoseconds updating{0};
  const TimePoint begin = Clock::now();
  const auto rewrapped = stage.rotate(caller, {.batch =
                                                   [&] {
                                                     const TimePoint from = Clock::now();
                                                     changer_.update(caller);
                                                     updating += Clock::now() - from;
                                                   },
                                               .retiring = [this] { ++retirements_.begun; },
                                               .retired = [this] { ++retirements_.ended; }});
  spent_ += Clock::now() - begin - updating;
  if (rewrapped + kChanging < stage.secrets()) {  // What was updated first is not rewrapped.
    throw std::runtime_error("wrong: a rotation left secrets behind");
  }
  ++rotations_;
}

void Rotator::work(Stage& stage) {
  try {
    Caller caller(stage.dsn());
    do rotate(stage, caller);
    while (!stopping_);
  } catch (...) {
    failure_ = std::current_exception();
    failed_ = true;
  }
}

}  // namespace plimsoll::bench
