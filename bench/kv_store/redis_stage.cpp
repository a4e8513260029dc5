#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <optional>

#include "bench/kv_store/stage.hpp"
#include "fixtures/redis/client.hpp"
#include "fixtures/redis/key_prefix.hpp"

namespace plimsoll::bench {
namespace {

constexpr std::size_t kChunk = 1000;  // Keys of one script, which holds up the server.

// Versions as they stand, misplaced values, the sum of the numbers; then entries in the index that
// are none of the places.
constexpr std::string_view kLookScript = R"lua(
local versions, misplaced, numbers = {}, 0, 0
for k = tonumber(ARGV[1]), tonumber(ARGV[2]) do
  local key = string.format('%d', k)
  local text = redis.call('GET', ARGV[3] .. key)
  if text then
    local version, value = string.match(text, '^(%d+):(.*)$')
    versions[#versions + 1] = version
    local owner = ARGV[4] .. '/' .. key .. '/'
    if string.sub(value, 1, #owner) ~= owner then misplaced = misplaced + 1 end
    numbers = numbers + (tonumber(string.match(value, '^[^/]*/[^/]*/(%d+)/')) or 0)
  else
    versions[#versions + 1] = '0'
  end
end
return {misplaced, numbers, versions}
)lua";

class RedisStage final : public Stage {
 public:
  RedisStage(fixtures::Redis server, Stock stock) : Stage(stock), server_(std::move(server)) {}

  Result<void> begin() {
    static std::atomic<int> count{0};
    auto prefix = fixtures::KeyPrefix::create(server_, fmt::format("kv_{:03}", ++count));
    if (!prefix) return fail(prefix.error());
    prefix_.emplace(std::move(*prefix));
    auto client = fixtures::RedisClient::connect(server_.url);
    if (!client) return fail(client.error());
    client_.emplace(std::move(*client));
    return refill();
  }

  asio::awaitable<Result<OpenStore>> open(asio::any_io_executor) override {
    Result<std::unique_ptr<redis::Connection>> connection =
        co_await redis::Connection::connect(redis::Config(server_.url));
    if (!connection) co_return fail(std::move(connection.error()));
    kv::RedisConfig config;
    config.prefix = prefix_->text();
    Result<std::unique_ptr<kv::RedisStore>> store =
        co_await kv::RedisStore::open(**connection, std::move(config));
    if (!store) co_return fail(std::move(store.error()));
    OpenStore opened;
    opened.connection = std::move(*connection);
    opened.store = std::move(*store);
    co_return opened;
  }

  Result<void> refill() override {
    for (std::size_t tenant = 0; tenant < stock_.tenants; ++tenant) {
      if (auto dropped = command({"DEL", index(tenant)}); !dropped) return fail(dropped.error());
      auto filled = chunks([&](const std::string& from, const std::string& to) {
        return command({"EVAL", fill_script(), "2", prefix_->key("n"), index(tenant), from, to,
                        tenant_of(stock_, tenant * stock_.keys), entries(tenant),
                        body_of(stock_.value), std::to_string(stock_.value)});
      });
      if (!filled) return filled;
    }
    return {};
  }

  Result<Found> look() override {
    Found found;
    for (std::size_t tenant = 0; tenant < stock_.tenants; ++tenant) {
      auto looked = chunks([&](const std::string& from, const std::string& to) {
        auto answer = command({"EVAL", std::string(kLookScript), "0", from, to, entries(tenant),
                               tenant_of(stock_, tenant * stock_.keys)});
        if (answer) add(*answer, found);
        return answer;
      });
      if (!looked) return fail(looked.error());
      auto all = command({"ZCARD", index(tenant)});
      if (!all) return fail(all.error());
      found.others += all->integer;
    }
    found.others -= std::ranges::count_if(found.versions, [](auto v) { return v != kv::kAbsent; });
    return found;
  }

  const std::string& where() const noexcept override { return server_.url; }
  int server_pid() const noexcept override { return server_.server_pid; }

 private:
  static void add(const fixtures::RedisAnswer& answer, Found& found) {
    found.misplaced += answer.elements[0].integer;
    found.numbers += answer.elements[1].integer;
    for (const auto& version : answer.elements[2].elements) {
      found.versions.push_back(std::stoll(version.text));
    }
  }
  // The names, made here by hand and not by the library.
  [[nodiscard]] std::string place(std::size_t tenant) const {
    const auto text = tenant_of(stock_, tenant * stock_.keys);
    return fmt::format("{}:{}", text.size(), text);
  }
  [[nodiscard]] std::string index(std::size_t tenant) const {
    return prefix_->key("i" + place(tenant));
  }
  [[nodiscard]] std::string entries(std::size_t tenant) const {
    return prefix_->key("e" + place(tenant) + ":");
  }
  Result<fixtures::RedisAnswer> command(const std::vector<std::string>& words) {
    return client_->command(words);
  }
  template <class Work>
  Result<void> chunks(Work work) {
    for (std::size_t from = 0; from < stock_.keys; from += kChunk) {
      const std::size_t to = std::min(from + kChunk, stock_.keys) - 1;
      auto done = work(std::to_string(kFirstKey + from), std::to_string(kFirstKey + to));
      if (!done) return fail(done.error());
    }
    return {};
  }

  fixtures::Redis server_;
  std::optional<fixtures::KeyPrefix> prefix_;
  std::optional<fixtures::RedisClient> client_;
};

}  // namespace

Result<std::unique_ptr<Stage>> Stage::on(fixtures::Redis server, Stock stock) {
  auto stage = std::make_unique<RedisStage>(std::move(server), stock);
  if (auto begun = stage->begin(); !begun) return fail(begun.error());
  return std::unique_ptr<Stage>(std::move(stage));
}

}  // namespace plimsoll::bench
