#include "lib/pg/transaction_tracker.hpp"

#include <algorithm>
#include <array>

namespace plimsoll::pg {
namespace {

using Word = std::string_view;

constexpr std::array kReads{
    Word{"SELECT"}, Word{"SHOW"},       Word{"SET"},   Word{"RESET"},     Word{"FETCH"},
    Word{"MOVE"},   Word{"DECLARE"},    Word{"CLOSE"}, Word{"EXPLAIN"},   Word{"DISCARD"},
    Word{"LISTEN"}, Word{"UNLISTEN"},   Word{"LOCK"},  Word{"SAVEPOINT"}, Word{"RELEASE"},
    Word{"LOAD"},   Word{"CHECKPOINT"}, Word{""},
};

constexpr std::array kControls{
    Word{"BEGIN"},   Word{"START"},     Word{"COMMIT"},  Word{"ROLLBACK"},
    Word{"PREPARE"}, Word{"SAVEPOINT"}, Word{"RELEASE"},
};

constexpr std::array kRepeatable{
    Word{"SELECT"}, Word{"INSERT"}, Word{"UPDATE"}, Word{"DELETE"}, Word{"MERGE"},
    Word{"WITH"},   Word{"VALUES"}, Word{"TABLE"},  Word{"SHOW"},
};

template <std::size_t n>
bool contains(const std::array<Word, n>& words, Word word) noexcept {
  return std::ranges::find(words, word) != words.end();
}

Word first_of_tag(Word tag) noexcept { return tag.substr(0, tag.find(' ')); }

char upper(char c) noexcept { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

bool equals(Word text, Word upper_case) noexcept {
  return std::ranges::equal(text, upper_case, {}, upper);
}

// Takes the next word off the text; blanks, brackets and semicolons separate words.
Word next_word(std::string_view& text) noexcept {
  constexpr Word kBetween = " \t\r\n();";
  text.remove_prefix(std::min(text.find_first_not_of(kBetween), text.size()));
  const auto word = text.substr(0, text.find_first_of(kBetween));
  text.remove_prefix(word.size());
  return word;
}

// Has one of the first five words? Enough for ROLLBACK WORK TO and COMMIT AND NO CHAIN.
bool says(std::string_view sql, Word wanted) noexcept {
  for (int i = 0; i < 5; ++i) {
    if (equals(next_word(sql), wanted)) return true;
  }
  return false;
}

bool chains(std::string_view sql) noexcept { return says(sql, "CHAIN") && !says(sql, "NO"); }

bool is_commit(std::string_view sql) noexcept {
  const auto word = next_word(sql);
  return equals(word, "COMMIT") || equals(word, "END");
}

}  // namespace

bool controls_transaction(std::string_view tag) noexcept {
  return contains(kControls, first_of_tag(tag));
}

bool is_repeatable(std::string_view sql) noexcept {
  const auto word = next_word(sql);
  return std::ranges::any_of(kRepeatable, [&](Word known) { return equals(word, known); });
}

void TransactionTracker::on_success(std::string_view tag, std::string_view sql) noexcept {
  const auto word = first_of_tag(tag);
  if (word == "BEGIN" || word == "START") {
    in_block_ = true;  // With what an implicit transaction has written before it.
  } else if (tag == "COMMIT PREPARED") {
    ++commits_;
  } else if (word == "COMMIT") {
    commits_ += wrote_ ? 1 : 0;
    wrote_ = false;
    in_block_ = chains(sql);
  } else if (tag == "PREPARE TRANSACTION") {
    wrote_ = in_block_ = false;
  } else if (word == "ROLLBACK") {
    if (says(sql, "TO")) return;
    wrote_ = false;
    in_block_ = chains(sql);
  } else if (!contains(kReads, word)) {
    wrote_ = true;
  }
}

void TransactionTracker::on_error(std::string_view sql) noexcept {
  failed_ = true;
  if (is_commit(sql)) in_block_ = false;  // A commit that fails ends its block all the same.
}

void TransactionTracker::on_sync(std::optional<bool> in_block) noexcept {
  in_block_ = in_block.value_or(in_block_);
  if (!in_block_) {
    commits_ += wrote_ && !failed_ ? 1 : 0;
    wrote_ = false;
  }
  failed_ = false;
}

}  // namespace plimsoll::pg
