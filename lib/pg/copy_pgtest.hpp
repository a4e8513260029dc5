#pragma once

#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "lib/core/with_timeout.hpp"
#include "lib/pg/copy.hpp"
#include "lib/pg/server_pgtest.hpp"

namespace plimsoll::pg {

/// A source that waits for nothing.
inline CopySource source_of(std::function<Result<bool>(CopyWriter&)> fill) {
  return [fill = std::move(fill)](CopyWriter& writer) -> asio::awaitable<Result<bool>> {
    co_return fill(writer);
  };
}
/// `count` rows of one int4, from `first` on.
inline CopySource numbers(int count, int first = 1) {
  auto next = std::make_shared<int>(first);
  return source_of([next, end = first + count](CopyWriter& writer) -> Result<bool> {
    while (*next < end && !writer.is_full()) writer.row().int4((*next)++);
    return *next < end;
  });
}
/// Rows of one int4 without end.
inline CopySource endless() {
  return source_of([](CopyWriter& writer) -> Result<bool> {
    while (!writer.is_full()) writer.row().int4(7);
    return true;
  });
}
/// A sink that waits for nothing.
inline CopySink sink_of(std::function<Result<void>(const CopyRows&)> take) {
  return [take = std::move(take)](const CopyRows& rows) -> asio::awaitable<Result<void>> {
    co_return take(rows);
  };
}
inline CopySink nowhere() {
  return sink_of([](const CopyRows&) { return Result<void>{}; });
}

/// A table `t` of one int and a Copier.
class CopyTest : public ServerTest {
 protected:
  void SetUp() override {
    ServerTest::SetUp();
    if (HasFatalFailure()) return;
    plain().text("CREATE TABLE t (n int)");
    auto copier = run(Copier::connect(config()));
    ASSERT_TRUE(copier) << copier.error().message;
    copier_ = std::move(*copier);
  }
  static std::string in(CopyFormat format = CopyFormat::kBinary) {
    return *copy_in_sql("t", {"n"}, format);
  }
  /// The rows of `t`, by plain SQL.
  std::string stored() { return plain().text("SELECT count(*) FROM t"); }
  /// The copier works, whatever happened before.
  void expect_usable() {
    ASSERT_TRUE(copier_->is_open());
    const auto before = std::stoi(stored());
    const auto copied = run(copier_->copy_in(in(), numbers(3)));
    ASSERT_TRUE(copied) << copied.error().message;
    EXPECT_EQ(*copied, 3U);
    EXPECT_EQ(std::stoi(stored()), before + 3);
  }

  std::unique_ptr<Copier> copier_;
};

}  // namespace plimsoll::pg
