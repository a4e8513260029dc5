#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <thread>
#include <utility>

namespace plimsoll::load {

namespace asio = boost::asio;

/// An io_context and the one thread that runs it: where a subject lives during a run.
///
/// Declare it after whatever its coroutines refer to. The destructor stops the loop, joins the
/// thread and destroys the frames of coroutines that are still suspended.
///
/// Thread safety: every call may come from any other thread.
class SubjectThread {
 public:
  SubjectThread();
  ~SubjectThread();
  SubjectThread(const SubjectThread&) = delete;
  SubjectThread& operator=(const SubjectThread&) = delete;

  [[nodiscard]] asio::any_io_executor executor() { return io_.get_executor(); }

  /// Runs a coroutine on the thread and waits for its value: to connect and to clean up.
  /// REQUIRES: not called from the thread itself.
  template <class T>
  T call(asio::awaitable<T> work) {
    return asio::co_spawn(io_, std::move(work), asio::use_future).get();
  }

 private:
  asio::io_context io_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  std::thread thread_;
};

}  // namespace plimsoll::load
