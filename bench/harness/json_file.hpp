#pragma once

#include <string>

#include "bench/harness/record.hpp"

namespace plimsoll::bench {

/// Valid JSON whatever the strings hold: bytes that are not UTF-8 become U+FFFD.
[[nodiscard]] std::string text_of(const Json& document);

/// A file that is replaced as a whole: written under another name in the same directory and
/// renamed, so that a reader and a `kill -9` at any moment find either the last complete document
/// or the one before it. Survives the process' death, not the machine's: nothing is fsynced.
class JsonFile {
 public:
  /// Makes the directory, removes what killed writers of the same file left behind, and writes
  /// `first`.
  ///
  /// Errors: kRefused (there is something else than a file of that name), kInternal (the system's
  /// reason).
  [[nodiscard]] static Result<JsonFile> create(const std::string& path, const Json& first);

  /// Errors: kInternal; the document before stays.
  [[nodiscard]] Result<void> replace(const Json& document);

  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  explicit JsonFile(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace plimsoll::bench
