#include "bench/harness/build_info.hpp"

#include <elf.h>
#include <fmt/format.h>
#include <gnu/libc-version.h>
#include <link.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <span>

#include "bench/harness/build_flags.hpp"
#include "bench/harness/cpu_identity.hpp"

namespace plimsoll::bench {
namespace {

std::string hex(std::span<const unsigned char> bytes) {
  std::string text;
  for (const unsigned char byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

/// The GNU build id among the notes of one segment, or empty.
std::string build_id_in(const char* notes, std::size_t size) {
  const auto padded = [](std::size_t length) { return (length + 3) & ~std::size_t{3}; };
  std::size_t at = 0;
  while (at + sizeof(ElfW(Nhdr)) <= size) {
    ElfW(Nhdr) header{};
    std::memcpy(&header, notes + at, sizeof header);
    const char* owner = notes + at + sizeof header;
    const char* content = owner + padded(header.n_namesz);
    if (header.n_type == NT_GNU_BUILD_ID && header.n_namesz == 4 &&
        std::memcmp(owner, "GNU", 4) == 0) {
      return hex({reinterpret_cast<const unsigned char*>(content), header.n_descsz});
    }
    at += sizeof header + padded(header.n_namesz) + padded(header.n_descsz);
  }
  return {};
}

/// The loader lists the executable itself first, under an empty name.
std::string own_build_id() {
  std::string found;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* out) {
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const auto& header = info->dlpi_phdr[i];
          if (header.p_type != PT_NOTE) continue;
          // The loader maps the segment at its base plus this address.
          const auto* notes = reinterpret_cast<const char*>(info->dlpi_addr + header.p_vaddr);
          auto& id = *static_cast<std::string*>(out);
          if (id.empty()) id = build_id_in(notes, header.p_memsz);
        }
        return 1;
      },
      &found);
  return found;
}

Json read_sidecar() {
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return {};
  std::ifstream file(program.parent_path() / "plimsoll-build.json");
  Json content = Json::parse(file, nullptr, false);
  return content.is_object() ? content : Json::object();
}

/// "6.1" of "6.1.0-18-cloud-amd64".
std::string major_and_minor(std::string_view release) {
  const auto first = release.find('.');
  const auto end =
      first == std::string_view::npos ? first : release.find_first_not_of("0123456789", first + 1);
  return std::string(release.substr(0, end));
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return text;
}

}  // namespace

BuildInfo read_build_info() {
  BuildInfo build;
  build.type = kBuildType;
  build.compiler = fmt::format("{} {}", kCompiler, kCompilerVersion);
  build.flags = kBuildFlags;
  build.sanitized = !std::string_view(kSanitizers).empty();
#ifdef __OPTIMIZE__
  build.optimised = true;
#endif
  const Json sidecar = read_sidecar();
  const auto commit = sidecar.find("commit");
  build.commit =
      commit != sidecar.end() && commit->is_string() ? commit->get<std::string>() : "unknown";
  const auto dirty = sidecar.find("dirty");
  build.dirty = dirty != sidecar.end() && dirty->is_boolean() && dirty->get<bool>();
  build.build_id = own_build_id();
  return build;
}

MachineInfo read_machine_info() {
  MachineInfo machine;
  machine.cpu = cpu_identity();
  machine.hypervisor = hypervisor();
  utsname system{};
  uname(&system);
  machine.kernel = major_and_minor(system.release);
  machine.libc = fmt::format("glibc {}", gnu_get_libc_version());
  machine.cores = sysconf(_SC_NPROCESSORS_ONLN);
  machine.memory_bytes = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) *
                         static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  return machine;
}

std::string machine_class(const MachineInfo& machine, const BuildInfo& build, int postgres_major) {
  // What the kernel keeps for itself varies by release; whole GiB do not.
  const auto gib = std::llround(static_cast<double>(machine.memory_bytes) / (1024.0 * 1024 * 1024));
  const std::string_view compiler_major =
      std::string_view(kCompilerVersion).substr(0, std::string_view(kCompilerVersion).find('.'));
  std::string made = fmt::format("{}-{}c-{}g-{}-linux{}-{}-{}{}-{}", machine.cpu, machine.cores,
                                 gib, machine.hypervisor, machine.kernel, machine.libc, kCompiler,
                                 compiler_major, build.type);
  if (postgres_major > 0) made += fmt::format("-pg{}", postgres_major);
  std::erase(made, ' ');
  return lower(made);
}

Json to_json(const BuildInfo& build) {
  return {{"type", build.type},     {"compiler", build.compiler}, {"flags", build.flags},
          {"commit", build.commit}, {"dirty", build.dirty},       {"build_id", build.build_id}};
}

Json to_json(const MachineInfo& machine, const std::string& machine_class) {
  return {
      {"class", machine_class},   {"cores", machine.cores}, {"memory_bytes", machine.memory_bytes},
      {"kernel", machine.kernel}, {"cpu", machine.cpu},     {"hypervisor", machine.hypervisor},
      {"libc", machine.libc}};
}

}  // namespace plimsoll::bench
