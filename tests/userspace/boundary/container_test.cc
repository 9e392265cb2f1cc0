// SPDX-License-Identifier: Apache-2.0
#include "userspace/boundary/container.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/status_util.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace routelens {
namespace {

using testing::HasSubstr;

// Puts a `podman` that runs this shell script before all others.
class FakePodman {
 public:
  explicit FakePodman(const std::string& script)
      : folder_(testing::TempDir() + "/podman.XXXXXX"), path_(std::getenv("PATH")) {
    ::mkdtemp(folder_.data());
    std::ofstream(folder_ + "/podman") << "#!/bin/sh\n" << script << "\n";
    ::chmod((folder_ + "/podman").c_str(), 0755);
    ::setenv("PATH", (folder_ + ":" + path_).c_str(), 1);
  }

  ~FakePodman() {
    ::setenv("PATH", path_.c_str(), 1);
    std::filesystem::remove_all(folder_);
  }

  FakePodman(const FakePodman&) = delete;
  FakePodman& operator=(const FakePodman&) = delete;

 private:
  std::string folder_;
  std::string path_;
};

TEST(FindContainer, SaysWhatPodmanSaysOfAContainerThatIsNotThere) {
  const FakePodman podman("echo '[]'; echo 'Error: no such container' >&2; exit 125");
  const auto info = FindContainer("agent");
  EXPECT_EQ(info.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(MessageOf(info.status())), HasSubstr("agent"));
  EXPECT_THAT(std::string(MessageOf(info.status())), HasSubstr("Error: no such container"));
}

TEST(FindContainer, NamesTheContainerThatDoesNotRun) {
  const FakePodman podman("echo '[{\"State\":{\"Pid\":0}}]'");
  EXPECT_THAT(std::string(MessageOf(FindContainer("agent").status())), HasSubstr("agent"));
}

TEST(FindContainer, IsNotMisledByPodmansWarnings) {
  const FakePodman podman("echo 'WARN[0000] odd' >&2; echo '[{\"State\":{\"Pid\":7}}]'");
  const auto info = FindContainer("agent");
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_EQ(info->pid, 7);
}

TEST(PodmanInspect, GivesPidAndCgroup) {
  const auto info = ParsePodmanInspect(
      R"([{"Id":"x","State":{"Status":"running","Pid":4711,"CgroupPath":"/machine.slice/a.scope"}}])");
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_EQ(*info, (ContainerInfo{4711, "/machine.slice/a.scope"}));
}

TEST(PodmanInspect, SaysWhenTheContainerDoesNotRun) {
  const auto info = ParsePodmanInspect(R"([{"State":{"Status":"exited","Pid":0}}])");
  EXPECT_EQ(info.status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST(PodmanInspect, RefusesEverythingElse) {
  for (const char* text : {"", "[]", "{}", "[1]", "[{}]", R"([{"State":[]}])",
                           R"([{"State":{"Pid":"1"}}])", "nonsense", R"([{"State":{"Pid":-5}}])"}) {
    EXPECT_FALSE(ParsePodmanInspect(text).ok()) << text;
  }
}

}  // namespace
}  // namespace routelens
