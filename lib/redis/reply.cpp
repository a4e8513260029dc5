#include "lib/redis/reply.hpp"

#include <fmt/format.h>

#include <cassert>
#include <charconv>

#include "lib/redis/reply_error.hpp"

namespace plimsoll::redis {

Reply Reply::of(std::int64_t number) noexcept {
  Reply reply;
  reply.kind_ = Kind::kInteger;
  reply.value_ = number;
  return reply;
}

Reply Reply::of(Kind kind, std::string text) noexcept {
  assert(kind == Kind::kStatus || kind == Kind::kString || kind == Kind::kError);
  Reply reply;
  reply.kind_ = kind;
  reply.value_ = std::move(text);
  return reply;
}

Reply Reply::of(Array elements) noexcept {
  Reply reply;
  reply.kind_ = Kind::kArray;
  reply.value_ = std::move(elements);
  return reply;
}

std::string_view Reply::text() const noexcept {
  const auto* const text = std::get_if<std::string>(&value_);
  return text == nullptr ? std::string_view{} : std::string_view(*text);
}

std::string Reply::take_text() && noexcept {
  auto* const text = std::get_if<std::string>(&value_);
  return text == nullptr ? std::string{} : std::move(*text);
}

std::optional<std::string_view> Reply::value() const noexcept {
  if (kind_ != Kind::kString && kind_ != Kind::kStatus) return std::nullopt;
  return text();
}

Result<std::int64_t> Reply::integer() const {
  if (const auto* const number = std::get_if<std::int64_t>(&value_);
      number != nullptr && kind_ == Kind::kInteger) {
    return *number;
  }
  if (kind_ == Kind::kString) {
    const auto digits = text();
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (error == std::errc{} && end == digits.data() + digits.size()) return number;
    return fail(Errc::kInvalidArgument, "the answer is a string that is no 64-bit integer");
  }
  return fail(Errc::kInvalidArgument, fmt::format("the answer is {}, no integer", name(kind_)));
}

std::span<const Reply> Reply::elements() const noexcept {
  const auto* const array = std::get_if<Array>(&value_);
  return array == nullptr ? std::span<const Reply>{} : std::span<const Reply>(*array);
}

std::span<Reply> Reply::elements() noexcept {
  auto* const array = std::get_if<Array>(&value_);
  return array == nullptr ? std::span<Reply>{} : std::span<Reply>(*array);
}

Error Reply::error() const {
  assert(is_error());
  return error_of_reply(text());
}

std::string_view name(Reply::Kind kind) noexcept {
  switch (kind) {
    case Reply::Kind::kNil:
      return "nil";
    case Reply::Kind::kInteger:
      return "an integer";
    case Reply::Kind::kStatus:
      return "a status";
    case Reply::Kind::kString:
      return "a string";
    case Reply::Kind::kArray:
      return "an array";
    case Reply::Kind::kError:
      return "an error";
  }
  return "unknown";
}

}  // namespace plimsoll::redis
