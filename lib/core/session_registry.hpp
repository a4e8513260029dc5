#pragma once

#include <boost/asio/execution_context.hpp>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>

namespace plimsoll {

/// The sessions of one execution context. A coroutine that waits for an answer is owned by its
/// session and in turn keeps the session alive; when the context ends before the answer came, this
/// cuts the ring by `Session::forget_waiters`. Asio's own objects do the same.
///
/// Thread safety: all members may be called from any thread.
template <class Session>
class SessionRegistry final : public boost::asio::execution_context::service {
 public:
  using key_type = SessionRegistry;
  static inline boost::asio::execution_context::id id;

  explicit SessionRegistry(boost::asio::execution_context& context) : service(context) {}

  void add(Session* session, std::weak_ptr<Session> life) {
    const std::lock_guard lock(mutex_);
    sessions_.emplace(session, std::move(life));
  }

  void remove(Session* session) noexcept {
    const std::lock_guard lock(mutex_);
    sessions_.erase(session);
  }

 private:
  void shutdown() noexcept override {
    std::unordered_map<Session*, std::weak_ptr<Session>> sessions;
    {
      const std::lock_guard lock(mutex_);
      sessions.swap(sessions_);
    }
    for (const auto& [session, life] : sessions) {
      if (const auto alive = life.lock()) alive->forget_waiters();
    }
  }

  std::mutex mutex_;
  std::unordered_map<Session*, std::weak_ptr<Session>> sessions_;
};

}  // namespace plimsoll
