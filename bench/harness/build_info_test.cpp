#include "bench/harness/build_info.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>

#include "bench/harness/cpu_identity.hpp"

namespace plimsoll::bench {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

MachineInfo machine() {
  MachineInfo info;
  info.cpu = "amd-25-1-1";
  info.hypervisor = "kvm";
  info.kernel = "6.1";
  info.libc = "glibc 2.36";
  info.cores = 2;
  info.memory_bytes = 25'276'063'744;  // What the kernel left of 24 GiB.
  return info;
}

BuildInfo build(const std::string& type) {
  BuildInfo info;
  info.type = type;
  return info;
}

TEST(MachineClass, IsMadeOfWhatDoesNotFlicker) {
  const std::string made = machine_class(machine(), build("RelWithDebInfo"), 0);
  EXPECT_THAT(made, HasSubstr("amd-25-1-1-2c-24g-kvm-linux6.1-glibc2.36-"));
  EXPECT_THAT(made, HasSubstr("-relwithdebinfo"));
  EXPECT_THAT(made, MatchesRegex("[a-z0-9.-]+")) << "it names a directory";
}

TEST(MachineClass, DoesNotMoveWithTheKernelsOwnMemory) {
  MachineInfo other = machine();
  other.memory_bytes += 100'000'000;
  EXPECT_EQ(machine_class(machine(), build("Debug"), 0), machine_class(other, build("Debug"), 0));
}

TEST(MachineClass, NamesPostgresOnlyWhereItIsUsed) {
  EXPECT_THAT(machine_class(machine(), build("Debug"), 15), ::testing::EndsWith("-pg15"));
  EXPECT_THAT(machine_class(machine(), build("Debug"), 0), Not(HasSubstr("pg")));
}

TEST(MachineInfo, IsReadFromThisMachine) {
  const MachineInfo info = read_machine_info();
  EXPECT_GT(info.cores, 0);
  EXPECT_GT(info.memory_bytes, 1U << 20);
  EXPECT_THAT(info.kernel, MatchesRegex("[0-9]+\\.[0-9]+"));
  EXPECT_THAT(info.cpu, MatchesRegex("[a-zA-Z0-9_.-]+"));
  EXPECT_FALSE(hypervisor().empty());
}

TEST(BuildInfo, NamesTheBuildIdThatTheLinkerWrote) {
  std::FILE* tool = popen(
      "readelf -n /proc/" /* of the shell's parent, which is this test */
      "$PPID/exe 2>/dev/null",
      "r");
  ASSERT_NE(tool, nullptr);
  std::string notes;
  std::array<char, 256> part{};
  while (std::fgets(part.data(), part.size(), tool) != nullptr) notes += part.data();
  pclose(tool);
  const BuildInfo info = read_build_info();
  EXPECT_EQ(info.build_id.size(), 40U);
  EXPECT_THAT(notes, HasSubstr("Build ID: " + info.build_id));
}

TEST(BuildInfo, HasTheCommitFromBesideTheBinary) {
  EXPECT_THAT(read_build_info().commit, MatchesRegex("[0-9a-f]{40}|unknown"));
  EXPECT_FALSE(read_build_info().compiler.empty());
}

}  // namespace
}  // namespace plimsoll::bench
