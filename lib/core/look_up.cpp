#include "lib/core/look_up.hpp"

#include <fmt/format.h>
#include <netdb.h>
#include <sys/socket.h>

#include <array>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/this_coro.hpp>
#include <memory>
#include <mutex>
#include <utility>

#include "lib/core/side_thread.hpp"
#include "lib/core/with_timeout.hpp"

namespace plimsoll {
namespace {

using asio::posix::stream_descriptor;

// Shared with the thread, which may outlive the coroutine that asked.
struct Answer {
  std::mutex mutex;
  std::vector<std::string> addresses;
  std::string reason;
};

void resolve(const std::string& name, Answer& answer) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const int error = getaddrinfo(name.c_str(), nullptr, &hints, &list);
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owned(list, &freeaddrinfo);
  const std::lock_guard lock(answer.mutex);
  if (error != 0) {
    answer.reason = fmt::format("the host {} is not known: {}", name, gai_strerror(error));
    return;
  }
  for (const auto* entry = list; entry != nullptr; entry = entry->ai_next) {
    std::array<char, NI_MAXHOST> text{};
    if (getnameinfo(entry->ai_addr, entry->ai_addrlen, text.data(), text.size(), nullptr, 0,
                    NI_NUMERICHOST) == 0) {
      answer.addresses.emplace_back(text.data());
    }
  }
}

}  // namespace

asio::awaitable<Result<std::vector<std::string>>> look_up(std::string name) {
  const auto answer = std::make_shared<Answer>();
  const int done = run_beside([answer, name] { resolve(name, *answer); });
  if (done < 0) co_return fail(Errc::kInternal, "no thread left to look up a host name");
  stream_descriptor signal(co_await asio::this_coro::executor, done);
  const auto [error] = co_await signal.async_wait(stream_descriptor::wait_read, kAsValue);
  if (error) co_return fail(Errc::kCancelled, "the caller gave up during a name look-up");
  const std::lock_guard lock(answer->mutex);
  if (answer->addresses.empty()) co_return fail(Errc::kUnavailable, answer->reason);
  co_return std::move(answer->addresses);
}

}  // namespace plimsoll
