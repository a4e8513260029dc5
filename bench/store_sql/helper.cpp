// A program beside the benchmarks, for running their SQL by other tools (ci/peers.d/store_sql):
//
//   plimsoll-store-sql sql SCHEMA ITEMS BODY   the group's table and statements in SCHEMA, and the
//                                              filling with ITEMS items of BODY bytes, as one JSON
//                                              object
#include <fmt/format.h>

#include <charconv>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "bench/store_sql/stage.hpp"
#include "lib/core/json.hpp"
#include "lib/store_sql/statements.hpp"

namespace {

using namespace plimsoll;

int refuse(const std::string& reason) {
  fmt::print(stderr, "plimsoll-store-sql: {}\n", reason);
  return 2;
}

template <class Number>
bool parse(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size();
}

int print_sql(std::string_view schema, std::string_view items, std::string_view body) {
  bench::Stock stock;
  if (!parse(items, stock.items) || stock.items < 0 || !parse(body, stock.body)) {
    return refuse(
        fmt::format("ITEMS and BODY are whole numbers from 0 on, not '{}' and '{}'", items, body));
  }
  const auto statements = store::statements_for(schema);
  if (!statements) return refuse(statements.error().message);
  const nlohmann::ordered_json all{{"ddl", statements->ddl},
                                   {"fill", bench::fill_sql(stock)},
                                   {"insert", statements->insert.sql},
                                   {"update", statements->update.sql},
                                   {"read", statements->read.sql},
                                   {"copy_out_binary", statements->binary.out},
                                   {"copy_out_text", statements->text.out}};
  fmt::print("{}\n", json_text(all, 2));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view verb = argc > 1 ? argv[1] : "";
  if (verb == "sql" && argc == 5) return print_sql(argv[2], argv[3], argv[4]);
  return refuse("say `sql SCHEMA ITEMS BODY`");
}
