// SPDX-License-Identifier: Apache-2.0
//
// Replays a recording: checks it frame by frame and makes the calls that were recorded. Needs no
// kernel, no privileges and no clock. Any bytes are safe to give: lengths are bounded by kind, and
// memory grows with bytes that are there, not with lengths that are claimed.
//
// Stops at the first frame that is cut or damaged; what stands before it has been replayed, and
// the summary says where and why. A recording of another format, ABI or byte order is refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "routes/policy.h"
#include "userspace/model/coverage.h"
#include "userspace/model/time.h"
#include "userspace/sources/recording_format.h"

namespace routelens {

// Gets what was recorded: Start first, Finish last, each once; in between the calls of
// userspace/pipeline/pipeline.h.
class RecordingSink {
 public:
  virtual ~RecordingSink() = default;
  virtual void Start(const RecordingHeader& header, Policy policy) = 0;
  virtual void Feed(std::span<const std::byte> record) = 0;
  virtual void AdvanceTo(BootTime now) = 0;
  virtual void SetKernelLoss(const Loss& kernel) = 0;
  virtual void SetCoverage(Coverage coverage) = 0;
  virtual void Finish(BootTime now) = 0;
};

struct ReplaySummary {
  RecordingHeader header;
  uint64_t frames = 0;   // replayed
  uint64_t records = 0;  // of these, raw records
  uint64_t bytes = 0;    // up to the end of the last good frame
  BootTime end;          // given to Finish: recorded, or of a cut recording the latest time seen
  bool complete = false;
  std::string reason;  // "" if complete, else why not, for people: "cut at byte 812", ...
  friend bool operator==(const ReplaySummary&, const ReplaySummary&) = default;
};

// Errors: InvalidArgument if this is no recording or has no whole policy, FailedPrecondition if it
// is of another format, ABI or byte order. `name` is for messages. `sink` got no call then.
absl::StatusOr<ReplaySummary> ReplayRecording(std::span<const std::byte> recording,
                                              const std::string& name, RecordingSink& sink);

// The same from a file ("-" is standard input), read as it goes. Errors of reading it too; after
// one in the middle the sink has been finished.
absl::StatusOr<ReplaySummary> ReplayRecordingFile(const std::string& path, RecordingSink& sink);

}  // namespace routelens
