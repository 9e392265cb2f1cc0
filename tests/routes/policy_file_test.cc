// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/status_util.h"
#include "base/unique_fd.h"
#include "routes/policy.h"

namespace routelens {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::SizeIs;

constexpr std::string_view kPolicy =
    "network_policies: {r: {endpoints: [{host: h.test, port: 443, protocol: mcp}], "
    "binaries: [{path: /bin/a}]}}\n";

class PolicyFile : public testing::Test {
 protected:
  PolicyFile() {
    std::string name =
        (std::filesystem::temp_directory_path() / "routelens-policy-XXXXXX").string();
    folder_ = mkdtemp(name.data());
  }

  ~PolicyFile() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  std::string Write(const std::string& name, std::string_view text) const {
    const std::string path = folder_ / name;
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }

  static absl::Status Refused(const std::string& path, const PolicyLimits& limits = {}) {
    const absl::StatusOr<Policy> policy = LoadPolicyFile(path, {}, limits);
    EXPECT_FALSE(policy.ok());
    EXPECT_THAT(std::string(MessageOf(policy.status())), HasSubstr(path));
    return policy.status();
  }

  std::filesystem::path folder_;
};

TEST_F(PolicyFile, ReadsARegularFile) {
  const absl::StatusOr<Policy> policy = LoadPolicyFile(Write("policy.yaml", kPolicy));
  ASSERT_TRUE(policy.ok()) << MessageOf(policy.status());
  EXPECT_THAT(policy->routes, SizeIs(1));
}

TEST_F(PolicyFile, FollowsASymbolicLink) {
  const std::string link = folder_ / "link";
  std::filesystem::create_symlink(Write("policy.yaml", kPolicy), link);
  EXPECT_TRUE(LoadPolicyFile(link).ok());
}

TEST_F(PolicyFile, NamesTheFileInAParseError) {
  const absl::Status status = Refused(Write("bad.yaml", "a: 1\na: 2\n"));
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(MessageOf(status)), HasSubstr("bad.yaml:2: duplicate key"));
}

TEST_F(PolicyFile, RefusesAMissingFile) {
  EXPECT_EQ(Refused(folder_ / "none.yaml").code(), absl::StatusCode::kNotFound);
  EXPECT_FALSE(LoadPolicyFile("").ok());
}

// For root the file system user is changed for this thread: root's own reads every file.
TEST_F(PolicyFile, RefusesAnUnreadableFile) {
  constexpr uid_t kNobody = 65534;
  const std::string path = Write("secret.yaml", kPolicy);
  ASSERT_EQ(chmod(folder_.c_str(), 0755), 0);
  ASSERT_EQ(chmod(path.c_str(), 0), 0);
  const bool root = geteuid() == 0;
  if (root)
    setfsuid(kNobody);
  const absl::Status status = Refused(path);
  if (root)
    setfsuid(0);
  EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied);
}

TEST_F(PolicyFile, RefusesADirectory) {
  EXPECT_THAT(std::string(MessageOf(Refused(folder_))), HasSubstr("is a directory"));
}

TEST_F(PolicyFile, RefusesAFifoWithoutWaiting) {
  const std::string path = folder_ / "fifo";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_THAT(std::string(MessageOf(Refused(path))),
              AllOf(HasSubstr("not a regular file"), HasSubstr("'-'")));
}

TEST_F(PolicyFile, RefusesADevice) {
  EXPECT_THAT(std::string(MessageOf(Refused("/dev/zero"))), HasSubstr("not a regular file"));
}

TEST_F(PolicyFile, RefusesALargeFileWithoutReadingIt) {
  const std::string path = Write("large.yaml", "");
  ASSERT_EQ(truncate(path.c_str(), off_t{1} << 40), 0);  // sparse
  EXPECT_THAT(std::string(MessageOf(Refused(path))), HasSubstr("larger than 4194304 bytes"));
}

// Files of /proc say that they are empty; what they hold is bounded all the same.
TEST_F(PolicyFile, BoundsAFileThatDoesNotSayItsSize) {
  PolicyLimits limits;
  limits.max_bytes = 16;
  EXPECT_THAT(std::string(MessageOf(Refused("/proc/self/status", limits))),
              HasSubstr("larger than 16 bytes"));
}

class PolicyOnStandardInput : public PolicyFile {
 protected:
  PolicyOnStandardInput() : saved_(fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)) {}

  ~PolicyOnStandardInput() override { dup2(saved_.get(), STDIN_FILENO); }

  void Redirect(const std::string& path) {
    const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    ASSERT_TRUE(file);
    ASSERT_EQ(dup2(file.get(), STDIN_FILENO), STDIN_FILENO);
  }

 private:
  UniqueFd saved_;
};

TEST_F(PolicyOnStandardInput, IsReadForADash) {
  Redirect(Write("policy.yaml", kPolicy));
  const absl::StatusOr<Policy> policy = LoadPolicyFile("-");
  ASSERT_TRUE(policy.ok()) << MessageOf(policy.status());
  EXPECT_THAT(policy->routes, SizeIs(1));
}

TEST_F(PolicyOnStandardInput, IsBounded) {
  Redirect("/dev/zero");
  const absl::StatusOr<Policy> policy = LoadPolicyFile("-");
  ASSERT_FALSE(policy.ok());
  EXPECT_THAT(std::string(MessageOf(policy.status())),
              AllOf(HasSubstr("standard input"), HasSubstr("larger than")));
}

TEST_F(PolicyOnStandardInput, IsNamedInAParseError) {
  Redirect(Write("bad.yaml", "- a\n"));
  const absl::StatusOr<Policy> policy = LoadPolicyFile("-");
  ASSERT_FALSE(policy.ok());
  EXPECT_THAT(std::string(MessageOf(policy.status())), HasSubstr("standard input:1: "));
}

}  // namespace
}  // namespace routelens
