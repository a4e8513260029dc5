// A program beside the benchmarks, so that other tools can run the same jobs
// (ci/peers.d/rls_queue):
//
//   plimsoll-rls-queue sql SCHEMA ROLE TENANTS NOTES
//
// prints one JSON object: the SQL that makes and fills the tables, what ROLE needs, and the
// statements of a job, whose parameters are $1 and so on.
#include <fmt/format.h>

#include <charconv>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "bench/rls_queue/jobs.hpp"
#include "bench/rls_queue/stage.hpp"
#include "lib/core/json.hpp"
#include "lib/rls_queue/schema.hpp"
#include "lib/rls_queue/statements.hpp"

namespace {

using namespace plimsoll;

int refuse(const std::string& reason) {
  fmt::print(stderr, "plimsoll-rls-queue: {}\n", reason);
  return 2;
}

int print_sql(const std::string& schema, const std::string& role, const std::string& tenants,
              const std::string& notes) {
  bench::Shape shape;
  const auto number = [](const std::string& text, int& value) {
    return std::from_chars(text.data(), text.data() + text.size(), value).ec == std::errc{} &&
           value > 0;
  };
  if (!number(tenants, shape.tenants) || !number(notes, shape.each)) {
    return refuse("TENANTS and NOTES are whole numbers from 1 on");
  }
  const auto quoted = rls::quoted_name(schema);
  const auto ddl = rls::ddl(schema);
  const auto grants = rls::grants(schema, role);
  const auto statements = rls::statements_for({});
  for (const auto* const made : {&quoted, &ddl, &grants}) {
    if (!*made) return refuse(made->error().message);
  }
  if (!statements) return refuse(statements.error().message);
  const nlohmann::ordered_json all{{"ddl", *ddl + bench::audit_ddl(*quoted, role)},
                                   {"grants", *grants},
                                   {"fill", bench::fill_sql(*quoted, shape)},
                                   {"stamp", statements->stamp},
                                   {"read", bench::read_sql(*quoted)},
                                   {"write", bench::write_sql(*quoted)},
                                   {"seal", statements->seal}};
  fmt::print("{}\n", json_text(all, 2));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view verb = argc > 1 ? argv[1] : "";
  if (verb == "sql" && argc == 6) return print_sql(argv[2], argv[3], argv[4], argv[5]);
  return refuse("say `sql SCHEMA ROLE TENANTS NOTES`");
}
