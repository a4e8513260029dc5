#include "compare/read/result_handler.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

namespace plimsoll::compare {
namespace {

using nlohmann::json;

/// Builds one value from parser events. Of a repeated key the first value stays.
class TreeBuilder {
 public:
  void reset(Keep keep) {
    keep_ = keep;
    root_ = json();
    open_.clear();
    repeated_.clear();
    skipping_ = 0;
    skip_next_ = false;
  }

  /// True once the whole value is there.
  [[nodiscard]] bool done() const { return open_.empty() && skipping_ == 0; }
  [[nodiscard]] json take() { return std::exchange(root_, json()); }
  [[nodiscard]] std::vector<std::string> take_repeated() { return std::exchange(repeated_, {}); }

  void value(json leaf) {
    if (skipping_ > 0) return;
    if (std::exchange(skip_next_, false)) return;
    place(std::move(leaf));
  }

  void open(json container) {
    if (skipping_ > 0 || std::exchange(skip_next_, false)) {
      ++skipping_;
      return;
    }
    open_.push_back(place(std::move(container)));
  }

  void close() {
    if (skipping_ > 0) {
      --skipping_;
    } else {
      open_.pop_back();
    }
  }

  void key(std::string& key) {
    if (skipping_ > 0) return;
    json& object = *open_.back();
    const bool again = object.contains(key);
    if (again && open_.size() == 1) repeated_.push_back(key);
    skip_next_ = again || (keep_ == Keep::kJudged && open_.size() == 2 && is_bulk(key));
    key_ = std::move(key);
  }

 private:
  static bool is_bulk(const std::string& key) {
    return key == "histograms" || key == "resources" || key == "ledger";
  }

  json* place(json value) {
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    json& parent = *open_.back();
    if (parent.is_array()) {
      parent.push_back(std::move(value));
      return &parent.back();
    }
    return &(parent[key_] = std::move(value));
  }

  Keep keep_ = Keep::kJudged;
  json root_;
  std::vector<json*> open_;  // A child lives in its parent, which does not grow while it is open.
  std::vector<std::string> repeated_;
  std::string key_;
  std::size_t skipping_ = 0;  // Containers open inside a value that is left out.
  bool skip_next_ = false;
};

/// The parser's events, sorted into context, rows and what else the file holds.
class ResultHandler final : public nlohmann::json_sax<json> {
 public:
  ResultHandler(Keep keep, const std::function<void(RawRow)>& row) : keep_(keep), row_(row) {}

  bool null() override { return leaf(json()); }
  bool boolean(bool value) override { return leaf(value); }
  bool number_integer(std::int64_t value) override { return leaf(value); }
  bool number_unsigned(std::uint64_t value) override { return leaf(value); }
  bool number_float(double value, const std::string&) override { return leaf(value); }
  bool string(std::string& value) override { return leaf(std::move(value)); }
  bool binary(json::binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(json::object()); }
  bool start_array(std::size_t) override { return open(json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(std::string& key) override {
    if (depth_ == 1) {
      top_key_ = key;
    } else if (building_) {
      tree_.key(key);
    }
    return true;
  }

  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception& error) override {
    // The parser counts the byte that it could not use as read.
    offset = position == 0 ? 0 : position - 1;
    reason = error.what();
    return false;
  }

  RawFile file;
  std::optional<std::size_t> offset;  // Unknown where the text is JSON but no result file.
  std::string reason;

 private:
  // Where a value stands, by the containers around it: 0 the file, 1 its members, 2 the elements
  // of `benchmarks`.
  [[nodiscard]] bool starts_context() const { return depth_ == 1 && top_key_ == "context"; }
  [[nodiscard]] bool starts_row() const {
    return depth_ == 2 && top_key_ == "benchmarks" && file.has_rows;
  }

  bool leaf(json value) {
    if (depth_ == 0) return refuse("a result file is an object with `context` and `benchmarks`");
    if (building_) {
      tree_.value(std::move(value));
    } else if (starts_row()) {
      return refuse("an element of `benchmarks` is not an object");
    }
    return true;
  }

  bool open(json container) {
    if (depth_ == 0 && !container.is_object()) {
      return refuse("a result file is an object with `context` and `benchmarks`");
    }
    if (!building_ && (starts_context() || starts_row())) {
      if (starts_row() && !container.is_object()) {
        return refuse("an element of `benchmarks` is not an object");
      }
      tree_.reset(starts_row() ? keep_ : Keep::kEverything);
      building_ = true;
    } else if (!building_ && depth_ == 1 && top_key_ == "benchmarks" && container.is_array()) {
      file.has_rows = true;
    }
    if (building_) tree_.open(std::move(container));
    ++depth_;
    return true;
  }

  bool close() {
    --depth_;
    if (!building_) return true;
    tree_.close();
    if (!tree_.done()) return true;
    building_ = false;
    if (depth_ == 1) {
      file.context = tree_.take();
    } else {
      RawRow row{tree_.take(), tree_.take_repeated()};
      row_(std::move(row));
    }
    return true;
  }

  bool refuse(std::string why) {
    reason = std::move(why);
    return false;
  }

  Keep keep_;
  const std::function<void(RawRow)>& row_;
  TreeBuilder tree_;
  std::string top_key_;
  std::size_t depth_ = 0;
  bool building_ = false;
};

/// The library's message without its own prefix and position, on one line.
std::string clean_reason(std::string reason) {
  if (const auto colon = reason.find("column "); colon != std::string::npos) {
    const auto text = reason.find(": ", colon);
    if (text != std::string::npos) reason.erase(0, text + 2);
  } else if (const auto bracket = reason.find("] "); reason.starts_with("[json")) {
    reason.erase(0, bracket + 2);
  }
  for (char& c : reason) {
    if (static_cast<unsigned char>(c) < 0x20 || c == '\x7f') c = ' ';
  }
  constexpr std::size_t kLongest = 200;
  if (reason.size() > kLongest) reason = reason.substr(0, kLongest) + "...";
  return reason;
}

/// Whether the text ends where the parser failed: at its very end, or in a word that reaches to it,
/// such as half of a NaN.
bool is_cut_short(std::string_view text, std::size_t offset) {
  return offset >= text.size() ||
         text.substr(offset).find_first_of(" \t\r\n,:\"[]{}") == std::string_view::npos;
}

}  // namespace

std::string position_in(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, std::min(offset, text.size()));
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t newline = before.rfind('\n');
  const std::size_t column =
      newline == std::string_view::npos ? before.size() + 1 : before.size() - newline;
  return fmt::format("byte {} ({}:{})", offset, line, column);
}

Result<RawFile> walk_result(const std::string& text, Keep keep,
                            const std::function<void(RawRow)>& row) {
  ResultHandler handler(keep, row);
  bool parsed = false;
  try {
    parsed = json::sax_parse(text, &handler);
  } catch (const json::exception& error) {
    handler.reason = error.what();
  }
  if (parsed) return std::move(handler.file);
  if (!handler.offset) return fail(Errc::kInvalidArgument, clean_reason(handler.reason));
  if (is_cut_short(text, *handler.offset)) {
    return fail(Errc::kInvalidArgument,
                fmt::format("{}: the file ends in the middle; was its run interrupted, or its copy "
                            "cut short?",
                            position_in(text, text.size())));
  }
  return fail(Errc::kInvalidArgument, fmt::format("{}: {}", position_in(text, *handler.offset),
                                                  clean_reason(handler.reason)));
}

}  // namespace plimsoll::compare
