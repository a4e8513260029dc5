// A program beside the benchmarks, for running their SQL and scripts by other tools
// (ci/peers.d/kv_store):
//
//   plimsoll-kv-store sql SCHEMA KEYS VALUE     the table and the statements in SCHEMA, and the
//                                               filling with KEYS keys of each of two tenants, as
//                                               one JSON object
//   plimsoll-kv-store redis PREFIX KEYS VALUE   the scripts, the names of keys, and the filling
#include <fmt/format.h>

#include <charconv>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "bench/kv_store/stage.hpp"
#include "lib/core/json.hpp"
#include "lib/kv_store/redis_scripts.hpp"
#include "lib/kv_store/statements.hpp"

namespace {

using namespace plimsoll;

int refuse(const std::string& reason) {
  fmt::print(stderr, "plimsoll-kv-store: {}\n", reason);
  return 2;
}

template <class Number>
bool parse(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size();
}

int print_sql(std::string_view schema, const bench::Stock& stock) {
  const auto all = kv::statements_for(schema);
  if (!all) return refuse(all.error().message);
  const nlohmann::ordered_json json{
      {"ddl", all->ddl},          {"fill", bench::fill_sql(stock)},
      {"get", all->get.sql},      {"set", all->set.sql},
      {"delete", all->erase.sql}, {"value", bench::value_of(stock, 0, 0)}};
  fmt::print("{}\n", json_text(json, 2));
  return 0;
}

int print_redis(std::string prefix, const bench::Stock& stock) {
  const kv::RedisKeys keys{std::move(prefix)};
  const auto scripts = kv::redis_scripts();
  const auto tenant = bench::tenant_of(stock, 0);
  const nlohmann::ordered_json json{{"write", scripts.write.text()},
                                    {"write_sha1", scripts.write.sha1()},
                                    {"counter", keys.counter()},
                                    {"index", keys.index(tenant)},
                                    {"expiries", keys.expiries()},
                                    {"entries", keys.entries(tenant)},
                                    {"fill", bench::fill_script()},
                                    {"body", bench::body_of(stock.value)},
                                    {"value", bench::value_of(stock, 0, 0)},
                                    {"tenant", tenant}};
  fmt::print("{}\n", json_text(json, 2));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view verb = argc > 1 ? argv[1] : "";
  if (argc != 5 || (verb != "sql" && verb != "redis")) {
    return refuse("say `sql SCHEMA KEYS VALUE` or `redis PREFIX KEYS VALUE`");
  }
  bench::Stock stock;
  if (!parse(argv[3], stock.keys) || !parse(argv[4], stock.value) || stock.value < 32) {
    return refuse(fmt::format("KEYS and VALUE are whole numbers, VALUE from 32 on, not '{}', '{}'",
                              argv[3], argv[4]));
  }
  return verb == "sql" ? print_sql(argv[2], stock) : print_redis(argv[2], stock);
}
