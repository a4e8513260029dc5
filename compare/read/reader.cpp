#include "compare/read/reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <set>
#include <utility>

#include "compare/read/bare_tokens.hpp"
#include "compare/read/result_handler.hpp"
#include "compare/read/row.hpp"
#include "compare/read/session_builder.hpp"
#include "lib/core/nearest.hpp"

namespace plimsoll::compare {
namespace {

namespace fs = std::filesystem;

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

/// What is certainly no JSON text, by its first bytes, or "".
std::string_view foreign_format(std::string_view text) {
  using namespace std::string_view_literals;
  if (text.starts_with("\xff\xfe"sv) || text.starts_with("\xfe\xff"sv) ||
      text.starts_with("{\0"sv) || text.starts_with("\0{"sv)) {
    return "UTF-16 text; convert it first: iconv -f UTF-16 -t UTF-8"sv;
  }
  if (text.starts_with("\x1f\x8b"sv)) return "compressed by gzip; unpack it first: gunzip"sv;
  if (text.starts_with("\x28\xb5\x2f\xfd"sv))
    return "compressed by zstd; unpack it first: unzstd"sv;
  return {};
}

/// FNV-1a over the bytes: equal files are one session, however they are named.
std::string plain_session_id(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return fmt::format("plain-{:016x}", hash);
}

/// The names of what lies in `directory`; empty where it cannot be read.
std::vector<std::string> names_in(const fs::path& directory) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(directory.empty() ? "." : directory, error), end;
       !error && it != end; it.increment(error)) {
    names.push_back((directory / it->path().filename()).string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

Error not_found(const fs::path& path) {
  const auto candidates = names_in(path.parent_path());
  const auto close = nearest(path.string(), candidates);
  return Error{Errc::kNotFound,
               fmt::format("{}: no such file{}", path.string(),
                           close ? fmt::format("; nearest: {}", *close) : std::string()),
               {}};
}

/// The *.json files of a directory, by name.
Result<std::vector<std::string>> json_files(const fs::path& directory) {
  std::vector<std::string> files;
  std::error_code error;
  std::error_code type_error;  // A dangling link is listed, so that opening it says why.
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    if (it->path().extension() == ".json" && !fs::is_directory(it->path(), type_error)) {
      files.push_back(it->path().string());
    }
  }
  if (error) {
    return fail(Errc::kInternal, fmt::format("{}: {}", directory.string(), error.message()));
  }
  if (files.empty()) {
    return fail(Errc::kNotFound,
                fmt::format("{}: no *.json in this directory", directory.string()));
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

Result<std::string> read_bytes(const fs::path& path) {
  std::error_code error;
  if (!fs::exists(path, error)) return fail(not_found(path));
  if (fs::is_directory(path, error)) {
    return fail(Errc::kInvalidArgument, fmt::format("{}: is a directory", path.string()));
  }
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                             &std::fclose);
  if (!file) {
    return fail(Errc::kInternal, fmt::format("{}: {}", path.string(), std::strerror(errno)));
  }
  std::string text;
  const auto size = fs::file_size(path, error);
  if (!error) text.reserve(static_cast<std::size_t>(size) + 1);
  constexpr std::size_t kChunk = 1 << 20;
  for (std::size_t got = kChunk; got == kChunk;) {
    const std::size_t before = text.size();
    text.resize(before + kChunk);
    got = std::fread(text.data() + before, 1, kChunk, file.get());
    text.resize(before + got);
  }
  if (std::ferror(file.get()) != 0) {
    return fail(Errc::kInternal, fmt::format("{}: {}", path.string(), std::strerror(errno)));
  }
  return text;
}

Result<std::vector<Session>> read_text(std::string text, const std::string& file) {
  if (is_blank(text)) {
    Session empty;
    empty.file = file;
    empty.id = "empty:" + file;  // Two empty files are two runs that measured nothing.
    empty.metrics = default_metrics();
    empty.issues.push_back(
        "the file is empty; Google Benchmark leaves one where its filter matched nothing");
    return std::vector<Session>{std::move(empty)};
  }
  if (const auto foreign = foreign_format(text); !foreign.empty()) {
    return fail(Errc::kInvalidArgument, fmt::format("{}: byte 0: {} {}", file, foreign, file));
  }
  const std::string id = plain_session_id(text);
  mark_bare_tokens(text);
  std::vector<Row> rows;
  auto walked = walk_result(text, Keep::kJudged,
                            [&](RawRow raw) { rows.push_back(read_row(raw, rows.size() + 1)); });
  if (!walked) {
    return fail(walked.error().code, fmt::format("{}: {}", file, walked.error().message));
  }
  if (!walked->has_rows) {
    return fail(Errc::kInvalidArgument,
                fmt::format("{}: no array `benchmarks`: not a Google Benchmark result", file));
  }
  auto sessions = build_sessions(walked->context, std::move(rows), file, id);
  if (!sessions) {
    return fail(sessions.error().code, fmt::format("{}: {}", file, sessions.error().message));
  }
  return sessions;
}

Result<std::vector<Session>> read_file(const fs::path& path) {
  auto text = read_bytes(path);
  if (!text) return fail(std::move(text.error()));
  return read_text(std::move(*text), path.string());
}

bool has_json(const fs::path& directory) { return json_files(directory).has_value(); }

Result<std::vector<std::string>> expand(std::span<const std::string> paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    std::error_code error;
    if (!fs::is_directory(path, error)) {
      files.push_back(path);
      continue;
    }
    auto found = json_files(path);
    if (!found) return fail(std::move(found.error()));
    files.insert(files.end(), found->begin(), found->end());
  }
  return files;
}

Result<std::vector<Session>> read_all(std::span<const std::string> paths) {
  const auto files = expand(paths);
  if (!files) return fail(files.error());
  std::vector<Session> sessions;
  for (const std::string& file : *files) {
    auto read = read_file(file);
    if (!read) return fail(std::move(read.error()));
    for (Session& session : *read) {
      const auto same = std::find_if(sessions.begin(), sessions.end(),
                                     [&](const Session& s) { return s.id == session.id; });
      if (same == sessions.end()) {
        sessions.push_back(std::move(session));
      } else {
        same->issues.push_back(fmt::format("given twice: {} and {}", same->file, session.file));
      }
    }
  }
  return sessions;
}

}  // namespace plimsoll::compare
