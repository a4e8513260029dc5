#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>

#include "lib/core/result.hpp"
#include "lib/redis/reply.hpp"

struct redisReader;
struct redisReadTask;

namespace plimsoll::redis {

/// Turns bytes from the server into replies. hiredis' parser reads the protocol and calls back for
/// each value, which is put straight into its place: no tree of hiredis' own is made and copied.
///
/// RESP2, at most seven arrays inside each other (hiredis 0.14's limit; 1.x has nine).
///
/// Thread safety: none. Errors: kProtocol; every later call then gives the same error.
class ReplyReader {
 public:
  /// A reply may take so many bytes, counted as its strings and sizeof(Reply) for each value. What
  /// an array announces counts before it is believed.
  explicit ReplyReader(std::size_t max_reply_bytes);
  ReplyReader(const ReplyReader&) = delete;
  ReplyReader& operator=(const ReplyReader&) = delete;
  ~ReplyReader();

  /// hiredis moves what is left of its buffer to the front now and then: give it large inputs in
  /// pieces of this size, and take the replies after each.
  static constexpr std::size_t kPiece = 16UL << 10;
  [[nodiscard]] Result<void> feed(std::string_view bytes);

  /// The next whole reply; nullopt when more bytes are needed for it.
  [[nodiscard]] Result<std::optional<Reply>> next();

 private:
  struct Build;
  struct Free {
    void operator()(redisReader* reader) const noexcept;
  };

  [[nodiscard]] bool takes(std::size_t bytes) noexcept;
  [[nodiscard]] Reply* place(const redisReadTask* task) noexcept;
  [[nodiscard]] tl::unexpected<Error> too_large() const;

  std::size_t max_reply_bytes_;
  std::size_t taken_ = 0;  ///< Of the reply that is being built.
  bool is_too_large_ = false;
  Reply root_;
  std::unique_ptr<redisReader, Free> reader_;
};

}  // namespace plimsoll::redis
