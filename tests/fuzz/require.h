// SPDX-License-Identifier: Apache-2.0
//
// Ends a fuzz target when a property does not hold, in every build.
#pragma once

#include <cstdio>
#include <cstdlib>

#define RL_REQUIRE(condition)                                                      \
  do {                                                                             \
    if (!(condition)) {                                                            \
      std::fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                \
    }                                                                              \
  } while (false)
