#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/core/result.hpp"
#include "lib/pg/connection.hpp"
#include "lib/pg/copy.hpp"
#include "lib/store_sql/statements.hpp"

namespace plimsoll::store {

namespace asio = boost::asio;

/// What is stored under an id. It has constructors for the reason told at pg::Query.
struct Content {
  Content() = default;
  Content(std::int64_t a, std::string b) noexcept : amount(a), body(std::move(b)) {}

  std::int64_t amount = 0;
  std::string body;  ///< UTF-8 without NUL bytes.

  friend bool operator==(const Content&, const Content&) = default;
};

/// An addition to one item's amount.
struct Change {
  Change() = default;
  Change(std::int64_t of, std::int64_t by) noexcept : id(of), delta(by) {}

  std::int64_t id = 0;
  std::int64_t delta = 0;
};

/// An item on its way in or out by COPY.
struct Copied {
  std::int64_t id = 0;
  std::int64_t amount = 0;
  std::string_view body;  ///< Into memory that the giver holds until it is called again.
};

/// A plain table through plain statements: what the client costs when the SQL does not.
///
/// Calls for one item are one statement, so one transaction and one round trip. Calls for several
/// are one pipeline: one statement for each, one transaction, one round trip; all or nothing, and
/// the error is the first statement's that failed. Holds no connection and no state.
///
/// Thread safety: const calls from any thread, each on its connection's executor.
/// REQUIRES: this object, the connection and the copier outlive every call.
/// Errors: kNotFound (no such id), kInvalidArgument (what cannot be sent, such as a NUL byte), and
/// the connection's.
class Store {
 public:
  /// Errors: as statements_for.
  [[nodiscard]] static Result<Store> make(std::string_view schema,
                                          Prepared prepared = Prepared::kOnce);
  /// With SQL of the caller's own, e.g. a test's.
  explicit Store(Statements statements) noexcept : statements_(std::move(statements)) {}

  /// Makes the table in a schema that exists.
  [[nodiscard]] asio::awaitable<Result<void>> install(pg::Connection& connection) const;

  /// Returns the new id.
  [[nodiscard]] asio::awaitable<Result<std::int64_t>> insert(pg::Connection& connection,
                                                             Content content) const;
  /// The new ids, in the order of the contents.
  [[nodiscard]] asio::awaitable<Result<std::vector<std::int64_t>>> insert_all(
      pg::Connection& connection, std::vector<Content> contents) const;

  [[nodiscard]] asio::awaitable<Result<void>> update(pg::Connection& connection,
                                                     Change change) const;
  /// In the order of ids, whatever the order given, so that two calls cannot deadlock. Returns how
  /// many found their item; that some did not is no error here, and the others are changed.
  [[nodiscard]] asio::awaitable<Result<std::size_t>> update_all(pg::Connection& connection,
                                                                std::vector<Change> changes) const;

  [[nodiscard]] asio::awaitable<Result<Content>> read(pg::Connection& connection,
                                                      std::int64_t id) const;

  /// Reads the item, then changes it: two statements and two round trips. Returns it as it was
  /// read; between the two, others may have changed it.
  [[nodiscard]] asio::awaitable<Result<Content>> read_then_update(pg::Connection& connection,
                                                                  Change change) const;
  /// Pairs of the two in one pipeline, in the order of ids. The contents as they were read, in the
  /// order given; nullopt where there is no such item.
  [[nodiscard]] asio::awaitable<Result<std::vector<std::optional<Content>>>> read_and_update_all(
      pg::Connection& connection, std::vector<Change> changes) const;

  /// Copies items in, ids and all, as long as `next` fills one in and returns true. Returns how
  /// many. `next` waits for nothing.
  [[nodiscard]] asio::awaitable<Result<std::uint64_t>> copy_in(
      pg::Copier& copier, std::function<bool(Copied&)> next,
      pg::CopyFormat format = pg::CopyFormat::kBinary) const;
  /// Hands out all items in the order of ids. Returns how many.
  [[nodiscard]] asio::awaitable<Result<std::uint64_t>> copy_out(
      pg::Copier& copier, std::function<void(const Copied&)> take,
      pg::CopyFormat format = pg::CopyFormat::kBinary) const;

  [[nodiscard]] const Statements& statements() const noexcept { return statements_; }

 private:
  [[nodiscard]] const CopyStatements& copies(pg::CopyFormat format) const noexcept {
    return format == pg::CopyFormat::kBinary ? statements_.binary : statements_.text;
  }
  [[nodiscard]] pg::Query insertion(Content content) const;
  [[nodiscard]] pg::Query selection(std::int64_t id) const;
  [[nodiscard]] pg::Query addition(const Change& change) const;

  Statements statements_;
};

}  // namespace plimsoll::store
