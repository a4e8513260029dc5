// What a Session writes to its socket and takes from it. The rest of it is in session.cpp.
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "lib/redis/encode.hpp"
#include "lib/redis/reply_error.hpp"
#include "lib/redis/session.hpp"

namespace plimsoll::redis {
namespace {

using asio::posix::stream_descriptor;

constexpr std::size_t kReadBytes = 64UL << 10;
/// Reads before others of the loop get their turn: 1 MiB.
constexpr int kReadsPerTurn = 16;
/// Encoded ahead of what the kernel takes. What waits beyond can still be withdrawn unsent.
constexpr std::size_t kOutputBytes = 1UL << 20;
/// A larger buffer is given back once it is empty.
constexpr std::size_t kKeptBytes = 1UL << 20;
constexpr auto kLooksFresh = std::chrono::seconds(1);

Error io_error(int number) {
  return {Errc::kUnavailable,
          "the connection to the server was lost: " + std::generic_category().message(number),
          {}};
}

bool would_block(int number) noexcept { return number == EAGAIN || number == EWOULDBLOCK; }

}  // namespace

void Session::pump() {
  encode_next();
  while (is_open() && written_ < out_.size() && !writing_) {
    flush();
    encode_next();  // There may be room for more now.
  }
  if (is_open() && queue_.has_in_flight()) wait_readable();
}

void Session::encode_next() {
  while (is_open() && out_.size() - written_ < kOutputBytes) {
    const auto batch = queue_.next_to_send();
    if (batch == nullptr) return;
    // What is written is moved away when it is the larger half: a byte is moved once on average at
    // most.
    if (written_ > out_.size() / 2) {
      out_.erase(0, written_);
      written_ = 0;
    }
    const auto before = out_.size();
    for (const auto& command : batch->commands()) append(out_, command);
    batch->forget_commands();
    bytes_sent_ += out_.size() - before;
  }
}

void Session::flush() {
  while (written_ < out_.size()) {
    const auto sent = ::send(socket_.native_handle(), out_.data() + written_,
                             out_.size() - written_, MSG_NOSIGNAL | MSG_DONTWAIT);
    const int number = errno;
    if (sent >= 0) {
      written_ += static_cast<std::size_t>(sent);
    } else if (would_block(number)) {
      return wait_writable();
    } else if (number != EINTR) {
      return lose_after_send_error(io_error(number));
    }
  }
  out_.clear();
  written_ = 0;
  if (out_.capacity() > kKeptBytes) out_.shrink_to_fit();
}

// What came before the end, such as the reason for it, was meant for those who wait.
void Session::lose_after_send_error(Error reason) {
  receive();
  lose(std::move(reason));
}

void Session::wait_readable() {
  if (is_reading_ || !is_open()) return;
  is_reading_ = true;
  socket_.async_wait(Socket::wait_read,
                     [self = shared_from_this()](const boost::system::error_code& error) {
                       self->is_reading_ = false;
                       if (!self->is_open()) return;
                       if (error) {
                         self->lose(io_error(error.value()));
                       } else {
                         self->receive();
                       }
                       self->settle();
                     });
}

void Session::wait_writable() {
  if (writing_ || !is_open()) return;
  const int copy = dup(socket_.native_handle());
  if (copy < 0) return lose({Errc::kInternal, "no file descriptor left to wait for writing", {}});
  writing_.emplace(executor_, copy);
  writing_->async_wait(stream_descriptor::wait_write,
                       [self = shared_from_this()](const boost::system::error_code&) {
                         if (!self->is_open()) return;
                         self->writing_.reset();
                         self->flush();  // Says itself what is wrong with the socket.
                         self->settle();
                       });
}

void Session::receive() {
  if (in_.empty()) in_.resize(kReadBytes);
  for (int reads = 0; reads < kReadsPerTurn && is_open();) {
    const auto got = ::recv(socket_.native_handle(), in_.data(), in_.size(), MSG_DONTWAIT);
    const int number = errno;
    if (got < 0 && number == EINTR) continue;
    if (got < 0 && would_block(number)) return;
    if (got < 0) return lose(io_error(number));
    if (got == 0) return lose({Errc::kUnavailable, "the server closed the connection", {}});
    heard_ = Clock::now();
    bytes_received_ += static_cast<std::uint64_t>(got);
    take({in_.data(), static_cast<std::size_t>(got)});
    if (static_cast<std::size_t>(got) < in_.size()) return;
    ++reads;
  }
}

void Session::take(std::string_view bytes) {
  while (is_open() && !bytes.empty()) {
    const auto piece = bytes.substr(0, ReplyReader::kPiece);
    bytes.remove_prefix(piece.size());
    if (auto fed = reader_.feed(piece); !fed) return lose(std::move(fed.error()));
    take_replies();
  }
}

void Session::take_replies() {
  while (is_open()) {
    auto next = reader_.next();
    if (!next) return lose(std::move(next.error()));
    if (!*next) return;
    if (!queue_.has_in_flight()) {
      return lose({Errc::kProtocol, "the server answered where nothing was asked", {}});
    }
    auto& reply = **next;
    if (reply.is_error() && errc_of_reply(reply.text()) == Errc::kProtocol) {
      return lose(reply.error());  // The server says so and hangs up.
    }
    queue_.on_reply(std::move(reply));
  }
}

bool Session::probe() {
  if (!is_open() || !is_idle() || Clock::now() - heard_ < kLooksFresh) return is_open();
  char byte = 0;
  const auto got = ::recv(socket_.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  const int number = errno;
  if (got == 0) {
    lose({Errc::kUnavailable, "the server closed the connection while it was idle", {}});
  } else if (got > 0) {
    lose({Errc::kProtocol, "the server answered where nothing was asked", {}});
  } else if (!would_block(number) && number != EINTR) {
    lose(io_error(number));
  }
  return is_open();
}

}  // namespace plimsoll::redis
