#pragma once

#include <string>
#include <utility>

#include "compare/ab/ab.hpp"

namespace plimsoll::compare {

/// One line on a terminal's standard error, rewritten as pairs come in and taken away before
/// anything else is printed there; nothing where that is no terminal. Thread safety: none.
class ProgressLine {
 public:
  /// `lead` stands before every state, e.g. "confirming ".
  explicit ProgressLine(std::string lead) : lead_(std::move(lead)) {}
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  ~ProgressLine() { clear(); }

  void show(const AbProgress& progress);
  /// A line that stays.
  void say(const std::string& line);

 private:
  void clear();

  std::string lead_;
  bool shown_ = false;
};

}  // namespace plimsoll::compare
