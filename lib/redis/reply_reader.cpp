#include "lib/redis/reply_reader.hpp"

#include <fmt/format.h>
#include <hiredis/read.h>

#include <exception>
#include <string>
#include <utility>

#include "lib/core/units.hpp"

namespace plimsoll::redis {

/// What hiredis calls. Null makes it stop with an error; an exception must not pass through it.
struct ReplyReader::Build {
  static ReplyReader& self(const redisReadTask* task) noexcept {
    return *static_cast<ReplyReader*>(task->privdata);
  }

  static void* create_string(const redisReadTask* task, char* text, std::size_t length) noexcept {
    auto& reader = self(task);
    const auto kind = task->type == REDIS_REPLY_STRING   ? Reply::Kind::kString
                      : task->type == REDIS_REPLY_STATUS ? Reply::Kind::kStatus
                                                         : Reply::Kind::kError;
    const bool is_known = kind != Reply::Kind::kError || task->type == REDIS_REPLY_ERROR;
    if (!is_known || !reader.takes(length)) return nullptr;
    return fill(reader, task, kind, [&] { return std::string(text, length); });
  }

  // hiredis 0.14 counts elements as int, 1.x as size_t.
  template <class Count>
  static void* create_array(const redisReadTask* task, Count count) noexcept {
    auto& reader = self(task);
    const auto wanted = static_cast<std::size_t>(count);
    // Maps, sets and pushes are RESP3, which nobody asked for.
    const bool is_known = task->type == REDIS_REPLY_ARRAY;
    if (!is_known || wanted > reader.max_reply_bytes_ / sizeof(Reply) ||
        !reader.takes(wanted * sizeof(Reply))) {
      reader.is_too_large_ = is_known;
      return nullptr;
    }
    return fill(reader, task, Reply::Kind::kArray, [&] { return Reply::Array(wanted); });
  }

  static void* create_integer(const redisReadTask* task, long long number) noexcept {
    return fill(self(task), task, Reply::Kind::kInteger,
                [&] { return static_cast<std::int64_t>(number); });
  }

  static void* create_nil(const redisReadTask* task) noexcept {
    return fill(self(task), task, Reply::Kind::kNil, [] { return std::int64_t{0}; });
  }

  static void free_object(void* /*root*/) noexcept {}  // The root is a member.

  template <class Make>
  static void* fill(ReplyReader& reader, const redisReadTask* task, Reply::Kind kind,
                    Make make) noexcept {
    auto* const reply = reader.place(task);
    try {
      reply->value_ = make();
    } catch (const std::exception&) {
      return nullptr;  // No memory.
    }
    reply->kind_ = kind;
    return reply;
  }

  /// 1.x has two more kinds, for RESP3; without a function it would make up a pointer for them.
  template <class Functions>
  static void refuse_resp3(Functions& functions) noexcept {
    if constexpr (requires { functions.createDouble; }) {
      functions.createDouble = [](auto...) -> void* { return nullptr; };
      functions.createBool = [](auto...) -> void* { return nullptr; };
    }
  }

  static redisReplyObjectFunctions* functions() noexcept {
    static redisReplyObjectFunctions table = [] {
      redisReplyObjectFunctions made{};
      made.createString = create_string;
      made.createArray = create_array;
      made.createInteger = create_integer;
      made.createNil = create_nil;
      made.freeObject = free_object;
      refuse_resp3(made);
      return made;
    }();
    return &table;
  }
};

void ReplyReader::Free::operator()(redisReader* reader) const noexcept { redisReaderFree(reader); }

ReplyReader::ReplyReader(std::size_t max_reply_bytes)
    : max_reply_bytes_(max_reply_bytes),
      reader_(redisReaderCreateWithFunctions(Build::functions())) {
  if (reader_ != nullptr) reader_->privdata = this;
}

ReplyReader::~ReplyReader() = default;

bool ReplyReader::takes(std::size_t bytes) noexcept {
  is_too_large_ = bytes > max_reply_bytes_ - taken_;
  if (!is_too_large_) taken_ += bytes;
  return !is_too_large_;
}

Reply* ReplyReader::place(const redisReadTask* task) noexcept {
  if (task->parent == nullptr) return &root_;
  auto* const parent = static_cast<Reply*>(task->parent->obj);
  return &parent->elements()[static_cast<std::size_t>(task->idx)];
}

tl::unexpected<Error> ReplyReader::too_large() const {
  return fail(Errc::kProtocol,
              fmt::format("the server answered with more than the {} that one reply may take",
                          format_bytes(static_cast<double>(max_reply_bytes_))));
}

Result<void> ReplyReader::feed(std::string_view bytes) {
  if (reader_ == nullptr || redisReaderFeed(reader_.get(), bytes.data(), bytes.size()) != 0) {
    return fail(Errc::kProtocol, "no memory left for what the server answers");
  }
  return {};
}

Result<std::optional<Reply>> ReplyReader::next() {
  void* whole = nullptr;
  if (redisReaderGetReply(reader_.get(), &whole) != REDIS_OK) {
    if (is_too_large_) return too_large();
    return fail(Errc::kProtocol,
                fmt::format("the server does not speak Redis' protocol: {}", reader_->errstr));
  }
  if (whole != nullptr) {
    taken_ = 0;
    return std::exchange(root_, Reply{});
  }
  // What is buffered is the beginning of a value that is not whole yet.
  if (reader_->len - reader_->pos > max_reply_bytes_ - taken_) {
    is_too_large_ = true;
    return too_large();
  }
  return std::nullopt;
}

}  // namespace plimsoll::redis
