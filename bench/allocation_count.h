// SPDX-License-Identifier: Apache-2.0
//
// Counts calls of operator new in the whole program, on every thread. Linking allocation_count.cc
// replaces the global operators; nothing else changes.
#pragma once

#include <cstdint>

namespace routelens::bench {

// Allocations since the program began.
uint64_t AllocationCount();

}  // namespace routelens::bench
