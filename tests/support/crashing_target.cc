// SPDX-License-Identifier: Apache-2.0
//
// A fuzz target with a fault of its own: aborts on any input that begins with 'B'. Shows that
// replay_corpus.cc reports a finding instead of passing over it.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 0 && data[0] == 'B')
    std::abort();
  return 0;
}
