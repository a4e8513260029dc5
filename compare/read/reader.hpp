#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compare/model.hpp"
#include "lib/core/result.hpp"

namespace plimsoll::compare {

/// Reads the text of one result file: Google Benchmark JSON of 1.5 to 1.9, with or without our
/// additions, one session or several merged ones. `file` is only a name for messages.
///
/// Lenient about what Google Benchmark writes (bare NaN and Infinity, failed rows of both
/// generations, Big-O rows, aggregates, repeated keys, missing keys, a byte order mark): what is
/// odd about a row is kept as data, for the judge. An empty text is a session without runs.
///
/// `text` is edited in place: a bare NaN becomes a string of the same length.
/// Cost: one pass, about 100 MB/s; memory for the text and the numbers that are judged.
/// Errors: kInvalidArgument for anything that is not such a file, with file, byte offset,
/// line:column and reason, on one line.
[[nodiscard]] Result<std::vector<Session>> read_text(std::string text, const std::string& file);

/// Reads one file. Errors: as read_text; kNotFound, kInternal with the system's reason.
[[nodiscard]] Result<std::vector<Session>> read_file(const std::filesystem::path& path);

/// Reads files and directories (every *.json in them, by name). A session that is given twice is
/// kept once, with an issue that says so: counting it twice would be believing it twice.
/// Errors: as read_file; kNotFound names the nearest existing file; a directory without *.json.
[[nodiscard]] Result<std::vector<Session>> read_all(std::span<const std::string> paths);

/// The whole file. Errors: kNotFound, naming the nearest existing file; kInternal.
[[nodiscard]] Result<std::string> read_bytes(const std::filesystem::path& path);

/// Whether the directory holds a *.json and can be read.
[[nodiscard]] bool has_json(const std::filesystem::path& directory);

/// Files as they are, directories as their *.json in order of name. Errors: a directory without.
[[nodiscard]] Result<std::vector<std::string>> expand(std::span<const std::string> paths);

}  // namespace plimsoll::compare
