// SPDX-License-Identifier: Apache-2.0
//
// Plans for the libraries of shapes/: each probe must lie on the instruction that bears the symbol
// expect_<name> there.
#include "userspace/decode/elf/probe_plan.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "base/status_util.h"
#include "tests/userspace/decode/elf/memory_elf.h"
#include "userspace/decode/elf/elf_image.h"

namespace routelens {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

std::vector<std::byte> FileBytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
  return {bytes, bytes + text.size()};
}

// Programs and where they go: "on_ssl_clear at clear", with " return" and " stepped".
class Shapes {
 public:
  Shapes(const char* file, const ProbeChoice& choice) : bytes_(FileBytes(file)), source_(bytes_) {
    plan_ = PlanProbes(source_, choice);
  }

  const ProbePlan& plan() const { return *plan_; }

  std::vector<std::string> Placed() const {
    std::vector<std::string> placed;
    for (const PlannedProbe& probe : plan_->probes) {
      std::string text = std::string(probe.program) + " at " + NameOf(probe.file_offset);
      if (probe.is_return)
        text += " return";
      if (!probe.cheap)
        text += " stepped";
      placed.push_back(text);
    }
    return placed;
  }

 private:
  static constexpr const char* kNames[] = {
      "clear",          "free",        "verify_told",     "read_whole",  "read_begin",
      "read_end",       "read_end2",   "read_ex_begin",   "read_ex_end", "write",
      "write_ex",       "class_asked", "class_1_unequal", "class_5",     "class_6",
      "error",          "random",      "connect1",        "connect2",    "getaddrinfo_begin",
      "getaddrinfo_end"};

  std::string NameOf(uint64_t offset) const {
    const auto image = ElfImage::Open(source_);
    for (const char* name : kNames) {
      const std::string symbol = std::string("expect_") + name;
      const std::string_view wanted[] = {symbol};
      const auto found = image->FindFunctions(wanted);
      if (!found->empty() && *image->CodeOffset(found->begin()->second.address, 1) == offset)
        return name;
    }
    return "?";
  }

  std::vector<std::byte> bytes_;
  MemoryBytes source_;
  absl::StatusOr<ProbePlan> plan_;
};

TEST(ProbePlan, SeesWholeReadsThroughTheInternalFunctionThatBothReadsCall) {
  const Shapes shapes(SHAPES_SHARED, {.data_path = true, .sessions = true, .returns = true});
  EXPECT_EQ(shapes.plan().kind, ImageKind::kOpensslShared);
  EXPECT_THAT(shapes.Placed(),
              UnorderedElementsAre("on_ssl_clear at clear", "on_class_asked at class_asked",
                                   "on_class_told at class_6", "on_class_told at class_5",
                                   "on_class_told_if_unequal at class_1_unequal",
                                   "on_verify_told at verify_told stepped", "on_ssl_free at free",
                                   "on_ssl_write at write", "on_ssl_write at write_ex",
                                   "on_ssl_read_ex at read_whole"));
  EXPECT_THAT(shapes.plan().missing, ElementsAre());
}

TEST(ProbePlan, FallsBackToReturnProbesThenToWaysOut) {
  const Shapes returns(SHAPES_SHARED, {.data_path = true, .sessions = false, .returns = true});
  EXPECT_THAT(returns.Placed(), Contains("on_ssl_read_ex_begin at read_whole"));
  EXPECT_THAT(returns.Placed(), Contains("on_ssl_read_ex_end at read_whole return"));
  const Shapes exits(SHAPES_SHARED, {.data_path = true, .sessions = false, .returns = false});
  EXPECT_THAT(exits.Placed(), Contains("on_ssl_read_begin at read_begin"));
  EXPECT_THAT(exits.Placed(), Contains("on_ssl_read_end at read_end"));
  EXPECT_THAT(exits.Placed(), Contains("on_ssl_read_ex_begin at read_ex_begin"));
  EXPECT_THAT(exits.Placed(), Contains("on_ssl_read_ex_end at read_ex_end stepped"));
}

TEST(ProbePlan, LeavesTheDataPathAloneWhenToldTo) {
  const Shapes shapes(SHAPES_SHARED, {.data_path = false, .sessions = true, .returns = true});
  for (const PlannedProbe& probe : shapes.plan().probes) EXPECT_FALSE(probe.on_data_path);
  EXPECT_EQ(shapes.plan().probes.size(), 7u);
}

TEST(ProbePlan, PlansAProgramWithOpensslBuiltIn) {
  const Shapes shapes(SHAPES_STATIC, {.data_path = true, .sessions = true, .returns = true});
  EXPECT_EQ(shapes.plan().kind, ImageKind::kOpensslStatic);
  EXPECT_THAT(shapes.Placed(), Contains("on_ssl_read at read_whole"));
  EXPECT_THAT(shapes.Placed(), Contains("on_class_told at class_6"));
  EXPECT_THAT(shapes.Placed(), Contains("on_class_told at class_5 stepped"));
  EXPECT_THAT(shapes.Placed(), Contains("on_class_told_if_unequal at class_1_unequal"));
  EXPECT_THAT(shapes.Placed(), Contains("on_error_raised at error"));
  const Shapes exits(SHAPES_STATIC, {.data_path = true, .sessions = false, .returns = false});
  EXPECT_THAT(exits.Placed(), Contains("on_ssl_read_end at read_end stepped"));
  EXPECT_THAT(exits.Placed(), Contains("on_ssl_read_end at read_end2 stepped"));
}

TEST(ProbePlan, StepsAnEntryOnlyWhenItsArgumentsWouldBeLost) {
  const Shapes shapes(SHAPES_STATIC, {});
  EXPECT_THAT(shapes.Placed(), Contains("on_random_bytes at random stepped"));
}

TEST(ProbePlan, NamesWhatItCannotProbe) {
  const Shapes shapes(SHAPES_STATIC, {});
  EXPECT_THAT(shapes.plan().missing, Contains("SSL_read_ex: not in the image"));
  EXPECT_THAT(shapes.plan().missing,
              Contains(HasSubstr("X509_STORE_CTX_get_error: a jump into the middle")));
  EXPECT_THAT(shapes.plan().missing, Contains(HasSubstr("SSL_get_verify_result: no instruction")));
}

TEST(ProbePlan, PlansLibc) {
  const Shapes shapes(SHAPES_LIBC, {});
  EXPECT_EQ(shapes.plan().kind, ImageKind::kLibc);
  EXPECT_THAT(shapes.Placed(),
              UnorderedElementsAre("on_getaddrinfo_begin at getaddrinfo_begin",
                                   "on_getaddrinfo_end at getaddrinfo_end stepped",
                                   "on_libc_connect at connect1", "on_libc_connect at connect2"));
}

TEST(ProbePlan, PlansNothingForAnOrdinaryProgram) {
  const std::vector<std::byte> bytes = FileBytes("/proc/self/exe");
  const MemoryBytes source(bytes);
  const auto plan = PlanProbes(source, {});
  ASSERT_TRUE(plan.ok()) << MessageOf(plan.status());
  EXPECT_EQ(plan->kind, ImageKind::kNothing);
  EXPECT_TRUE(plan->probes.empty());
}

TEST(ProbePlan, IsBlindOnOtherArchitectures) {
  MemoryElf elf;
  elf.header.e_machine = EM_AARCH64;
  const std::vector<std::byte> bytes = elf.Bytes();
  const auto plan = PlanProbes(MemoryBytes(bytes), {});
  EXPECT_EQ(plan.status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(MessageOf(plan.status())), HasSubstr("library blind"));
}

}  // namespace
}  // namespace routelens
