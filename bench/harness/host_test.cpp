#include "bench/harness/host.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <thread>

namespace plimsoll::bench {
namespace {

void burn(Nanoseconds cpu) {
  const auto end = process_cpu_time() + cpu;
  while (process_cpu_time() < end) {
  }
}

/// Somebody else, who keeps a core busy and is no child of ours.
class Neighbour {
 public:
  Neighbour() {
    std::array<int, 2> ends{};
    if (pipe(ends.data()) != 0) std::abort();
    const pid_t parent = fork();
    if (parent == 0) {
      const pid_t own = fork();
      if (own == 0) {
        for (;;) burn(std::chrono::seconds(1));
      }
      if (write(ends[1], &own, sizeof own) != sizeof own) _exit(1);
      _exit(0);  // The burner now belongs to init.
    }
    if (read(ends[0], &pid_, sizeof pid_) != sizeof pid_) std::abort();
    waitpid(parent, nullptr, 0);
    close(ends[0]);
    close(ends[1]);
  }
  Neighbour(const Neighbour&) = delete;
  Neighbour& operator=(const Neighbour&) = delete;
  ~Neighbour() { kill(pid_, SIGKILL); }
  [[nodiscard]] int pid() const noexcept { return pid_; }

 private:
  pid_t pid_ = -1;
};

TEST(Host, CountsOurOwnWorkAsOurs) {
  const auto before = read_host({});
  burn(std::chrono::milliseconds(200));
  const auto after = read_host({});
  ASSERT_TRUE(before && after);
  EXPECT_GE(after->ours - before->ours, 0.19);
}

TEST(Host, CountsAServersWorkAsOursOnlyWhereItIsNamed) {
  const Neighbour server;
  const auto before = read_host({server.pid()});
  ASSERT_TRUE(before);
  const auto deadline = Clock::now() + std::chrono::seconds(60);
  double with_it = 0;
  while (with_it < 0.3 && Clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    with_it = read_host({server.pid()})->ours - before->ours;
  }
  EXPECT_GE(with_it, 0.3);
}

TEST(HostWatch, SeesANeighbour) {
  const Neighbour neighbour;
  HostWatch watch;
  load::Validity seen = watch.sample();
  const auto deadline = Clock::now() + std::chrono::seconds(60);
  while (seen.valid() && Clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(150));
    seen = watch.sample();
  }
  EXPECT_EQ(seen.verdict, load::Verdict::kHostContended);
  EXPECT_GT(watch.overall().foreign_cores, 0.05);
}

TEST(HostWatch, BeginsAnewWithAServerThatItHadNotCounted) {
  HostWatch watch;
  (void)watch.sample();
  watch.add_server(getppid());
  // Otherwise the whole past of the server would be work of ours that the machine never did.
  EXPECT_EQ(watch.overall().seconds, 0);
}

}  // namespace
}  // namespace plimsoll::bench
