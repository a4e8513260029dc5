#include "bench/kv_store/crew.hpp"

#include <utility>

#include "bench/harness/case.hpp"

namespace plimsoll::bench {

Crew::Crew(Stage& stage, Task task, load::SubjectThread& thread, Score score)
    : stage_(stage),
      task_(task),
      thread_(thread),
      draw_(task.law, stage.stock().places()),
      score_(std::move(score)) {}

Result<std::unique_ptr<Crew>> Crew::hire(Stage& stage, Task task, std::size_t callers,
                                         load::SubjectThread& thread) {
  auto found = stage.look();
  if (!found) return fail(found.error());
  std::unique_ptr<Crew> crew(new Crew(stage, task, thread, Score(std::move(found->versions))));
  if (auto opened = thread.call(crew->open(callers)); !opened) return fail(opened.error());
  return crew;
}

Crew::~Crew() { (void)thread_.call(close()); }

asio::awaitable<Result<void>> Crew::open(std::size_t callers) {
  Result<OpenStore> opened = co_await stage_.open(thread_.executor());
  if (!opened) co_return fail(std::move(opened.error()));
  opened_ = std::move(*opened);
  const Rng rng(seed());
  for (std::size_t caller = 0; caller < callers; ++caller) {
    acts_.push_back(std::make_unique<Acts>(stage_.stock(), *opened_.store, task_, draw_, score_,
                                           rng.fork(caller), caller));
  }
  co_return Result<void>{};
}

asio::awaitable<Result<void>> Crew::close() {
  opened_.store.reset();
  opened_.connection.reset();
  co_return Result<void>{};
}

asio::awaitable<load::Outcome> Crew::turn(load::OpContext context) {
  return acts_[context.caller % acts_.size()]->step();
}

}  // namespace plimsoll::bench
