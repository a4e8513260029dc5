// Question: how fast do rows go in and out by COPY, binary and text?
// Method:   one connection, 10,000 | 100,000 rows of id, amount and a body of 100 bytes. Going in,
//           the table is emptied before each COPY, outside the measured time, and has its primary
//           key; rows are encoded while they are sent. Going out, every field is decoded and added
//           up. What arrived is counted by SQL, or held against what SQL says.
// Expect:   the server's work: its own share of the CPU is several times ours. Out is faster than
//           in, binary than text where numbers are many; here most bytes are text.
#include <fmt/format.h>

#include <map>
#include <memory>
#include <string>

#include "bench/harness/case.hpp"
#include "bench/store_sql/audit.hpp"
#include "bench/store_sql/cases.hpp"
#include "bench/store_sql/copier.hpp"

namespace plimsoll::bench {
namespace {

struct Copying {
  std::unique_ptr<Stage> stage;
  std::unique_ptr<CopyCaller> caller;
};

std::int64_t rows_of_size() { return scaled<std::int64_t>(1000, 10'000, 100'000); }

/// Once a process for each case. The stock is empty: the rows are the case's own.
Result<Copying*> copying_of(const std::string& name) {
  static std::map<std::string, Copying> all;
  auto& copying = all[name];
  if (copying.caller) return &copying;
  auto stage = make_stage("copy", Stock{0, 100});
  if (!stage) return fail(stage.error());
  auto caller = CopyCaller::connect(**stage);
  if (!caller) return fail(caller.error());
  copying = {std::move(*stage), std::move(*caller)};
  return &copying;
}

void done(Case& c, Copying& copying, std::int64_t rows) {
  if (c.failed()) return;
  check_table(c, *copying.stage, rows, amounts_of(rows));
  c.state().SetItemsProcessed(c.state().iterations() * rows);
  c.state().SetBytesProcessed(c.state().iterations() * rows *
                              static_cast<std::int64_t>(copying.stage->stock().body + 16));
}

void run_in(Case& c, pg::CopyFormat format) {
  const auto copying = copying_of(c.name());
  if (!copying) return c.fail(copying.error());
  auto& [stage, caller] = **copying;
  const std::int64_t rows = rows_of_size();
  for (auto _ : c.state()) {
    c.state().PauseTiming();
    const auto emptied = stage->run("TRUNCATE items");
    c.state().ResumeTiming();
    const auto copied =
        emptied ? caller->in(rows, format) : Result<std::uint64_t>(fail(emptied.error()));
    if (!copied) {
      c.fail(copied.error());
      break;
    }
  }
  done(c, **copying, rows);
}

void run_out(Case& c, pg::CopyFormat format) {
  const auto copying = copying_of(c.name());
  if (!copying) return c.fail(copying.error());
  auto& [stage, caller] = **copying;
  const std::int64_t rows = rows_of_size();
  const auto there = stage->number(std::string(kRowsPresent));
  if (!there) return c.fail(there.error());
  if (*there == 0) {
    if (const auto filled = caller->in(rows, format); !filled) return c.fail(filled.error());
  }
  for (auto _ : c.state()) {
    const auto seen = caller->out(format);
    if (!seen) {
      c.fail(seen.error());
      break;
    }
    const bool is_right = seen->items == static_cast<std::uint64_t>(rows) &&
                          seen->amounts == amounts_of(rows) &&
                          seen->bytes == static_cast<std::uint64_t>(rows) * stage->stock().body;
    if (!is_right) {
      c.fail(fmt::format("wrong: {} rows came out, with amounts of {} and bodies of {} bytes",
                         seen->items, seen->amounts, seen->bytes));
      break;
    }
  }
  done(c, **copying, rows);
}

void add(std::string_view direction, pg::CopyFormat format, void (*run)(Case&, pg::CopyFormat)) {
  cpu_case(fmt::format("{}/copy/{}/format:{}/rows:{}", kGroup, direction,
                       format == pg::CopyFormat::kBinary ? "binary" : "text", rows_of_size()),
           [format, run](Case& c) { run(c, format); }, {Resource::kDb, true});
}

}  // namespace

void register_copy_cases() {
  for (const auto format : {pg::CopyFormat::kBinary, pg::CopyFormat::kText}) {
    if (size() == Size::kSmoke && format == pg::CopyFormat::kText) break;
    add("in", format, run_in);
    add("out", format, run_out);
  }
}

}  // namespace plimsoll::bench
