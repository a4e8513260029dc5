#include "compare/ab/build_id.hpp"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <fstream>
#include <string_view>
#include <vector>

namespace plimsoll::compare {
namespace {

static_assert(std::endian::native == std::endian::little,
              "ELF fields are read as they lie in the file");

constexpr std::uint64_t kLargestNotes =
    1 << 20;  // A broken header must not make us read a disk full of nothing.

template <class T>
bool read_at(std::ifstream& file, std::uint64_t offset, T& value) {
  file.seekg(static_cast<std::streamoff>(offset));
  file.read(reinterpret_cast<char*>(&value), sizeof value);
  return file.good();
}

std::uint64_t padded(std::uint64_t size) { return (size + 3) / 4 * 4; }

std::optional<std::string> id_in_notes(std::string_view notes) {
  while (notes.size() >= sizeof(Elf64_Nhdr)) {
    Elf64_Nhdr header;
    std::memcpy(&header, notes.data(), sizeof header);
    const std::uint64_t name_at = sizeof header;
    const std::uint64_t id_at = name_at + padded(header.n_namesz);
    const std::uint64_t end = id_at + padded(header.n_descsz);
    if (id_at + header.n_descsz > notes.size()) return std::nullopt;
    const std::string_view owner = notes.substr(name_at, header.n_namesz);
    if (header.n_type == NT_GNU_BUILD_ID && owner == std::string_view("GNU\0", 4)) {
      std::string hex;
      for (const char byte : notes.substr(id_at, header.n_descsz)) {
        hex += fmt::format("{:02x}", static_cast<unsigned char>(byte));
      }
      return hex;
    }
    notes.remove_prefix(std::min<std::uint64_t>(end, notes.size()));
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> build_id_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  Elf64_Ehdr header;
  if (!read_at(file, 0, header)) return std::nullopt;
  const bool known = std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
                     header.e_ident[EI_CLASS] == ELFCLASS64 &&
                     header.e_ident[EI_DATA] == ELFDATA2LSB;
  if (!known) return std::nullopt;
  for (std::uint64_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    if (!read_at(file, header.e_phoff + i * header.e_phentsize, segment)) return std::nullopt;
    if (segment.p_type != PT_NOTE || segment.p_filesz > kLargestNotes) continue;
    std::string notes(segment.p_filesz, '\0');
    file.seekg(static_cast<std::streamoff>(segment.p_offset));
    if (!file.read(notes.data(), static_cast<std::streamsize>(notes.size()))) return std::nullopt;
    if (auto id = id_in_notes(notes)) return id;
  }
  return std::nullopt;
}

}  // namespace plimsoll::compare
