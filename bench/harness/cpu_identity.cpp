#include "bench/harness/cpu_identity.hpp"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

namespace plimsoll::bench {
namespace {

#if defined(__x86_64__) || defined(__i386__)

struct Registers {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
};

Registers cpuid(unsigned leaf) {
  Registers r;
  __cpuid(leaf, r.eax, r.ebx, r.ecx, r.edx);
  return r;
}

std::string text_of(std::array<unsigned, 3> words) {
  std::array<char, 13> text{};
  std::memcpy(text.data(), words.data(), 12);
  return text.data();
}

std::string identity() {
  const Registers name = cpuid(0);
  const std::string vendor = text_of({name.ebx, name.edx, name.ecx});
  const unsigned version = cpuid(1).eax;
  const unsigned base_family = (version >> 8) & 0xF;
  const unsigned family = base_family == 0xF ? base_family + ((version >> 20) & 0xFF) : base_family;
  unsigned model = (version >> 4) & 0xF;
  if (base_family == 0x6 || base_family == 0xF) model |= ((version >> 16) & 0xF) << 4;
  const std::string short_vendor = vendor == "AuthenticAMD"   ? "amd"
                                   : vendor == "GenuineIntel" ? "intel"
                                   : vendor == "HygonGenuine" ? "hygon"
                                                              : "x86";
  return fmt::format("{}-{}-{}-{}", short_vendor, family, model, version & 0xF);
}

std::string host() {
  constexpr unsigned kHypervisorBit = 1U << 31;
  if ((cpuid(1).ecx & kHypervisorBit) == 0) return "none";
  const Registers leaf = cpuid(0x40000000);
  const std::string signature = text_of({leaf.ebx, leaf.ecx, leaf.edx});
  if (signature.starts_with("KVMKVMKVM")) return "kvm";
  if (signature == "VMwareVMware") return "vmware";
  if (signature == "Microsoft Hv") return "hyperv";
  if (signature == "XenVMMXenVMM") return "xen";
  return "other";
}

#else

/// The value of the first line of /proc/cpuinfo with this key, without "0x".
std::string cpuinfo(std::string_view key) {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const auto colon = line.find(':');
    if (!line.starts_with(key) || colon == std::string::npos) continue;
    std::string value = line.substr(line.find_first_not_of(' ', colon + 1));
    return value.starts_with("0x") ? value.substr(2) : value;
  }
  return {};
}

std::string identity() {
  const std::string implementer = cpuinfo("CPU implementer");
  if (!implementer.empty()) return fmt::format("arm-{}-{}", implementer, cpuinfo("CPU part"));
  utsname system{};
  uname(&system);
  return system.machine;
}

/// Without cpuid the firmware's tables are the best witness.
std::string host() {
  std::error_code ignored;
  if (std::filesystem::exists("/sys/hypervisor/type", ignored)) return "xen";
  std::ifstream file("/sys/class/dmi/id/sys_vendor");
  std::string vendor;
  std::getline(file, vendor);
  if (vendor == "QEMU" || vendor == "Amazon EC2" || vendor == "Google") return "kvm";
  if (vendor.starts_with("VMware")) return "vmware";
  if (vendor == "Microsoft Corporation") return "hyperv";
  return vendor.empty() ? "other" : "none";
}

#endif

}  // namespace

std::string cpu_identity() { return identity(); }

std::string hypervisor() { return host(); }

}  // namespace plimsoll::bench
