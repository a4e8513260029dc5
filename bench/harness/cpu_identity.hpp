#pragma once

#include <string>

namespace plimsoll::bench {

/// What the processor says of itself that no clock or microcode update changes: "amd-25-1-1"
/// (vendor, family, model, stepping) on x86, "arm-41-d0c" (implementer, part) on ARM, the machine's
/// name elsewhere.
[[nodiscard]] std::string cpu_identity();

/// "kvm", "vmware", "hyperv", "xen", "other", or "none" for a machine of its own.
[[nodiscard]] std::string hypervisor();

}  // namespace plimsoll::bench
