// SPDX-License-Identifier: Apache-2.0
//
// Writes a recording while the sensor runs: what is given to the pipeline is given here too, by
// methods of the same names, so that a replay gives the pipeline the same calls in the same order.
//
// Never throws and never stops the caller. The first write that fails (disk full, a closed pipe)
// ends the recording for good, because a hole in it would replay to something else: status() says
// why, frames_not_written() how much is missing, and the file up to there stays good. Buffers at
// most 64 KiB, and of a boot-clock second's calls at most what comes within it. Not thread-safe.
// Writing to a pipe raises SIGPIPE where the program has not ignored it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/unique_fd.h"
#include "routes/policy.h"
#include "userspace/model/coverage.h"
#include "userspace/model/time.h"
#include "userspace/sources/recording_format.h"

namespace routelens {

class RecordingWriter {
 public:
  // Takes over `fd`, open for writing at its start. `name` is for messages. Writes the file header
  // and the policy at once; see status().
  RecordingWriter(UniqueFd fd, std::string name, const RecordingHeader& header,
                  const Policy& policy);
  ~RecordingWriter();  // writes what is buffered; without Finish the recording counts as cut
  RecordingWriter(const RecordingWriter&) = delete;
  RecordingWriter& operator=(const RecordingWriter&) = delete;

  // A raw record as the ring gave it; only its used bytes are kept.
  void Record(std::span<const std::byte> record);
  void AdvanceTo(BootTime now);
  void SetKernelLoss(const Loss& kernel);
  void SetCoverage(const Coverage& coverage);

  // The last frame; writes everything out. Returns status().
  absl::Status Finish(BootTime now);

  // OK, or the first failure.
  const absl::Status& status() const { return status_; }

  uint64_t frames_not_written() const { return frames_not_written_; }

  uint64_t bytes_written() const { return bytes_written_; }

 private:
  void Frame(FrameKind kind, std::span<const std::byte> payload);
  void Flush();

  UniqueFd fd_;
  std::string name_;
  absl::Status status_;
  std::vector<std::byte> buffer_;
  uint64_t frames_buffered_ = 0;
  uint64_t frames_not_written_ = 0;
  uint64_t bytes_written_ = 0;
  BootTime last_flush_;
  bool finished_ = false;
};

}  // namespace routelens
