#include "lib/vault_crypto/random.hpp"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <set>
#include <thread>
#include <vector>

#include "lib/vault_crypto/test_support.hpp"

namespace plimsoll::vault {
namespace {

using testing::must;

// What a child sends home through a pipe. `fork_by` is fork or something that forks like it.
std::vector<Nonce> drawn_in_child(std::size_t count, const std::function<pid_t()>& fork_by) {
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  const pid_t child = fork_by();
  if (child == 0) {
    for (std::size_t i = 0; i < count; ++i) {
      Nonce nonce{};
      if (!draw_nonce(nonce) || ::write(ends[1], nonce.data(), nonce.size()) < 0) ::_exit(1);
    }
    ::_exit(0);
  }
  ::close(ends[1]);
  std::vector<Nonce> drawn;
  Nonce nonce{};
  while (::read(ends[0], nonce.data(), nonce.size()) == static_cast<ssize_t>(nonce.size())) {
    drawn.push_back(nonce);
  }
  ::close(ends[0]);
  int status = 1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  return drawn;
}

std::vector<Nonce> draw(std::size_t count) {
  std::vector<Nonce> drawn(count);
  for (Nonce& nonce : drawn) must(draw_nonce(nonce));
  return drawn;
}

void expect_no_repeats(std::size_t expected, const std::vector<std::vector<Nonce>>& lists) {
  std::set<Nonce> all;
  for (const auto& list : lists) all.insert(list.begin(), list.end());
  EXPECT_EQ(all.size(), expected);
}

TEST(Random, DrawsNoNonceTwiceOverManyRefillsAndThreads) {
  constexpr std::size_t kThreads = 8, kEach = 5000;
  std::vector<std::vector<Nonce>> lists(kThreads);
  std::vector<std::thread> threads;
  for (auto& list : lists) threads.emplace_back([&list] { list = draw(kEach); });
  for (auto& thread : threads) thread.join();
  expect_no_repeats(kThreads * kEach, lists);
}

TEST(Random, AForkedChildDoesNotDrawWhatItsParentDraws) {
  const auto before = draw(10);  // The buffer is part used: the child inherits the rest.
  const auto first = drawn_in_child(300, ::fork);
  const auto second = drawn_in_child(300, ::fork);
  const auto after = draw(300);
  expect_no_repeats(910, {before, first, second, after});
}

TEST(Random, AChildOfARawCloneDoesNotDrawWhatItsParentDraws) {
  const auto before = draw(10);
  const auto child = drawn_in_child(
      300, [] { return static_cast<pid_t>(::syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0)); });
  const auto after = draw(300);
  expect_no_repeats(610, {before, child, after});
}

TEST(Random, AGrandchildDoesNotDrawWhatItsParentsDraw) {
  const auto before = draw(10);
  const auto grandchild = drawn_in_child(300, [] {
    const pid_t child = ::fork();
    if (child != 0) return child;
    Nonce own{};
    must(draw_nonce(own));  // The child fills its own buffer, and hands that down.
    const pid_t inner = ::fork();
    if (inner == 0) return inner;
    int status = 1;
    ::waitpid(inner, &status, 0);
    ::_exit(status == 0 ? 0 : 1);
  });
  expect_no_repeats(610, {before, grandchild, draw(300)});
}

TEST(Random, TheEpochStaysInAProcessAndDiffersInItsChildren) {
  const auto here = fork_epoch();
  EXPECT_NE(here, 0u);
  EXPECT_EQ(fork_epoch(), here);
  const pid_t child = ::fork();
  if (child == 0) ::_exit(fork_epoch() == here ? 1 : 0);
  int status = 1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(fork_epoch(), here);
}

TEST(Random, DrawsNoKeyTwiceNeitherHereNorInAChild) {
  using Key = std::array<std::byte, kKeyBytes>;
  std::set<Key> keys;
  Key key{};
  for (int i = 0; i < 200; ++i) {
    must(draw_key(key));
    keys.insert(key);
  }
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::_exit(draw_key(key) && ::write(ends[1], key.data(), key.size()) > 0 ? 0 : 1);
  }
  int status = 1;
  ::waitpid(child, &status, 0);
  ASSERT_EQ(status, 0);
  ASSERT_EQ(::read(ends[0], key.data(), key.size()), static_cast<ssize_t>(key.size()));
  ::close(ends[0]);
  ::close(ends[1]);
  keys.insert(key);
  must(draw_key(key));
  keys.insert(key);
  EXPECT_EQ(keys.size(), 202u);
}

}  // namespace
}  // namespace plimsoll::vault
