#include "lib/load/process_tree.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <thread>

#include "lib/core/clock.hpp"

namespace plimsoll::load {
namespace {

using namespace std::chrono_literals;
using Scope = ProcessTree::Scope;

/// A forked process that runs `body` and is killed and waited for at the end of the test.
class Child {
 public:
  explicit Child(const std::function<void()>& body) : pid_(::fork()) {
    if (pid_ == 0) {
      body();
      ::_exit(0);
    }
  }
  ~Child() { kill(); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  void kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }
  [[nodiscard]] int pid() const { return pid_; }

 private:
  int pid_;
};

void sleep_for_ever() {
  for (;;) ::pause();
}

void spin_cpu(Nanoseconds cpu) {
  const Nanoseconds until = process_cpu_time() + cpu;
  while (process_cpu_time() < until) {
  }
}

/// Polls until `holds`, at most 20 s: the machine may be busy.
bool eventually(const std::function<bool()>& holds) {
  const TimePoint deadline = Clock::now() + 20s;
  while (Clock::now() < deadline) {
    if (holds()) return true;
    std::this_thread::sleep_for(5ms);
  }
  return false;
}

TEST(ProcessStat, ACommandWithSpacesAndParenthesesDoesNotShiftTheFields) {
  const auto process = parse_process_stat(
      "4242 (a) b (c) S 17 4242 4242 0 -1 4194560 104 2000 0 0 150 50 300 100 20 0 3 0 98765 "
      "10000000 256 18446744073709551615");
  ASSERT_TRUE(process);
  EXPECT_EQ(process->pid, 4242);
  EXPECT_EQ(process->parent, 17);
  EXPECT_EQ(process->state, 'S');
  EXPECT_EQ(process->threads, 3U);
  EXPECT_EQ(process->start_ticks, 98765U);
  EXPECT_DOUBLE_EQ(process->cpu_seconds, 2.0);
  EXPECT_DOUBLE_EQ(process->reaped_seconds, 4.0);
  EXPECT_DOUBLE_EQ(process->rss_bytes, 256.0 * static_cast<double>(::sysconf(_SC_PAGESIZE)));
}

TEST(ProcessStat, ATruncatedLineIsNoProcess) {
  EXPECT_FALSE(parse_process_stat(""));
  EXPECT_FALSE(parse_process_stat("12 (x"));
  EXPECT_FALSE(parse_process_stat("12 (x) S 1 2 3"));
}

TEST(ProcessTree, APidThatDoesNotRunIsAnError) {
  int dead = 0;
  {
    const Child child([] {});
    dead = child.pid();
  }
  for (const int pid : {dead, 0, -1}) {
    const auto tree = ProcessTree::open(pid, Scope::kProcess);
    ASSERT_FALSE(tree) << pid;
    EXPECT_EQ(tree.error().code, Errc::kNotFound);
    EXPECT_THAT(tree.error().message, testing::HasSubstr(std::to_string(pid)));
  }
}

TEST(ProcessTree, SeesItsOwnMemoryThreadsAndFiles) {
  auto tree = ProcessTree::open(::getpid(), Scope::kProcess);
  ASSERT_TRUE(tree) << tree.error().message;
  const auto before = tree->read(true);
  EXPECT_EQ(before.processes, 1);
  EXPECT_GE(before.threads, 1);
  EXPECT_GT(before.rss_bytes, 100'000);
  ASSERT_TRUE(before.fds);
  ASSERT_TRUE(before.pss_bytes);
  EXPECT_GT(*before.pss_bytes, 0);

  const int opened = ::open("/dev/null", O_RDONLY);
  std::vector<char> memory(64U << 20U, 'x');
  const auto after = tree->read(true);
  EXPECT_EQ(*after.fds, *before.fds + 1);
  EXPECT_GT(after.rss_bytes, before.rss_bytes + 32e6);
  EXPECT_GE(after.voluntary_switches, before.voluntary_switches);
  ::close(opened);
  EXPECT_EQ(memory.back(), 'x');
}

TEST(ProcessTree, FollowsChildrenAndCountsTheTimeOfThoseThatEnded) {
  const Child parent([] {
    for (int i = 0; i < 3; ++i) {
      if (::fork() == 0) sleep_for_ever();
    }
    if (::fork() == 0) {
      spin_cpu(200ms);
      ::_exit(0);
    }
    ::wait(nullptr);  // The fourth; its time is now in ours.
    sleep_for_ever();
  });
  auto tree = ProcessTree::open(parent.pid(), Scope::kDescendants);
  ASSERT_TRUE(tree);
  EXPECT_TRUE(eventually([&] {
    const auto reading = tree->read(false);
    return reading.processes == 4 && reading.cpu_seconds >= 0.18;
  }));
  auto alone = ProcessTree::open(parent.pid(), Scope::kProcess);
  ASSERT_TRUE(alone);
  EXPECT_EQ(alone->read(false).processes, 1);
  EXPECT_LT(alone->read(false).cpu_seconds, 0.18);
  for (const int child : children_of(parent.pid())) ::kill(child, SIGKILL);
}

TEST(ProcessStat, CountsTheTimeOfThreadsThatEnded) {
  const auto before = read_process_stat(::getpid());
  ASSERT_TRUE(before);
  std::thread([] { spin_cpu(200ms); }).join();
  const auto after = read_process_stat(::getpid());
  ASSERT_TRUE(after);
  EXPECT_GT(after->cpu_seconds - before->cpu_seconds, 0.15);
}

TEST(ProcessTree, AKilledRootIsGoneEvenAsAZombie) {
  Child child(sleep_for_ever);
  auto tree = ProcessTree::open(child.pid(), Scope::kDescendants);
  ASSERT_TRUE(tree);
  EXPECT_TRUE(tree->alive());
  ::kill(child.pid(), SIGKILL);
  EXPECT_TRUE(eventually([&] { return !tree->alive(); })) << "a zombie does not run";
  EXPECT_EQ(tree->read(true).processes, 0);
  child.kill();
  EXPECT_FALSE(tree->alive());
}

/// A fork whose child gets this pid; -1 where that is not permitted.
int fork_as(int pid) {
  pid_t wanted = pid;
  clone_args arguments{};
  arguments.exit_signal = SIGCHLD;
  arguments.set_tid = reinterpret_cast<std::uint64_t>(&wanted);
  arguments.set_tid_size = 1;
  return static_cast<int>(::syscall(SYS_clone3, &arguments, sizeof(arguments)));
}

TEST(ProcessTree, AnotherProcessUnderTheSamePidIsNotTheOneThatWasWatched) {
  Child child(sleep_for_ever);
  const int pid = child.pid();
  auto tree = ProcessTree::open(pid, Scope::kDescendants);
  ASSERT_TRUE(tree);
  child.kill();
  std::this_thread::sleep_for(50ms);  // Start times are told apart by ticks of 10 ms.
  const int again = fork_as(pid);
  if (again == 0) sleep_for_ever();
  if (again < 0) GTEST_SKIP() << "may not choose a pid";
  EXPECT_EQ(again, pid);
  EXPECT_TRUE(read_process_stat(pid));
  EXPECT_FALSE(tree->alive());
  EXPECT_EQ(tree->read(true).processes, 0);
  ::kill(again, SIGKILL);
  ::waitpid(again, nullptr, 0);
}

TEST(ProcessTree, SurvivesProcessesThatComeAndGoWhileItReads) {
  const Child parent([] {
    for (;;) {
      if (::fork() == 0) ::_exit(0);
      ::wait(nullptr);
    }
  });
  auto tree = ProcessTree::open(parent.pid(), Scope::kDescendants);
  ASSERT_TRUE(tree);
  const TimePoint until = Clock::now() + 300ms;
  while (Clock::now() < until) {
    const auto reading = tree->read(true);
    ASSERT_GE(reading.processes, 1);
  }
}

TEST(ProcessTree, OverlappingTreesAreCountedOnce) {
  const Child parent([] {
    if (::fork() == 0) {
      spin_cpu(100ms);
      sleep_for_ever();
    }
    sleep_for_ever();
  });
  ASSERT_TRUE(eventually([&] { return trees_cpu({parent.pid()}) >= 0.09; }));
  const auto children = children_of(parent.pid());
  ASSERT_EQ(children.size(), 1U);
  ASSERT_TRUE(eventually([&] {  // It has stopped spinning.
    const double once = trees_cpu({parent.pid()});
    return trees_cpu({parent.pid(), children.front(), parent.pid()}) == once;
  }));
  ::kill(children.front(), SIGKILL);
}

TEST(OthersCpu, AStrangersTimeCountsAndThatOfOurTreeDoesNot) {
  if (!others_cpu({})) GTEST_SKIP() << "a pid namespace hides the other processes";
  const Child stranger([] {
    spin_cpu(600ms);
    sleep_for_ever();
  });
  // With ourselves as root, the child is in our tree; without, it is a stranger like any other.
  const auto difference = [] { return *others_cpu({}) - *others_cpu({::getpid()}); };
  EXPECT_TRUE(eventually([&] { return difference() >= 0.5; }));
}

}  // namespace
}  // namespace plimsoll::load
