#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "lib/core/result.hpp"
#include "lib/pg/copy_value.hpp"

namespace plimsoll::pg {

/// The text forms of COPY and of the types that copy_writer.hpp and copy_reader.hpp know. Errors:
/// kProtocol, with what was expected; values are quoted up to 40 characters.

/// Appends `text` with COPY's escapes: tab, line breaks and backslash.
void append_escaped(std::string& out, std::string_view text);
/// Takes the escapes out in place; returns what is left of the size. Knows those that the server
/// writes, not the octal and hexadecimal ones that it reads.
[[nodiscard]] std::size_t unescape(char* text, std::size_t size) noexcept;

/// `\x6162`, without COPY's escaping of the backslash.
void append_hex(std::string& out, std::string_view bytes);
[[nodiscard]] Result<std::string> bytes_of_hex(std::string_view text);

/// `2000-01-01 00:00:00.000001+00`, with ` BC` behind, or `infinity`.
void append_timestamp(std::string& out, Timestamp time);
/// The ISO style at any offset.
[[nodiscard]] Result<Timestamp> timestamp_of_text(std::string_view text);

void append_uuid(std::string& out, const Uuid& uuid);
[[nodiscard]] Result<Uuid> uuid_of_text(std::string_view text);

}  // namespace plimsoll::pg
