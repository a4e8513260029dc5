#include "bench/harness/console.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "bench/harness/metrics.hpp"
#include "bench/harness/progress.hpp"
#include "lib/core/statistics.hpp"
#include "lib/core/units.hpp"

namespace plimsoll::bench {
namespace {

constexpr int kWidth = 100;
constexpr int kNameWidth = 32;
constexpr const char* kRed = "31";
constexpr const char* kGreen = "32";
constexpr const char* kYellow = "33";
constexpr const char* kDim = "2";
constexpr const char* kBold = "1";

/// Never throws, as fmt::print does on a full device: the stream is asked once, at the end.
void put(std::FILE* out, const std::string& text) {
  (void)std::fwrite(text.data(), 1, text.size(), out);
}

std::string paint(const std::string& text, const char* code, bool colours) {
  return colours ? fmt::format("\033[{}m{}\033[0m", code, text) : text;
}

std::string ns(double value) {
  return format_duration(std::chrono::nanoseconds(std::llround(value)));
}

/// A time for people. Below 100 ns whole nanoseconds are too coarse.
std::string time_of(double value) {
  return value < 100 ? fmt::format("{:.2f} ns", value) : ns(value);
}

std::vector<double> collect(std::span<const Row> rows, const std::string& counter) {
  std::vector<double> values;
  for (const Row& row : rows) {
    const auto found = row.counters.find(counter);
    if (!row.error && found != row.counters.end()) values.push_back(found->second);
  }
  return values;
}

/// The median over the repetitions, or nothing where no repetition has the counter.
std::optional<double> median_of(std::span<const Row> rows, const std::string& counter) {
  const auto values = collect(rows, counter);
  if (values.empty()) return std::nullopt;
  return median(values);
}

struct Times {
  double best;    ///< What the gate will look at: the minimum, for kIo the median.
  double spread;  ///< (max - min) / min.
};

std::optional<Times> times_of(std::span<const Row> rows) {
  std::vector<double> values;
  for (const Row& row : rows) {
    if (!row.error) values.push_back(gating_ns(row));
  }
  if (values.empty()) return std::nullopt;
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  const double best = rows.front().record.resource == Resource::kIo ? median(values) : *low;
  return Times{best, *low > 0 ? (*high - *low) / *low : 0};
}

std::string throughput(std::span<const Row> rows) {
  if (const auto bytes = median_of(rows, "bytes_per_second")) return format_bytes(*bytes) + "/s";
  for (const char* counter : {"operations_per_second", "items_per_second"}) {
    if (const auto rate = median_of(rows, counter)) return format_count(*rate) + "/s";
  }
  return {};
}

std::string percentile(std::span<const Row> rows, const char* counter) {
  const auto micros = median_of(rows, counter);
  return micros ? ns(*micros * 1000) : std::string();
}

/// "allocations 0, statements 3": every work counter, without "_per_op"; of a load case also what
/// the harness itself cost.
std::string work_of(std::span<const Row> rows) {
  std::vector<std::string> parts;
  for (const auto& [key, value] : rows.front().counters) {
    const Metric* metric = metrics().find(key);
    if (metric == nullptr || metric->kind != MetricClass::kWork) continue;
    std::string label = key.ends_with("_per_op") ? key.substr(0, key.size() - 7) : key;
    std::replace(label.begin(), label.end(), '_', ' ');
    parts.push_back(fmt::format("{} {:.6g}", label, median_of(rows, key).value_or(value)));
  }
  if (const auto cost = median_of(rows, "harness_ns_per_op")) {
    parts.push_back(fmt::format("harness {} ({:.1f} % of the CPU)", ns(*cost),
                                median_of(rows, "harness_share").value_or(0) * 100));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

/// Cut at spaces so that no line is longer than the table, each indented.
std::string wrapped(const std::string& text, std::size_t indent, const char* colour, bool colours) {
  std::string made;
  std::string line;
  const auto flush = [&] {
    if (!line.empty()) made += std::string(indent, ' ') + paint(line, colour, colours) + "\n";
    line.clear();
  };
  for (std::size_t begin = 0; begin < text.size();) {
    const auto end = std::min(text.find(' ', begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    if (!line.empty() && indent + line.size() + 1 + word.size() > kWidth) flush();
    if (!line.empty()) line += ' ';
    line += word;
    begin = end + 1;
  }
  flush();
  return made;
}

/// Parts of the name after group and subject.
std::string short_name(const std::string& name) {
  const auto group = name.find('/');
  const auto subject = name.find('/', group + 1);
  return subject == std::string::npos ? name : name.substr(subject + 1);
}

std::string subject_of(const std::string& name) {
  const auto group = name.find('/');
  return name.substr(0, name.find('/', group + 1));
}

struct Verdict {
  std::string word;
  const char* colour;
  std::vector<std::string> reasons{};
};

/// Distinct reasons in order of appearance.
void add_once(std::vector<std::string>& reasons, const std::string& reason) {
  if (std::find(reasons.begin(), reasons.end(), reason) == reasons.end()) reasons.push_back(reason);
}

Verdict verdict_of(std::span<const Row> rows) {
  Verdict failed{"FAILED", kRed};
  Verdict doubtful{"", kYellow};
  for (const Row& row : rows) {
    if (row.error) add_once(failed.reasons, *row.error);
    if (row.error && row.record.verdict == load::name(load::Verdict::kServerCrashed)) {
      for (const std::string& reason : row.record.reasons) {
        add_once(failed.reasons, fmt::format("{}: {}", row.record.verdict, reason));
      }
    }
    // One repetition speaks for the case: the others say the same with other figures.
    if (row.record.verdict == "VALID" || !doubtful.word.empty()) continue;
    doubtful.word = row.record.verdict;
    doubtful.reasons = row.record.reasons;
  }
  if (!failed.reasons.empty()) return failed;
  return doubtful.word.empty() ? Verdict{"ok", kGreen} : doubtful;
}

}  // namespace

std::string table_head(bool colours) {
  return paint(fmt::format("{:<{}}{:>9} {:>7} {:>9} {:>9} {:>11}  verdict", "", kNameWidth,
                           "time/op", "spread", "p50", "p99", "rate"),
               kDim, colours) +
         "\n";
}

std::string table_lines(std::span<const Row> rows, bool colours) {
  const Verdict verdict = verdict_of(rows);
  const std::string name = "  " + short_name(rows.front().name);
  std::string made;
  // A name that is too long for its column has a line of its own.
  const bool fits = name.size() < kNameWidth;
  if (!fits) made += name + "\n";
  // How long counting took says nothing about the subject.
  const bool is_work = rows.front().record.kind == Kind::kWork;
  const auto times = is_work ? std::nullopt : times_of(rows);
  const std::string spread =
      times && rows.size() > 1 ? fmt::format("+{:.1f} %", times->spread * 100) : std::string();
  made += fmt::format("{:<{}}{:>9} {:>7} {:>9} {:>9} {:>11}  {}\n", fits ? name : "", kNameWidth,
                      times ? time_of(times->best) : "-", spread,
                      percentile(rows, "latency_us_p50"), percentile(rows, "latency_us_p99"),
                      throughput(rows), paint(verdict.word, verdict.colour, colours));
  if (const std::string work = work_of(rows); !work.empty())
    made += wrapped(work, 6, kDim, colours);
  for (const std::string& reason : verdict.reasons)
    made += wrapped(reason, 6, verdict.colour, colours);
  std::vector<std::string> issues;
  for (const Row& row : rows) {
    for (const std::string& issue : row.record.issues) add_once(issues, issue);
  }
  for (const std::string& issue : issues) made += wrapped("note: " + issue, 6, kDim, colours);
  return made;
}

bool use_colours(Colour flag, const Environment& environment, bool is_terminal) {
  if (flag != Colour::kAuto) return flag == Colour::kAlways;
  const bool refused = !environment("NO_COLOR").value_or("").empty();
  return is_terminal && !refused && environment("TERM") != "dumb";
}

void Console::begin(const Session& session, std::size_t cases) {
  const auto& settings = session.settings();
  put(out_, fmt::format("{}: {} {}, size {}, seed {}\n", paint(session.group(), kBold, colours_),
                        cases, cases == 1 ? "case" : "cases", name(settings.size), settings.seed));
  put(out_, wrapped(session.machine_class(), 0, kDim, colours_));
  if (settings.size != Size::kSmoke && (!session.build().optimised || session.build().sanitized)) {
    put(out_,
        wrapped(fmt::format("built as {}: these times say nothing about the preset `bench`",
                            session.build().sanitized ? "a sanitizer build" : session.build().type),
                0, kYellow, colours_));
  }
  put(out_, table_head(colours_));
  std::fflush(out_);
}

void Console::show(std::span<const Row> repetitions) {
  progress().clear();
  const std::string subject = subject_of(repetitions.front().name);
  if (subject != subject_) put(out_, paint(subject, kBold, colours_) + "\n");
  subject_ = subject;
  put(out_, table_lines(repetitions, colours_));
  std::fflush(out_);
}

void Console::end(const Tally& tally, const std::string& file) {
  std::string line =
      fmt::format("{} {}, {} failed, {} not valid", tally.cases,
                  tally.cases == 1 ? "case" : "cases", tally.failed, tally.not_valid);
  if (tally.interrupted > 0) line += fmt::format(", {} not run", tally.interrupted);
  if (!file.empty()) line += fmt::format("; results in {}", file);
  const char* colour = tally.failed > 0 || tally.interrupted > 0 ? kRed
                       : tally.not_valid > 0                     ? kYellow
                                                                 : kGreen;
  put(out_, paint(line, colour, colours_) + "\n");
  std::fflush(out_);
}

}  // namespace plimsoll::bench
