#pragma once

#include <boost/asio/execution_context.hpp>
#include <memory>
#include <mutex>
#include <unordered_map>

namespace plimsoll::pg {

class Session;

/// The sessions of one execution context. A coroutine that waits for an answer is owned by its
/// session and in turn keeps the session alive; when the context ends before the answer came, this
/// cuts the ring. Asio's own objects do the same.
///
/// Thread safety: all members may be called from any thread.
class SessionRegistry final : public boost::asio::execution_context::service {
 public:
  using key_type = SessionRegistry;
  static inline boost::asio::execution_context::id id;

  explicit SessionRegistry(boost::asio::execution_context& context) : service(context) {}

  void add(Session* session, std::weak_ptr<Session> life);
  void remove(Session* session) noexcept;

 private:
  void shutdown() noexcept override;

  std::mutex mutex_;
  std::unordered_map<Session*, std::weak_ptr<Session>> sessions_;
};

}  // namespace plimsoll::pg
