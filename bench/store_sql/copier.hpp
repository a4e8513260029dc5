#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "bench/store_sql/stage.hpp"
#include "lib/pg/copy.hpp"
#include "lib/store_sql/store.hpp"

namespace plimsoll::bench {

namespace asio = boost::asio;

/// One COPY connection on a loop of its own, driven call by call from a plain function.
class CopyCaller {
 public:
  /// REQUIRES: the stage outlives it.
  [[nodiscard]] static Result<std::unique_ptr<CopyCaller>> connect(const Stage& stage);

  /// Copies so many items in, ids from `first` on, each with the amount `amount_of(id)` and the
  /// stage's body.
  [[nodiscard]] Result<std::uint64_t> in(std::int64_t items, pg::CopyFormat format,
                                         std::int64_t first = 1);

  /// What a copy out brought.
  struct Seen {
    std::uint64_t items = 0;
    std::int64_t amounts = 0;
    std::uint64_t bytes = 0;  ///< Of the bodies.
  };
  [[nodiscard]] Result<Seen> out(pg::CopyFormat format);

 private:
  CopyCaller(const Stage& stage, store::Store store);
  [[nodiscard]] Result<std::uint64_t> run(asio::awaitable<Result<std::uint64_t>> work);

  const Stage& stage_;
  store::Store store_;
  asio::io_context loop_{1};
  std::unique_ptr<pg::Copier> copier_;
};

/// So that rows that change places, or are there twice, show in the sum.
[[nodiscard]] inline std::int64_t amount_of(std::int64_t id) noexcept { return id * 3 + 1; }
/// Of ids 1 to `items`.
[[nodiscard]] inline std::int64_t amounts_of(std::int64_t items) noexcept {
  return items * (items + 1) / 2 * 3 + items;
}

}  // namespace plimsoll::bench
