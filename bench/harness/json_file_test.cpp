#include "bench/harness/json_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace plimsoll::bench {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

class JsonFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string path = (fs::temp_directory_path() / "plimsoll-json-XXXXXX").string();
    ASSERT_NE(mkdtemp(path.data()), nullptr);
    directory_ = path;
  }
  void TearDown() override { fs::remove_all(directory_); }

  [[nodiscard]] std::string content(const std::string& name) const {
    std::ifstream file(directory_ / name);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }
  [[nodiscard]] std::string path(const std::string& name) const {
    return (directory_ / name).string();
  }
  [[nodiscard]] std::size_t files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(directory_), {}));
  }

  fs::path directory_;
};

TEST_F(JsonFileTest, HoldsTheLastDocumentAndNothingBesideIt) {
  auto file = JsonFile::create(path("a.json"), {{"n", 1}});
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(content("a.json"), "{\n  \"n\": 1\n}\n");
  ASSERT_TRUE(file->replace({{"n", 2}}));
  EXPECT_EQ(content("a.json"), "{\n  \"n\": 2\n}\n");
  EXPECT_EQ(files(), 1U);
}

TEST_F(JsonFileTest, WritesWhereALinkPoints) {
  std::ofstream(path("real.json")) << "old";
  fs::create_symlink(path("real.json"), path("link.json"));
  ASSERT_TRUE(JsonFile::create(path("link.json"), {{"n", 1}}));
  EXPECT_TRUE(fs::is_symlink(path("link.json")));
  EXPECT_THAT(content("real.json"), HasSubstr("\"n\": 1"));
}

TEST_F(JsonFileTest, ClearsAwayWhatADeadWriterLeftAndNoLivingOnes) {
  const pid_t dead = fork();
  if (dead == 0) _exit(0);
  int status = 0;
  waitpid(dead, &status, 0);
  std::ofstream(path("a.json.tmp." + std::to_string(dead))) << "half";
  std::ofstream(path("a.json.tmp." + std::to_string(getppid()))) << "half";
  std::ofstream(path("a.json.tmp.notes")) << "mine";
  ASSERT_TRUE(JsonFile::create(path("a.json"), Json::object()));
  EXPECT_FALSE(fs::exists(path("a.json.tmp." + std::to_string(dead))));
  EXPECT_TRUE(fs::exists(path("a.json.tmp." + std::to_string(getppid()))));
  EXPECT_TRUE(fs::exists(path("a.json.tmp.notes")));
}

TEST_F(JsonFileTest, RefusesWhatIsNoFile) {
  fs::create_directory(path("d"));
  const auto refused = JsonFile::create(path("d"), Json::object());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kRefused);
  EXPECT_EQ(JsonFile::create("/dev/null", Json::object()).error().code, Errc::kRefused);
}

TEST_F(JsonFileTest, GivesTheSystemsReason) {
  std::ofstream(path("plain")) << "no directory";
  const auto failed = JsonFile::create(path("plain/a.json"), Json::object());
  ASSERT_FALSE(failed);
  EXPECT_THAT(failed.error().message, HasSubstr("plain"));
}

TEST_F(JsonFileTest, RefusesAFoldersNameAndMakesNone) {
  const auto file = JsonFile::create(path("new/"), {});
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code, Errc::kRefused);
  EXPECT_FALSE(fs::exists(path("new")));
}

TEST_F(JsonFileTest, KeepsTheOldDocumentWhenTheNewOneCannotBeWritten) {
  auto file = JsonFile::create(path("a.json"), {{"n", 1}});
  ASSERT_TRUE(file);
  // A directory in the way of the temporary name stops even root.
  fs::create_directory(path("a.json.tmp." + std::to_string(getpid())));
  EXPECT_FALSE(file->replace({{"n", 2}}));
  EXPECT_THAT(content("a.json"), HasSubstr("\"n\": 1"));
}

TEST(JsonText, IsStrictWhateverTheStringsAndNumbersHold) {
  const Json document{{"bytes", "a\xff\"b"}, {"nan", std::nan("")}};
  const Json again = Json::parse(text_of(document), nullptr, false);
  ASSERT_TRUE(again.is_object());
  EXPECT_EQ(again["bytes"], "a\xef\xbf\xbd\"b");
  EXPECT_TRUE(again["nan"].is_null());
}

}  // namespace
}  // namespace plimsoll::bench
