// SPDX-License-Identifier: Apache-2.0
#include "userspace/boundary/images/host_images.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace routelens {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class HostImages : public ::testing::Test {
 protected:
  HostImages() {
    std::string name = ::testing::TempDir() + "host_images_XXXXXX";
    folder_ = ::mkdtemp(name.data());
  }

  ~HostImages() override { std::filesystem::remove_all(folder_); }

  std::string Program(const std::string& name, const std::string& text,
                      std::filesystem::perms mode = std::filesystem::perms::owner_all) {
    const std::string path = folder_ + "/" + name;
    std::ofstream(path) << text;
    std::filesystem::permissions(path, mode);
    return path;
  }

  std::string folder_;
};

TEST_F(HostImages, ACommandWithoutASlashIsFoundInTheSearchPath) {
  const std::string tool = Program("tool",
                                   "\x7f"
                                   "ELF");
  EXPECT_THAT(ProgramsOf("tool", "/nonexistent:" + folder_), ElementsAre(tool));
  EXPECT_THAT(ProgramsOf(tool, ""), ElementsAre(tool));
  EXPECT_THAT(ProgramsOf("tool", ""), IsEmpty());
}

TEST_F(HostImages, AScriptBringsItsInterpreter) {
  const std::string node = Program("node",
                                   "\x7f"
                                   "ELF");
  const std::string script = Program("client", "#!/usr/bin/env -S node --flag\n");
  EXPECT_THAT(ProgramsOf("client", folder_), ElementsAre(script, node));
  const std::string plain = Program("plain", "#!/usr/bin/env node\n");
  EXPECT_THAT(ProgramsOf("plain", folder_), ElementsAre(plain, node));
  const std::string direct = Program("direct", "#!" + node + "\n");
  EXPECT_THAT(ProgramsOf("direct", folder_), ElementsAre(direct, node));
}

TEST_F(HostImages, AScriptThatNamesItselfEnds) {
  const std::string loop = Program("loop", "#!" + folder_ + "/loop\n");
  EXPECT_THAT(ProgramsOf("loop", folder_), ElementsAre(loop, loop, loop, loop));
}

TEST_F(HostImages, CarriersAreFoundOnlyWhereTheyCanBeExecuted) {
  EXPECT_THAT(CarriersOf(folder_), IsEmpty());
  const std::string node = Program("node",
                                   "\x7f"
                                   "ELF",
                                   std::filesystem::perms::owner_read);
  EXPECT_THAT(CarriersOf(folder_), IsEmpty());
  std::filesystem::permissions(node, std::filesystem::perms::owner_all);
  EXPECT_THAT(CarriersOf(folder_), ElementsAre(node));
}

}  // namespace
}  // namespace routelens
