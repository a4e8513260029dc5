#include "compare/read/row.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>

#include "compare/read/bare_tokens.hpp"

namespace plimsoll::compare {
namespace {

using nlohmann::json;

constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();

/// Keys that Google Benchmark writes itself, 1.5 to 1.9. Any other number is a counter.
constexpr std::array<std::string_view, 27> kBuiltIn = {"name",
                                                       "run_name",
                                                       "run_type",
                                                       "family_index",
                                                       "iterations",
                                                       "per_family_instance_index",
                                                       "repetitions",
                                                       "real_time",
                                                       "repetition_index",
                                                       "threads",
                                                       "cpu_time",
                                                       "time_unit",
                                                       "aggregate_name",
                                                       "aggregate_unit",
                                                       "error_occurred",
                                                       "error_message",
                                                       "skipped",
                                                       "skip_message",
                                                       "label",
                                                       "cpu_coefficient",
                                                       "real_coefficient",
                                                       "big_o",
                                                       "rms",
                                                       "plimsoll",
                                                       "report_label",
                                                       "report_format",
                                                       "statistics"};

bool is_built_in(std::string_view key) {
  return std::find(kBuiltIn.begin(), kBuiltIn.end(), key) != kBuiltIn.end();
}

const json* find(const json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

std::string text_of(const json& object, const char* key) {
  const json* value = find(object, key);
  return value != nullptr && value->is_string() ? value->get<std::string>() : std::string();
}

std::optional<std::int64_t> integer_of(const json& object, const char* key) {
  const json* value = find(object, key);
  if (value == nullptr || !value->is_number_integer()) return std::nullopt;
  return value->get<std::int64_t>();
}

bool is_true(const json& object, const char* key) {
  const json* value = find(object, key);
  return value != nullptr && value->is_boolean() && value->get<bool>();
}

/// The number in `value`; null is what a merged file holds for NaN. nullopt: not a number at all.
std::optional<double> number_in(const json& value) {
  if (value.is_number()) return value.get<double>();
  if (value.is_null()) return kNotANumber;
  if (value.is_string()) return marked_number(value.get_ref<const std::string&>());
  return std::nullopt;
}

RowKind kind_of(const json& fields) {
  const std::string aggregate = text_of(fields, "aggregate_name");
  if (aggregate == "BigO" || aggregate == "RMS" || fields.contains("big_o") ||
      fields.contains("rms") || fields.contains("cpu_coefficient")) {
    return RowKind::kFit;
  }
  if (is_true(fields, "error_occurred")) return RowKind::kFailed;
  if (is_true(fields, "skipped")) return RowKind::kSkipped;
  if (text_of(fields, "run_type") == "aggregate" || !aggregate.empty()) return RowKind::kAggregate;
  return RowKind::kMeasured;
}

double nanoseconds_per(std::string_view unit) {
  if (unit.empty() || unit == "ns") return 1;
  if (unit == "us") return 1e3;
  if (unit == "ms") return 1e6;
  if (unit == "s") return 1e9;
  return kNotANumber;
}

void read_values(const json& fields, Row& row) {
  const std::string unit = text_of(fields, "time_unit");
  const double scale = nanoseconds_per(unit);
  if (scale != scale) row.issues.push_back(fmt::format("unknown time_unit '{}'", unit));
  for (const char* clock : {"real_time", "cpu_time"}) {
    const json* value = find(fields, clock);
    const auto number = value == nullptr ? std::nullopt : number_in(*value);
    if (!number) row.issues.push_back(fmt::format("no number under {}", clock));
    row.values[clock] = number.value_or(kNotANumber) * scale;
  }
  for (const auto& [key, value] : fields.items()) {
    if (is_built_in(key)) continue;
    if (const auto number = number_in(value)) row.values[key] = *number;
  }
}

Validity validity_of(const std::string& verdict, Row& row) {
  for (const Validity known :
       {Validity::kValid, Validity::kGeneratorLimited, Validity::kHostContended,
        Validity::kNotSteady, Validity::kServerCrashed, Validity::kUnbalanced}) {
    if (verdict == name(known)) return known;
  }
  // What is not known to be good is not believed; what failed says so by its own error.
  if (verdict == "FAILED") return Validity::kNotSteady;
  row.validity_reasons.push_back(fmt::format("unknown validity verdict '{}'", verdict));
  return Validity::kNotSteady;
}

void read_texts(const json* array, std::vector<std::string>& into) {
  if (array == nullptr || !array->is_array()) return;
  for (const json& text : *array) {
    if (text.is_string()) into.push_back(text.get<std::string>());
  }
}

void read_additions(const json& ours, Row& row) {
  row.session = text_of(ours, "session");
  const std::string resource = text_of(ours, "resource");
  for (const Resource known : {Resource::kCpu, Resource::kIo, Resource::kDb}) {
    if (resource == name(known)) row.resource = known;
  }
  if (const json* gate = find(ours, "gate"); gate != nullptr && gate->is_boolean()) {
    row.gate = gate->get<bool>();
  }
  if (const json* validity = find(ours, "validity")) {
    row.validity = validity_of(text_of(*validity, "verdict"), row);
    read_texts(find(*validity, "reasons"), row.validity_reasons);
  }
  if (const json* invariants = find(ours, "invariants"); invariants && invariants->is_object()) {
    for (const auto& [key, entry] : invariants->items()) {
      const json* value = find(entry, "value");
      const json* expected = find(entry, "expected");
      row.invariants[key] = {value ? number_in(*value).value_or(kNotANumber) : kNotANumber,
                             expected ? number_in(*expected).value_or(kNotANumber) : kNotANumber};
    }
  }
  read_texts(find(ours, "issues"), row.issues);
}

}  // namespace

Row read_row(const RawRow& raw, std::size_t number) {
  const json& fields = raw.fields;
  Row row;
  row.kind = kind_of(fields);
  row.name = text_of(fields, "run_name");
  if (row.name.empty()) row.name = text_of(fields, "name");
  if (row.name.empty()) {
    row.name = fmt::format("row {} (no name)", number);
    row.kind = RowKind::kFailed;
    row.message = "the row has no name";
    return row;
  }
  const auto family = integer_of(fields, "family_index");
  const auto instance = integer_of(fields, "per_family_instance_index");
  if (family && instance) row.family = {*family, *instance};
  row.repetition = integer_of(fields, "repetition_index");
  for (const std::string& key : raw.repeated) {
    row.issues.push_back(fmt::format("the key '{}' comes twice; the first is used", key));
  }
  if (row.kind == RowKind::kFailed) row.message = text_of(fields, "error_message");
  if (row.kind == RowKind::kSkipped) row.message = text_of(fields, "skip_message");
  if (row.kind == RowKind::kMeasured) read_values(fields, row);
  if (const json* ours = find(fields, "plimsoll")) read_additions(*ours, row);
  return row;
}

}  // namespace plimsoll::compare
