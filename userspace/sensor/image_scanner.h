// SPDX-License-Identifier: Apache-2.0
//
// A worker thread that opens mapped images and plans their probes, because both read files that a
// sandbox controls and may take long or for ever. Attaching stays with the owner's thread.
//
// Thread-safe. The queue is bounded: what does not fit is refused and counted by the caller. When
// the worker hangs in a read, destruction leaves it behind (the process ends soon after).
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "userspace/boundary/images/image_file.h"
#include "userspace/decode/elf/probe_plan.h"

namespace routelens {

struct ScannedImage {
  MappedFile asked;
  absl::Status status;  // why there is no image or no plan
  ImageFile image;
  ProbePlan plan;
};

class ImageScanner {
 public:
  static constexpr size_t kMaxQueued = 1024;

  static absl::StatusOr<std::unique_ptr<ImageScanner>> Start(const ProbeChoice& choice);
  ~ImageScanner();

  // False when the queue is full.
  bool Ask(MappedFile file);

  // What is done; fd() is readable when there may be something.
  std::vector<ScannedImage> Take();
  int fd() const;

 private:
  struct State;

  explicit ImageScanner(std::shared_ptr<State> state) : state_(std::move(state)) {}

  std::shared_ptr<State> state_;  // shared with the thread, which may outlive this object
};

}  // namespace routelens
