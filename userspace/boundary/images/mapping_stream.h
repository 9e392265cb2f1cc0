// SPDX-License-Identifier: Apache-2.0
//
// Tells of every executable file mapping that any process of the host makes, from a dummy perf
// event on each CPU: needs neither tracefs nor a tracepoint. Sees exec and dlopen alike. Records of
// one CPU are in order; between CPUs they are not. A full ring loses records: `lost` says so, and
// the caller looks at /proc again.
//
// Needs CAP_PERFMON when it is made. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "base/unique_fd.h"
#include "userspace/boundary/images/image_file.h"

namespace routelens {

// What a record says; the path is empty for what is no file (vdso, anonymous memory).
struct MappingRecord {
  MappedFile file;
  bool lost = false;  // no mapping: records were lost
};

// Decodes one perf record; false when it is of no use or malformed.
bool DecodeMappingRecord(std::span<const std::byte> record, MappingRecord& out);

class MappingStream {
 public:
  static absl::StatusOr<MappingStream> Open();
  ~MappingStream();
  MappingStream(MappingStream&&) = default;
  MappingStream& operator=(MappingStream&&) = delete;

  // One for each CPU; readable when there are records.
  std::vector<int> fds() const;

  // Hands out what there is now.
  void Drain(const std::function<void(const MappingRecord&)>& sink);

 private:
  struct Ring {
    UniqueFd fd;
    void* memory = nullptr;
  };

  MappingStream() = default;

  std::vector<Ring> rings_;
};

}  // namespace routelens
