// SPDX-License-Identifier: Apache-2.0
//
// How much each program costs the verifier on this kernel. A program that grows past its budget is
// one that an older kernel may refuse: its verifier walks more paths and stops at a million.
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <set>
#include <string>
#include <string_view>

#include "base/status_util.h"
#include "gtest/gtest.h"
#include "userspace/kernel/core_object.h"
#include "userspace/kernel/feature_table.h"

namespace routelens {

namespace {

// Of the full and of the floor object; a quarter above what a 6.18 kernel walks.
struct Budget {
  std::string_view program;
  uint32_t full;
  uint32_t floor;
};

constexpr Budget kBudgets[] = {
    {"on_egress", 18'000, 23'500},      {"on_ingress", 18'500, 24'000},
    {"on_ssl_write", 12'500, 0},        {"on_ssl_read", 12'000, 0},
    {"on_ssl_read_ex", 12'000, 0},      {"on_ssl_read_end", 11'500, 0},
    {"on_ssl_read_ex_end", 11'500, 0},  {"on_ssl_read_begin", 1'300, 0},
    {"on_ssl_read_ex_begin", 1'300, 0}, {"on_getaddrinfo_end", 16'000, 17'000},
    {"on_connect4", 0, 7'200},          {"on_connect6", 0, 7'400},
    {"on_connect4_denial", 5'400, 0},   {"on_connect6_denial", 5'700, 0},
    {"on_tcp_state", 5'500, 5'100},     {"on_release", 3'900, 3'900},
    {"on_fork", 3'400, 3'400},
};
constexpr Budget kOther = {"", 2'000, 3'000};

uint32_t BudgetOf(std::string_view program, bool is_floor) {
  const auto* found = std::find_if(std::begin(kBudgets), std::end(kBudgets),
                                   [&](const Budget& row) { return row.program == program; });
  const Budget& budget = found != std::end(kBudgets) ? *found : kOther;
  return is_floor ? budget.floor : budget.full;
}

class ProgramBudgetTest : public testing::TestWithParam<bool> {};

TEST_P(ProgramBudgetTest, EveryProgramStaysWithinItsInstructions) {
  if (geteuid() != 0)
    GTEST_SKIP() << "needs root: loads BPF programs";
  KernelOptions options;
  if (GetParam())
    options.without.insert("sequence_numbers");
  const auto object = CoreObject::Load(options);
  ASSERT_TRUE(object.ok()) << MessageOf(object.status());
  std::set<std::string> names;
  for (const Feature& feature : FeatureTable())
    for (const Rung& rung : feature.rungs) names.insert(rung.programs.begin(), rung.programs.end());
  for (const std::string& name : names) {
    const bpf_program* program = (*object)->FindLoadedProgram(name);
    if (program == nullptr)
      continue;
    bpf_prog_info info = {};
    uint32_t length = sizeof(info);
    ASSERT_EQ(bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &length), 0);
    std::printf("%-28s %8u instructions walked, %6u bytes of machine code\n", name.c_str(),
                info.verified_insns, info.jited_prog_len);
    EXPECT_LE(info.verified_insns, BudgetOf(name, GetParam())) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Variants, ProgramBudgetTest, testing::Values(false, true),
                         [](const auto& variant) { return variant.param ? "Floor" : "Full"; });

}  // namespace

}  // namespace routelens
