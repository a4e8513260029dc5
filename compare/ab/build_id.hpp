#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace plimsoll::compare {

/// The GNU build id of an ELF file, in hex: a hash of everything that the linker put into it. Equal
/// ids mean equal machine code, so that there is nothing to measure. nullopt for what is no 64-bit
/// little-endian ELF file, or has no such note, or cannot be read.
[[nodiscard]] std::optional<std::string> build_id_of(const std::filesystem::path& file);

}  // namespace plimsoll::compare
