#include "bench/store_sql/copier.hpp"

#include <boost/asio/co_spawn.hpp>
#include <exception>
#include <utility>

namespace plimsoll::bench {
namespace {

asio::awaitable<Result<std::uint64_t>> connect_to(pg::Config config,
                                                  std::unique_ptr<pg::Copier>* made) {
  Result<std::unique_ptr<pg::Copier>> copier = co_await pg::Copier::connect(std::move(config));
  if (!copier) co_return fail(std::move(copier.error()));
  *made = std::move(*copier);
  co_return std::uint64_t{0};
}

}  // namespace

CopyCaller::CopyCaller(const Stage& stage, store::Store store)
    : stage_(stage), store_(std::move(store)) {}

Result<std::unique_ptr<CopyCaller>> CopyCaller::connect(const Stage& stage) {
  auto store = store::Store::make(stage.schema());
  if (!store) return fail(store.error());
  std::unique_ptr<CopyCaller> caller(new CopyCaller(stage, std::move(*store)));
  pg::Config config(stage.dsn());
  config.statement_timeout = std::chrono::minutes(5);
  const auto connected = caller->run(connect_to(std::move(config), &caller->copier_));
  if (!connected) return fail(connected.error());
  return caller;
}

Result<std::uint64_t> CopyCaller::run(asio::awaitable<Result<std::uint64_t>> work) {
  Result<std::uint64_t> value = fail(Errc::kInternal, "the COPY did not come to an end");
  std::exception_ptr thrown;
  asio::co_spawn(loop_, std::move(work),
                 [&](std::exception_ptr error, Result<std::uint64_t> result) {
                   thrown = error;
                   value = std::move(result);
                 });
  loop_.restart();
  loop_.run();
  if (thrown) std::rethrow_exception(thrown);
  return value;
}

Result<std::uint64_t> CopyCaller::in(std::int64_t items, pg::CopyFormat format,
                                     std::int64_t first) {
  std::int64_t id = first - 1;
  const std::int64_t last = id + items;
  return run(store_.copy_in(
      *copier_,
      [&](store::Copied& item) {
        if (id == last) return false;
        ++id;
        item = {id, amount_of(id), stage_.body()};
        return true;
      },
      format));
}

Result<CopyCaller::Seen> CopyCaller::out(pg::CopyFormat format) {
  Seen seen;
  const auto copied = run(store_.copy_out(
      *copier_,
      [&seen](const store::Copied& item) {
        ++seen.items;
        seen.amounts += item.amount;
        seen.bytes += item.body.size();
      },
      format));
  if (!copied) return fail(copied.error());
  return seen;
}

}  // namespace plimsoll::bench
