#include "lib/pg/session_registry.hpp"

#include <utility>

#include "lib/pg/session.hpp"

namespace plimsoll::pg {

void SessionRegistry::add(Session* session, std::weak_ptr<Session> life) {
  const std::lock_guard lock(mutex_);
  sessions_.emplace(session, std::move(life));
}

void SessionRegistry::remove(Session* session) noexcept {
  const std::lock_guard lock(mutex_);
  sessions_.erase(session);
}

void SessionRegistry::shutdown() noexcept {
  std::unordered_map<Session*, std::weak_ptr<Session>> sessions;
  {
    const std::lock_guard lock(mutex_);
    sessions.swap(sessions_);
  }
  for (const auto& [session, life] : sessions) {
    if (const auto alive = life.lock()) alive->forget_waiters();
  }
}

}  // namespace plimsoll::pg
