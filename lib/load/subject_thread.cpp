#include "lib/load/subject_thread.hpp"

namespace plimsoll::load {

SubjectThread::SubjectThread()
    : work_(asio::make_work_guard(io_)), thread_([this] { io_.run(); }) {}

SubjectThread::~SubjectThread() {
  io_.stop();
  thread_.join();
}

}  // namespace plimsoll::load
