#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "lib/core/result.hpp"

namespace plimsoll::redis {

/// What a Redis answered: one value, or a tree of them.
///
/// An error that is the answer to a command becomes the Result's error before anybody sees it here;
/// one inside an array (of EXEC, or of a script) is a value like the others.
///
/// Thread safety: const calls from any thread.
class Reply {
 public:
  enum class Kind {
    kNil,      ///< Nothing: no such key, or a transaction that was not executed.
    kInteger,  ///< `integer()`.
    kStatus,   ///< "OK" and its like; `text()`.
    kString,   ///< Bytes; `text()`.
    kArray,    ///< `elements()`.
    kError,    ///< `text()`, and `error()` for what to do about it.
  };
  using Array = std::vector<Reply>;

  /// Nil.
  Reply() noexcept = default;
  [[nodiscard]] static Reply of(std::int64_t number) noexcept;
  /// REQUIRES: a kind that has text.
  [[nodiscard]] static Reply of(Kind kind, std::string text) noexcept;
  [[nodiscard]] static Reply of(Array elements) noexcept;

  [[nodiscard]] Kind kind() const noexcept { return kind_; }
  [[nodiscard]] bool is_nil() const noexcept { return kind_ == Kind::kNil; }
  [[nodiscard]] bool is_error() const noexcept { return kind_ == Kind::kError; }
  /// Whether it is this status, such as OK or QUEUED.
  [[nodiscard]] bool is_status(std::string_view status) const noexcept {
    return kind_ == Kind::kStatus && text() == status;
  }

  /// The bytes of a string, status or error; empty for all else.
  [[nodiscard]] std::string_view text() const noexcept;
  /// The same to keep, without a copy.
  [[nodiscard]] std::string take_text() && noexcept;
  /// The bytes of a string or status; nullopt for all else, so also for nil.
  [[nodiscard]] std::optional<std::string_view> value() const noexcept;
  /// A number, also one that was answered as digits. Errors: kInvalidArgument, which says what it
  /// is instead.
  [[nodiscard]] Result<std::int64_t> integer() const;
  /// Empty for all but an array.
  [[nodiscard]] std::span<const Reply> elements() const noexcept;
  /// The same to take apart, without copies.
  [[nodiscard]] std::span<Reply> elements() noexcept;
  /// REQUIRES: is_error().
  [[nodiscard]] Error error() const;

  friend bool operator==(const Reply&, const Reply&) = default;

 private:
  friend class ReplyReader;

  Kind kind_ = Kind::kNil;
  std::variant<std::int64_t, std::string, Array> value_;
};

/// The kind in words, e.g. "an integer".
[[nodiscard]] std::string_view name(Reply::Kind kind) noexcept;

}  // namespace plimsoll::redis
