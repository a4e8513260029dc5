// Question: how many jobs a second do 10 to 500 callers get through one connection, a round trip a
//           statement or pipelined, through a pool that they outnumber, and through PgBouncer?
// Method:   closed loop; tenant and note drawn at random for each job. A read is one note by its
// id,
//           a write one row and one commit; mixed is four reads to a write; failing_tenth has each
//           tenth job divide by zero. binds is how many values an identity has. The ledger is held
//           against the server's count; whose rows were seen and written is counted by SQL.
// Expect:   serial is a round trip times five, whatever the callers. Pipelined reads are bound by
//           the server process that serves the connection, so more connections help until the CPU
//           is full. Writes share no commit on one connection: it is one fsync each. PgBouncer is
//           a process more that every byte goes through, and nothing is prepared: half the rate or
//           less where two cores are all there is.
#include <fmt/format.h>

#include <string>
#include <utility>

#include "bench/harness/case.hpp"
#include "bench/rls_queue/cases.hpp"
#include "bench/rls_queue/crew.hpp"

namespace plimsoll::bench {
namespace {

using rls::Subject;
using Act = Duty::Act;

std::string_view name_of(Act act) {
  switch (act) {
    case Act::kRead:
      return "read";
    case Act::kWrite:
      return "write";
    case Act::kMixed:
      return "mixed";
    case Act::kFailTenth:
      return "failing_tenth";
    case Act::kBurst:
      return "burst";
    case Act::kSmallAndBig:
      return "small_and_big";
  }
  return "unknown";
}

void add(const Duty& duty) {
  std::string name = fmt::format("{}/{}/{}/callers:{}/binds:{}", kGroup, rls::name(duty.subject),
                                 name_of(duty.act), duty.callers, duty.with_actor ? 4 : 3);
  if (duty.subject == Subject::kPool) name += fmt::format("/conns:{}", duty.connections);
  if (duty.pooled) name += kPooledSuffix;
  load_case(std::move(name), [duty](Case& c) { (void)run_crew(c, duty, Shape{}); },
            {Resource::kDb, false});
}

void add(Subject subject, Act act, std::size_t callers, std::size_t connections = 1,
         bool with_actor = false) {
  add(Duty{subject, act, callers, connections, with_actor, false});
}

/// Ten callers to five hundred, and what one connection does with writes and failures.
void add_one_connection(Subject subject) {
  const bool is_full = size() == Size::kFull;
  const bool is_main = subject == Subject::kPipelined && size() != Size::kSmoke;
  for (const std::size_t callers : {10U, 50U, 100U, 200U, 500U}) {
    if (is_full || callers == 100 || (is_main && callers == 500)) add(subject, Act::kRead, callers);
  }
  if (is_full) add(subject, Act::kRead, 100, 1, true);
  if (is_full || is_main) add(subject, Act::kWrite, 100);
  if (is_full) add(subject, Act::kMixed, 100);
  if (is_full || is_main) add(subject, Act::kFailTenth, 100);
}

/// Callers and connections, with the most and the fewest callers a connection.
void add_pool() {
  const bool is_full = size() == Size::kFull;
  for (const auto& [callers, connections] : {std::pair{50, 4}, std::pair{100, 8}, std::pair{200, 4},
                                             std::pair{200, 16}, std::pair{500, 8}}) {
    const bool is_telling = callers == 100 || (callers == 200 && size() != Size::kSmoke);
    if (is_full || is_telling) {
      add(Subject::kPool, Act::kRead, static_cast<std::size_t>(callers),
          static_cast<std::size_t>(connections));
    }
  }
  if (size() == Size::kSmoke) return;
  add(Subject::kPool, Act::kWrite, 100, 8);
  if (!is_full) return;
  add(Subject::kPool, Act::kRead, 100, 8, true);
  add(Subject::kPool, Act::kMixed, 100, 8);
  add(Subject::kPool, Act::kFailTenth, 100, 8);
}

/// Through PgBouncer, beside the same cases without it.
void add_pooled() {
  const auto pooled = [](Subject subject, Act act, std::size_t connections) {
    add(Duty{subject, act, 100, connections, false, true});
  };
  pooled(Subject::kPool, Act::kRead, 8);
  if (size() == Size::kSmoke) return;
  pooled(Subject::kPipelined, Act::kRead, 1);
  if (size() != Size::kFull) return;
  pooled(Subject::kSerial, Act::kRead, 1);
  pooled(Subject::kPool, Act::kWrite, 8);
  pooled(Subject::kPool, Act::kFailTenth, 8);
}

}  // namespace

void register_load_cases() {
  add_one_connection(Subject::kSerial);
  add_one_connection(Subject::kPipelined);
  add_pool();
  add_pooled();
}

}  // namespace plimsoll::bench
