// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as a program image: planned with each way of reading. A plan's probes lie in the file.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "tests/fuzz/require.h"
#include "userspace/decode/elf/probe_plan.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const routelens::MemoryBytes source(std::as_bytes(std::span(data, size)));
  for (const routelens::ProbeChoice& choice :
       {routelens::ProbeChoice{true, true, true}, routelens::ProbeChoice{true, false, true},
        routelens::ProbeChoice{true, false, false}, routelens::ProbeChoice{false, false, false}}) {
    const auto plan = routelens::PlanProbes(source, choice);
    if (!plan.ok())
      continue;
    for (const routelens::PlannedProbe& probe : plan->probes) {
      RL_REQUIRE(probe.file_offset < size);
      RL_REQUIRE(choice.data_path || !probe.on_data_path);
      RL_REQUIRE(choice.returns || !probe.is_return);
    }
    RL_REQUIRE(plan->kind != routelens::ImageKind::kNothing || plan->probes.empty());
    RL_REQUIRE(plan->build_id.size() <= 128);
  }
  return 0;
}
