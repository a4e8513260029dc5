#include "bench/harness/session.hpp"

#include <fmt/format.h>

#include <random>
#include <sstream>

#include "bench/harness/metrics.hpp"

namespace plimsoll::bench {
namespace {

/// 128 random bits: no two sessions of a merged file are ever the same.
std::string random_id() {
  std::random_device device;
  std::string id;
  for (int i = 0; i < 4; ++i) id += fmt::format("{:08x}", device());
  return id;
}

/// What this version of Google Benchmark writes as its own context, by its own writer: the keys
/// differ from version to version, and a reader of them must find what it knows.
Json google_context(const benchmark::BenchmarkReporter::Context& context) {
  std::ostringstream text;
  benchmark::JSONReporter writer;
  writer.SetOutputStream(&text);
  writer.SetErrorStream(&text);
  (void)writer.ReportContext(context);
  const Json parsed = Json::parse(text.str() + "]}", nullptr, false);
  if (parsed.is_object() && parsed.contains("context")) return parsed["context"];
  return {{"date", utc_timestamp()}, {"num_cpus", context.cpu_info.num_cpus}};
}

/// What the kernel does not offer is absent. `steal` is the share of all CPU time that the
/// hypervisor took between two moments.
Json pressure_now(const std::optional<HostMoment>& begin, const std::optional<HostMoment>& end) {
  Json json = Json::object();
  if (const auto pressure = load::read_pressure()) {
    json["cpu_some_avg10"] = pressure->cpu_some_avg10;
    json["io_some_avg10"] = pressure->io_some_avg10;
    json["load1"] = pressure->load1;
  }
  if (begin && end) json["steal"] = use_between(*begin, *end).steal_share;
  return json;
}

}  // namespace

UsedInfra& used_infra() {
  static UsedInfra used;
  return used;
}

Session::Session(std::string group, const Settings& settings)
    : group_(std::move(group)),
      settings_(settings),
      id_(random_id()),
      build_(read_build_info()),
      machine_(read_machine_info()),
      host_before_(read_host({})) {
  // The monotonic clock begins at boot, as the kernel's counts do.
  pressure_before_ = pressure_now(HostMoment{}, host_before_);
}

std::string Session::machine_class() const {
  return bench::machine_class(machine_, build_, used_infra().postgres_major);
}

Json Session::context(const benchmark::BenchmarkReporter::Context& google, bool complete) const {
  Json context = google_context(google);
  Json after = pressure_now(host_before_, read_host({}));
  after["foreign_cores"] = host_watch().overall().foreign_cores;
  context["plimsoll"] = {{"schema", 1},
                         {"group", group_},
                         {"size", name(settings_.size)},
                         {"seed", settings_.seed},
                         {"operations", settings_.operations},
                         {"session", id_},
                         {"complete", complete},
                         {"build", bench::to_json(build_)},
                         {"machine", bench::to_json(machine_, machine_class())},
                         {"infra", used_infra().servers},
                         {"pressure", {{"before", pressure_before_}, {"after", std::move(after)}}},
                         {"metrics", metrics().to_json()}};
  return context;
}

}  // namespace plimsoll::bench
