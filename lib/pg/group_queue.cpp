#include "lib/pg/group_queue.hpp"

#include <algorithm>
#include <cassert>

#include "lib/pg/query_check.hpp"

namespace plimsoll::pg {
namespace {

using State = StatementNames::State;

constexpr std::string_view kQueryCancelled = "57014";
constexpr std::string_view kNoSuchStatement = "26000";
constexpr std::string_view kFeatureNotSupported = "0A000";  // "cached plan must not change ..."

}  // namespace

std::string_view Group::current_text() const noexcept {
  return is_script_ || at_ >= statements_.size() ? std::string_view{}
                                                 : std::string_view(statements_[at_].query.sql);
}

Group::Group(std::vector<Query> queries) {
  statements_.reserve(queries.size());
  for (auto& query : queries) statements_.emplace_back(std::move(query));
}

Group::Group(Query query) { statements_.emplace_back(std::move(query)); }

Group::Group(std::string script) : is_script_(true) {
  statements_.emplace_back(Query(std::move(script)));
}

Result<void> GroupQueue::add(GroupPtr group) {
  for (auto& statement : group->statements_) {
    if (statement.query.name.empty()) continue;
    auto entry = names_.use(statement.query);
    if (!entry) {
      release_names(*group);
      return fail(std::move(entry.error()));
    }
    statement.name = *entry;
  }
  waiting_.push_back(std::move(group));
  return {};
}

bool GroupQueue::must_wait(const Group& group) const noexcept {
  if (is_cancelling_ || in_flight_.size() >= max_in_flight_) return true;
  if (in_flight_.empty()) return false;
  if (group.is_script_ || in_flight_.back()->is_script_) return true;
  return std::ranges::any_of(group.statements_, [](const Group::Statement& statement) {
    return statement.name != nullptr && statement.name->state == State::kPending;
  });
}

GroupPtr GroupQueue::next_to_send() {
  if (waiting_.empty() || must_wait(*waiting_.front())) return nullptr;
  auto group = std::move(waiting_.front());
  waiting_.pop_front();
  plan(*group);
  if (in_flight_.empty()) group->began_inside_ = in_block();
  in_flight_.push_back(group);
  ++counters_.round_trips;
  return group;
}

void GroupQueue::plan(Group& group) {
  group.stage_ = Group::Stage::kInFlight;
  for (auto& statement : group.statements_) {
    statement.first = Group::Step::kExecute;
    if (statement.name != nullptr && statement.name->state != State::kPending &&
        statement.name->state != State::kReady) {
      statement.first =
          statement.name->state == State::kStale ? Group::Step::kDeallocate : Group::Step::kParse;
      statement.name->state = State::kPending;
    }
    const bool sends_text = statement.name == nullptr || statement.first != Group::Step::kExecute;
    counters_.bytes_sent += parameter_bytes(statement.query);
    counters_.bytes_sent += sends_text ? statement.query.sql.size() : 0;
    counters_.prepares += statement.first != Group::Step::kExecute ? 1 : 0;
  }
  group.at_ = 0;
  if (!group.statements_.empty()) group.step_ = group.statements_.front().first;
}

void GroupQueue::answer(Group& group, Result<Rows> result) {
  auto& statement = group.statements_[std::min(group.at_, group.statements_.size() - 1)];
  // A failed Parse is followed by a skipped Bind: the first error tells more. A later error than
  // the last answer is that of the commit, and undoes it.
  if (statement.answered && !statement.result.has_value()) return;
  statement.answered = true;
  statement.result = std::move(result);
}

void GroupQueue::resolve_name(Group& group, bool succeeded, const Error* error) {
  if (group.at_ >= group.statements_.size()) return;
  auto* name = group.statements_[group.at_].name;
  if (name == nullptr) return;
  switch (group.step_) {
    case Group::Step::kDeallocate:
      if (!succeeded) name->state = State::kUnknown;
      break;
    case Group::Step::kParse:
      name->state = succeeded ? State::kReady : State::kUnknown;
      break;
    case Group::Step::kExecute:
      if (error != nullptr && error->sqlstate == kNoSuchStatement) name->state = State::kUnknown;
      if (error != nullptr && error->sqlstate == kFeatureNotSupported) name->state = State::kStale;
      break;
  }
}

void GroupQueue::on_rows(Rows rows) {
  auto& group = *in_flight_.front();
  resolve_name(group, true, nullptr);
  if (group.at_ >= group.statements_.size() || group.step_ != Group::Step::kExecute) return;
  const auto tag = rows.tag();
  ++counters_.statements;
  counters_.rows += rows.affected();
  counters_.bytes_received += rows.bytes();
  transaction_.on_success(tag, group.current_text());
  group.has_control_ = group.has_control_ || controls_transaction(tag);
  answer(group, std::move(rows));
}

void GroupQueue::on_error(Error error) {
  auto& group = *in_flight_.front();
  resolve_name(group, false, &error);
  const bool is_executed =
      group.at_ < group.statements_.size() && group.step_ == Group::Step::kExecute;
  counters_.statements += is_executed ? 1 : 0;
  counters_.errors += is_executed ? 1 : 0;
  transaction_.on_error(group.current_text());
  group.failed_ = true;
  group.cancelled_ = group.cancelled_ || error.sqlstate == kQueryCancelled;
  if (!group.statements_.empty()) answer(group, fail(std::move(error)));
}

void GroupQueue::on_skipped() {
  auto& group = *in_flight_.front();
  resolve_name(group, false, nullptr);
  if (group.at_ >= group.statements_.size()) return;
  answer(group, fail(Errc::kCancelled, "not executed: an earlier statement of the group failed"));
}

void GroupQueue::on_end_of_command() {
  auto& group = *in_flight_.front();
  if (group.at_ >= group.statements_.size()) return;
  if (group.step_ != Group::Step::kExecute) {
    group.step_ =
        group.step_ == Group::Step::kDeallocate ? Group::Step::kParse : Group::Step::kExecute;
    return;
  }
  ++group.at_;
  if (group.at_ < group.statements_.size()) group.step_ = group.statements_[group.at_].first;
}

void GroupQueue::on_sync(std::optional<bool> in_block_now) {
  auto group = std::move(in_flight_.front());
  in_flight_.pop_front();
  transaction_.on_sync(in_block_now);
  counters_.commits = transaction_.commits();
  if (!in_flight_.empty()) in_flight_.front()->began_inside_ = in_block();

  if (group->exposed_ && group->cancelled_ && !group->abandoned_) {
    if (can_repeat(*group)) return repeat(std::move(group));
    for (auto& statement : group->statements_) {
      if (statement.result.has_value() || statement.result.error().sqlstate != kQueryCancelled) {
        continue;
      }
      statement.result = fail(Error{Errc::kConflict,
                                    "cancelled together with another call that ran out of time; "
                                    "retry from the start of the transaction",
                                    std::string(kQueryCancelled)});
    }
  }
  finish(group);
}

bool GroupQueue::can_repeat(const Group& group) const noexcept {
  return !group.began_inside_ && !group.has_control_ && !in_block() &&
         std::ranges::all_of(group.statements_, [](const Group::Statement& statement) {
           return is_repeatable(statement.query.sql);
         });
}

void GroupQueue::repeat(GroupPtr group) {
  group->stage_ = Group::Stage::kWaiting;
  group->failed_ = group->cancelled_ = group->exposed_ = false;
  for (auto& statement : group->statements_) statement.answered = false;
  waiting_.push_front(std::move(group));
}

void GroupQueue::release_names(Group& group) noexcept {
  for (auto& statement : group.statements_) {
    if (statement.name != nullptr) --statement.name->users;
    statement.name = nullptr;
  }
}

void GroupQueue::finish(const GroupPtr& group) {
  release_names(*group);
  group->stage_ = Group::Stage::kDone;
  if (!group->abandoned_) group->on_done();
}

GroupQueue::Withdrawn GroupQueue::withdraw(const GroupPtr& group) {
  assert(!group->is_done());
  group->abandoned_ = true;
  if (group->stage_ == Group::Stage::kWaiting) {
    waiting_.erase(std::ranges::find(waiting_, group));
    finish(group);
    return Withdrawn::kUnsent;
  }
  return group == in_flight_.front() && !is_cancelling_ ? Withdrawn::kNow : Withdrawn::kLater;
}

void GroupQueue::on_cancel_started() {
  is_cancelling_ = true;
  for (std::size_t i = 1; i < in_flight_.size(); ++i) in_flight_[i]->exposed_ = true;
}

const Group* GroupQueue::abandoned_head() const noexcept {
  const bool is_abandoned = !in_flight_.empty() && in_flight_.front()->abandoned_;
  return is_abandoned ? in_flight_.front().get() : nullptr;
}

std::vector<GroupPtr> GroupQueue::pending() const {
  std::vector<GroupPtr> groups(in_flight_.begin(), in_flight_.end());
  groups.insert(groups.end(), waiting_.begin(), waiting_.end());
  return groups;
}

void GroupQueue::fail_all(const Error& error) {
  for (auto* groups : {&in_flight_, &waiting_}) {
    Error reason = error;
    reason.unsent = groups == &waiting_;
    while (!groups->empty()) {
      const auto group = std::move(groups->front());
      groups->pop_front();
      for (auto& statement : group->statements_) statement.result = fail(reason);
      finish(group);
    }
  }
}

}  // namespace plimsoll::pg
