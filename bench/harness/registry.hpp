#pragma once

#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "bench/harness/case.hpp"
#include "bench/harness/record.hpp"

namespace plimsoll::bench {

/// One case as its group registered it.
struct RegisteredCase {
  std::string name;
  Body body;
  CaseOptions options;
  Kind kind = Kind::kLoop;
};

/// Every case of the binary, and what their executions left behind.
///
/// Thread safety: none; Google Benchmark runs our cases on the main thread.
class Registry {
 public:
  [[nodiscard]] static Registry& instance();

  void add(RegisteredCase added);

  /// Remembers a mistake in the group's registration; main prints it and exits 1.
  void reject(std::string reason);

  /// Checks names against the group's and each other. Errors: kInvalidArgument, every mistake in
  /// one message.
  [[nodiscard]] Result<void> check(std::string_view group) const;

  /// The cases whose names the filter selects, in order of registration. Google's rules: POSIX
  /// extended, found anywhere, a leading `-` inverts; empty and "all" select everything.
  ///
  /// Errors: kInvalidArgument (not a regular expression), kNotFound (selects nothing; names the
  /// nearest case).
  [[nodiscard]] Result<std::vector<const RegisteredCase*>> select(const std::string& filter) const;

  [[nodiscard]] const std::deque<RegisteredCase>& cases() const noexcept { return cases_; }

  /// A fresh record for one execution of the case. Stable until `forget`.
  [[nodiscard]] Record& new_record(const std::string& name);

  /// The record of a repetition. Google Benchmark first guesses an iteration count by executing the
  /// body several times, and then once a repetition; so the last `repetitions` executions are the
  /// repetitions, in order. nullptr when the body never ran.
  [[nodiscard]] const Record* record_of(const std::string& name, std::size_t repetition,
                                        std::size_t repetitions) const;

  /// Drops the records of a case whose rows are written.
  void forget(const std::string& name);

 private:
  std::deque<RegisteredCase> cases_;
  std::vector<std::string> mistakes_;
  std::map<std::string, std::deque<Record>> records_;
};

/// What is wrong with the name of a case, or nothing: group/subject/case and then param:value
/// parts.
[[nodiscard]] std::optional<std::string> name_mistake(std::string_view name,
                                                      std::string_view group);

/// Gives the selected cases to Google Benchmark with the settings' counts and times.
void register_with_google(const std::vector<const RegisteredCase*>& selected,
                          const Settings& settings);

}  // namespace plimsoll::bench
