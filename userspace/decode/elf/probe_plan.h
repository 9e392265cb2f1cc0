// SPDX-License-Identifier: Apache-2.0
//
// From an image to the list of probes it wants: which program at which offset of the file. Works
// row by row through bpf/abi/library_probes.h, so a function that is missing or has no usable
// instruction costs its own row and is named; the rest is planned.
//
// Pure over a ByteSource; takes a few ms for a shared library, about 50 ms for a 100 MB program.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "userspace/decode/elf/byte_source.h"

namespace routelens {

enum class ImageKind : uint8_t {
  kNothing,        // no function that we know
  kOpensslShared,  // libssl or libcrypto
  kOpensslStatic,  // a program or library with OpenSSL built in
  kLibc,
};

// What the kernel side can run. By preference: sessions, return probes, exits.
struct ProbeChoice {
  bool data_path = true;
  bool sessions = false;  // programs that ask for the return of single calls (6.13)
  bool returns = false;   // return probes: shown to be survived
};

struct PlannedProbe {
  const char* program = "";  // as in bpf/abi/library_probes.h
  const char* symbol = "";
  uint64_t file_offset = 0;
  bool is_return = false;
  bool cheap = false;
  bool on_data_path = false;
  friend bool operator==(const PlannedProbe&, const PlannedProbe&) = default;
};

struct ProbePlan {
  ImageKind kind = ImageKind::kNothing;
  std::string build_id;
  std::vector<PlannedProbe> probes;
  std::vector<std::string>
      missing;  // "SSL_read: <reason>", for what an image of its kind should have
  friend bool operator==(const ProbePlan&, const ProbePlan&) = default;
};

// kUnimplemented for another architecture than x86-64 ("library blind: architecture"); else as
// ElfImage. An image of kind kNothing is a plan without probes, not a failure.
absl::StatusOr<ProbePlan> PlanProbes(const ByteSource& source, const ProbeChoice& choice);

}  // namespace routelens
