// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/output.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace routelens {
namespace {

namespace fs = std::filesystem;

class OutputFileTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "/output.XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    directory_ = name;
    path_ = directory_ + "/report.json";
  }

  void TearDown() override { fs::remove_all(directory_); }

  std::string Content() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  size_t FilesThere() const {
    return static_cast<size_t>(
        std::distance(fs::directory_iterator(directory_), fs::directory_iterator()));
  }

  std::string directory_;
  std::string path_;
};

TEST_F(OutputFileTest, AppearsOnlyWhenItIsWhole) {
  auto file = OutputFile::Open(path_, std::nullopt);
  ASSERT_TRUE(file.ok()) << file.status();
  ASSERT_TRUE(file->Write("one").ok());
  EXPECT_FALSE(fs::exists(path_));
  ASSERT_TRUE(file->Commit().ok());
  EXPECT_EQ(Content(), "one");
  EXPECT_EQ(FilesThere(), 1u);
}

TEST_F(OutputFileTest, LeavesTheOldOneWhenItFails) {
  std::ofstream(path_) << "old";
  {
    auto file = OutputFile::Open(path_, std::nullopt);
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE(file->Write("new").ok());
  }
  EXPECT_EQ(Content(), "old");
  EXPECT_EQ(FilesThere(), 1u);
}

TEST_F(OutputFileTest, HasTheModeThatTheUmaskLeaves) {
  const mode_t old = ::umask(027);
  auto file = OutputFile::Open(path_, std::nullopt);
  ::umask(old);
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE(file->Commit().ok());

  struct stat info {};

  ASSERT_EQ(::stat(path_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0640u);
}

TEST_F(OutputFileTest, FollowsALinkToTheFileBehindIt) {
  std::ofstream(directory_ + "/real") << "old";
  fs::create_symlink(directory_ + "/real", path_);
  auto file = OutputFile::Open(path_, std::nullopt);
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE(file->Write("new").ok());
  ASSERT_TRUE(file->Commit().ok());
  EXPECT_TRUE(fs::is_symlink(path_));
  EXPECT_EQ(Content(), "new");
}

TEST_F(OutputFileTest, WritesStraightToWhatIsNoFile) {
  auto file = OutputFile::Open("/dev/null", std::nullopt);
  ASSERT_TRUE(file.ok());
  EXPECT_TRUE(file->Write("x").ok());
  EXPECT_TRUE(file->Commit().ok());
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST_F(OutputFileTest, SaysWhenTheDiskIsFull) {
  auto file = OutputFile::Open("/dev/full", std::nullopt);
  ASSERT_TRUE(file.ok());
  const absl::Status status = file->Write("x");
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr("/dev/full"));
}

TEST_F(OutputFileTest, IsMadeWithTheRightsOfTheInvokingUser) {
  if (::geteuid() != 0)
    GTEST_SKIP() << "needs root to act as somebody else";
  InvokingUser nobody;
  nobody.uid = 65534;
  nobody.gid = 65534;
  nobody.groups = {65534};
  // The folder is root's: the user may not write there, so Routelens may not for the user.
  EXPECT_FALSE(OutputFile::Open(path_, nobody).ok());
  ASSERT_EQ(::chown(directory_.c_str(), 65534, 65534), 0);
  auto file = OutputFile::Open(path_, nobody);
  ASSERT_TRUE(file.ok()) << file.status();
  ASSERT_TRUE(file->Commit().ok());

  struct stat info {};

  ASSERT_EQ(::stat(path_.c_str(), &info), 0);
  EXPECT_EQ(info.st_uid, 65534u);
  EXPECT_EQ(::geteuid(), 0u);
}

TEST(Colour, IsForTerminalsOnly) {
  int fds[2];
  ASSERT_EQ(::pipe(fds), 0);
  EXPECT_FALSE(ColourAllowed(fds[1]));
  ::close(fds[0]);
  ::close(fds[1]);
  const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY);
  if (terminal < 0)
    GTEST_SKIP() << "no pseudo-terminals here";
  ::setenv("TERM", "xterm", 1);
  ::unsetenv("NO_COLOR");
  EXPECT_TRUE(ColourAllowed(terminal));
  ::setenv("NO_COLOR", "1", 1);
  EXPECT_FALSE(ColourAllowed(terminal));
  ::unsetenv("NO_COLOR");
  ::setenv("TERM", "dumb", 1);
  EXPECT_FALSE(ColourAllowed(terminal));
  ::close(terminal);
}

}  // namespace
}  // namespace routelens
