#pragma once

#include <string>

#include "bench/harness/record.hpp"

namespace plimsoll::bench {

/// How the running binary was built. The commit comes from a file beside the binary, so that equal
/// code gives an equal build id whatever the commit.
struct BuildInfo {
  std::string type;      ///< "RelWithDebInfo"
  std::string compiler;  ///< "GNU 12.2.0"
  std::string flags;
  std::string commit;  ///< "unknown" where the file is missing or the tree is no git checkout.
  bool dirty = false;
  std::string build_id;  ///< GNU build id, hex; empty where the linker wrote none.
  bool optimised = false;
  bool sanitized = false;
};

/// Reads the running executable's own notes and the file beside it.
[[nodiscard]] BuildInfo read_build_info();

/// The machine that the numbers belong to.
struct MachineInfo {
  std::string cpu;         ///< "AuthenticAMD 25-1-1": vendor, family, model, stepping.
  std::string hypervisor;  ///< "kvm", "none", ...
  std::string kernel;      ///< "6.1"
  std::string libc;        ///< "glibc 2.36"
  long cores = 0;
  std::uint64_t memory_bytes = 0;
};

/// From facts that do not change from boot to boot: no host name, no clock rate.
[[nodiscard]] MachineInfo read_machine_info();

/// The key of the baselines, e.g.
/// "amd-25-1-1-2c-24g-kvm-linux6.1-glibc2.36-gnu12-relwithdebinfo-pg15". `postgres_major` 0 for a
/// group without Postgres.
[[nodiscard]] std::string machine_class(const MachineInfo& machine, const BuildInfo& build,
                                        int postgres_major);

[[nodiscard]] Json to_json(const BuildInfo& build);
[[nodiscard]] Json to_json(const MachineInfo& machine, const std::string& machine_class);

}  // namespace plimsoll::bench
