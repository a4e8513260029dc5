#pragma once

#include <string>

#include "bench/harness/build_info.hpp"
#include "bench/harness/host.hpp"
#include "bench/harness/record.hpp"

namespace plimsoll::bench {

/// A server that the session used, as the group told the harness (infra.hpp).
struct UsedInfra {
  Json servers = Json::object();  ///< `context.plimsoll.infra`
  int postgres_major = 0;
};
[[nodiscard]] UsedInfra& used_infra();

/// One run of a bench binary: everything that its file says about it as a whole.
class Session {
 public:
  Session(std::string group, const Settings& settings);

  /// `context` of the file: what Google Benchmark writes there, and our object. `complete` is false
  /// in every file that was written before the last case had ended.
  [[nodiscard]] Json context(const benchmark::BenchmarkReporter::Context& google,
                             bool complete) const;

  [[nodiscard]] const std::string& group() const noexcept { return group_; }
  [[nodiscard]] const Settings& settings() const noexcept { return settings_; }
  [[nodiscard]] const BuildInfo& build() const noexcept { return build_; }
  [[nodiscard]] std::string machine_class() const;

 private:
  std::string group_;
  const Settings& settings_;
  std::string id_;
  BuildInfo build_;
  MachineInfo machine_;
  Json pressure_before_;
  std::optional<HostMoment> host_before_;
};

}  // namespace plimsoll::bench
