// Holders that freeze or die past their lease. What must hold is
// counted by SQL and by a trigger that the library knows nothing of.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <functional>
#include <thread>

#include "lib/lease_claims/database_pgtest.hpp"

namespace plimsoll::lease {
namespace {

using std::chrono::milliseconds;

/// A process that runs `body` and can be frozen or killed. Fork it before this process has threads.
class Child {
 public:
  /// What the child may do with its parent: tell a line, and wait for a word.
  struct Link {
    int out;
    int in;
    void tell(const std::string& line) const {
      if (::write(out, (line + "\n").data(), line.size() + 1) < 0) ::_exit(3);
    }
    void wait() const {
      char c = 0;
      if (::read(in, &c, 1) != 1) ::_exit(4);
    }
  };

  explicit Child(const std::function<void(const Link&)>& body) {
    std::array<int, 2> up{};
    std::array<int, 2> down{};
    if (::pipe2(up.data(), O_CLOEXEC) != 0 || ::pipe2(down.data(), O_CLOEXEC) != 0) {
      throw std::runtime_error("pipe");
    }
    pid_ = ::fork();
    if (pid_ == 0) {
      ::close(up[0]);
      ::close(down[1]);
      try {
        body(Link{up[1], down[0]});
      } catch (...) {
        ::_exit(2);
      }
      ::_exit(0);
    }
    ::close(up[1]);
    ::close(down[0]);
    out_ = up[0];
    in_ = down[1];
  }
  ~Child() {
    end(SIGKILL);
    ::close(out_);
    ::close(in_);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  /// The next line that the child told; empty when it is gone.
  std::string line() {
    std::string text;
    char c = 0;
    while (::read(out_, &c, 1) == 1 && c != '\n') text += c;
    return text;
  }
  void go() {
    if (::write(in_, "g", 1) != 1) throw std::runtime_error("the child is gone");
  }
  void freeze() {
    ::kill(pid_, SIGSTOP);
    int status = 0;
    ::waitpid(pid_, &status, WUNTRACED);
  }
  void thaw() const { ::kill(pid_, SIGCONT); }
  void end(int signal) {
    if (pid_ <= 0) return;
    ::kill(pid_, signal);
    ::kill(pid_, SIGCONT);
    ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }
  /// Waits for the child's own end; its exit status.
  int join() {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  int pid_ = 0;
  int out_ = -1;
  int in_ = -1;
};

class Crashes : public LeaseTest {
 protected:
  void SetUp() override {
    LeaseTest::SetUp();
    // Every claim's token, and at every fire the token that the schedule had then.
    sql().rows(
        "CREATE TABLE claims (tenant text, schedule bigint, before bigint, after bigint);"
        "CREATE TABLE judged (tenant text, schedule bigint, fence bigint, current bigint);"
        "CREATE FUNCTION note_claim() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        "INSERT INTO claims VALUES (new.tenant, new.schedule, old.fence, new.fence); RETURN NULL; "
        "END $$;"
        "CREATE FUNCTION note_fire() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        "INSERT INTO judged SELECT new.tenant, new.schedule, new.fence, s.fence FROM schedules s "
        "WHERE s.tenant = new.tenant AND s.schedule = new.schedule; RETURN NULL; END $$;"
        "CREATE TRIGGER note AFTER UPDATE OF fence ON schedules FOR EACH ROW EXECUTE FUNCTION "
        "note_claim();"
        "CREATE TRIGGER note AFTER INSERT ON fires FOR EACH ROW EXECUTE FUNCTION note_fire()");
  }
  void expect_invariants(std::int64_t schedules) {
    EXPECT_EQ(count("SELECT count(*) - count(DISTINCT (tenant, schedule, fire_time)) FROM fires"),
              0)
        << "duplicates";
    EXPECT_EQ(schedules - count("SELECT count(DISTINCT schedule) FROM fires"), 0) << "lost";
    EXPECT_EQ(count("SELECT count(*) FROM claims WHERE after <> before + 1"), 0)
        << "token regressions";
    EXPECT_EQ(count("SELECT count(*) FROM judged WHERE fence <> current"), 0)
        << "stale writes accepted";
    EXPECT_EQ(count("SELECT count(*) FROM judged"), count("SELECT count(*) FROM fires"));
  }
  /// Claims until the lease of a dead or frozen holder is over.
  Lease take_over(Worker& worker, const Claimer& claimer, milliseconds ttl = kLong) {
    while (true) {
      const auto leases = worker.run(claimer.claim(worker.connection(), request("acme", 1, ttl)));
      if (!leases) throw std::runtime_error(leases.error().message);
      if (!leases->empty()) return leases->front();
      std::this_thread::sleep_for(milliseconds(10));
    }
  }
};

TEST_F(Crashes, AHolderFrozenPastItsLeaseWritesNothingWhenItThaws) {
  add_due("acme", 1);
  const Claimer claimer = this->claimer();
  Child holder([&](const Child::Link& parent) {
    Worker worker(dsn_);
    const auto leases =
        worker.run(claimer.claim(worker.connection(), request("acme", 1, milliseconds{300})));
    parent.tell(std::to_string(leases->front().fence));
    parent.wait();
    const auto renewed = worker.run(claimer.renew(worker.connection(), leases->front(), kLong));
    const auto fired = worker.run(claimer.fire(worker.connection(), leases->front()));
    const auto released = worker.run(claimer.release(worker.connection(), leases->front()));
    for (const bool accepted : {renewed.has_value(), fired.has_value(), released.has_value()}) {
      parent.tell(accepted ? "accepted" : "refused");
    }
    parent.tell(fired ? "?" : std::string(name(fired.error().code)));
  });
  ASSERT_EQ(holder.line(), "1");
  holder.freeze();
  Worker worker(dsn_);
  const Lease lease = take_over(worker, claimer);
  EXPECT_EQ(lease.fence, 2);

  holder.go();
  holder.thaw();

  EXPECT_EQ(holder.line(), "refused");
  EXPECT_EQ(holder.line(), "refused");
  EXPECT_EQ(holder.line(), "refused");
  EXPECT_EQ(holder.line(), name(Errc::kConflict));
  EXPECT_EQ(holder.join(), 0);
  EXPECT_EQ(count("SELECT count(*) FROM fires"), 0);
  EXPECT_TRUE(worker.run(claimer.fire(worker.connection(), lease)));
  expect_invariants(1);
}

TEST_F(Crashes, TheFireOfAKilledHolderIsRecovered) {
  add_due("acme", 1);
  const Claimer claimer = this->claimer();
  Child holder([&](const Child::Link& parent) {
    Worker worker(dsn_);
    const auto leases =
        worker.run(claimer.claim(worker.connection(), request("acme", 1, milliseconds{300})));
    parent.tell(std::to_string(leases->size()));
    parent.wait();
  });
  ASSERT_EQ(holder.line(), "1");
  holder.end(SIGKILL);
  Worker worker(dsn_);
  const Lease lease = take_over(worker, claimer);
  EXPECT_EQ(lease.fence, 2);
  EXPECT_TRUE(worker.run(claimer.fire(worker.connection(), lease)));
  expect_invariants(1);
}

TEST_F(Crashes, OfManyHoldersSomeKilledAndSomeFrozenNoFireIsLostOrDoubled) {
  constexpr int kSchedules = 300;
  add_due("acme", kSchedules);
  const Claimer claimer = this->claimer();
  const auto body = [&](const Child::Link& parent) {
    Worker worker(dsn_);
    parent.tell("ready");
    while (true) {
      const auto leases =
          worker.run(claimer.claim(worker.connection(), request("acme", 3, milliseconds{400})));
      if (!leases) ::_exit(5);
      if (leases->empty()) ::usleep(5000);
      for (const Lease& lease : *leases) {
        ::usleep(2000);
        const auto fired = worker.run(claimer.fire(worker.connection(), lease));
        if (!fired && fired.error().code != Errc::kConflict) ::_exit(6);
      }
    }
  };
  std::vector<std::unique_ptr<Child>> holders;
  for (int i = 0; i < 6; ++i) holders.push_back(std::make_unique<Child>(body));
  for (auto& holder : holders) ASSERT_EQ(holder->line(), "ready");
  const auto fired = [this] { return count("SELECT count(*) FROM fires"); };

  while (fired() < kSchedules / 6) ::usleep(2000);
  holders[0]->end(SIGKILL);
  holders[1]->freeze();
  while (fired() < kSchedules / 3) ::usleep(2000);
  holders[2]->end(SIGKILL);
  holders[3]->freeze();
  ::usleep(500'000);  // Past the frozen ones' leases.
  holders[1]->thaw();
  holders[3]->thaw();
  while (fired() < kSchedules) ::usleep(5000);

  expect_invariants(kSchedules);
}

TEST_F(Crashes, AConnectionKilledByTheServerIsATypedErrorAndLosesNothing) {
  add_due("acme", 2);
  const Claimer claimer = this->claimer();
  Worker victim(dsn_);
  const auto leases =
      victim.run(claimer.claim(victim.connection(), request("acme", 1, milliseconds{200})));
  ASSERT_EQ(leases->size(), 1U);
  sql().rows(fmt::format("SELECT pg_terminate_backend({})", victim.connection().backend_pid()));

  const auto fired = victim.run(claimer.fire(victim.connection(), leases->front()));
  const auto claimed = victim.run(claimer.claim(victim.connection(), request("acme")));

  ASSERT_FALSE(fired);
  EXPECT_TRUE(fired.error().poisons_connection()) << fired.error().message;
  ASSERT_FALSE(claimed);
  EXPECT_EQ(claimed.error().code, Errc::kUnavailable);
  Worker worker(dsn_);
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(worker.run(claimer.fire(worker.connection(), take_over(worker, claimer))));
  }
  expect_invariants(2);
}

}  // namespace
}  // namespace plimsoll::lease
