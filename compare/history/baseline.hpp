#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compare/model.hpp"
#include "lib/core/result.hpp"

/// The baselines: <root>/<machine class>/<size>/<group>.json, written by `record` alone.
///
/// A file holds a digest of each recorded session: per benchmark and judged metric the session's
/// statistic, the smallest repetition, the median and their number. docs/compare.md has the schema.
namespace plimsoll::compare {

/// The version of the baseline files.
inline constexpr int kBaselineSchema = 1;

/// The sessions of one baseline file, oldest first. A run's samples hold one value a metric: the
/// recorded statistic.
/// Errors: kInvalidArgument with file, position and reason, also for a newer schema.
[[nodiscard]] Result<std::vector<Session>> read_baseline(const std::string& text,
                                                         const std::string& file);

/// Whether a JSON text is a baseline file and not a result file.
[[nodiscard]] bool is_baseline(std::string_view text);

/// What became of a recording.
struct Recorded {
  std::string text;                ///< The file's new content. Equal inputs give equal bytes.
  std::size_t sessions = 0;        ///< Added.
  std::size_t known = 0;           ///< Left out, since the file has them already.
  std::vector<std::string> notes;  ///< What was left out, and why.
};

/// Adds the sessions to a baseline file's content (empty: a new file). Only VALID runs without an
/// error are recorded, and a session that the file has already is not added again.
///
/// REQUIRES: all sessions of one group, machine class and size. Errors: kInvalidArgument for
/// sessions that can be nobody's baseline (plain files, smoke size, a debug or sanitized build),
/// with the reason; as read_baseline for the old content.
[[nodiscard]] Result<Recorded> append(const std::string& old_text,
                                      std::span<const Session> sessions);

/// <root>/<class>/<size>/<group>.json. Errors: kInvalidArgument where one of them is empty or no
/// plain file name.
[[nodiscard]] Result<std::filesystem::path> baseline_path(const std::filesystem::path& root,
                                                          const Facts& facts);

/// What `record` did.
struct RecordOutcome {
  std::size_t added = 0;           ///< Sessions.
  std::size_t known = 0;           ///< Sessions that were recorded before.
  std::vector<std::string> notes;  ///< One for each file, and for what was left out.
};

/// Appends to the files under `root` that the sessions belong to, each replaced as a whole, so that
/// no reader ever sees half of one. Errors: as append; kInternal with the path.
[[nodiscard]] Result<RecordOutcome> record(const std::filesystem::path& root,
                                           std::span<const Session> sessions);

/// What a group's new sessions are held against.
struct Baselines {
  std::vector<Session> same;       ///< Their class, size and server settings. Oldest first.
  std::vector<Session> elsewhere;  ///< Their size, on another class or with other settings.
};

/// Looks through the roots in order. A root that does not exist holds nothing.
/// Errors: as read_baseline.
[[nodiscard]] Result<Baselines> find_baselines(std::span<const std::filesystem::path> roots,
                                               const Facts& facts);

/// Writes `text` beside `wanted` and renames it there, making the folders. A link is followed, and
/// a device or a FIFO is written to as it is. Errors: kInternal.
[[nodiscard]] Result<void> replace_file(const std::filesystem::path& wanted,
                                        const std::string& text);

}  // namespace plimsoll::compare
