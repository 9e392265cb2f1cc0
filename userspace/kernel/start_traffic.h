// SPDX-License-Identifier: Apache-2.0
//
// The child of the start test: a process that does, once each, what the sensor must be able to see.
// It waits for Go(), then in a network namespace of its own connects to itself over loopback,
// speaks one HTTP exchange, sends one DNS question, and ends. Nothing leaves the host.
//
// The parent may have threads: between fork and exit the child makes system calls only.
#pragma once

#include <sys/types.h>

#include "absl/status/statusor.h"
#include "base/unique_fd.h"

namespace routelens {

class StartTraffic {
 public:
  static absl::StatusOr<StartTraffic> Fork();
  ~StartTraffic();  // ends the child if it still runs
  StartTraffic(StartTraffic&& other) noexcept;
  StartTraffic& operator=(StartTraffic&&) = delete;

  pid_t pid() const { return pid_; }

  enum class Done { kAll, kWithoutDns };

  // Lets the child run and waits for its end, at most two seconds. Without a network namespace of
  // its own it asks no DNS question: that could reach a real resolver. The status names the step
  // that failed in it.
  absl::StatusOr<Done> Go();

 private:
  StartTraffic() = default;

  pid_t pid_ = -1;
  UniqueFd go_;
};

}  // namespace routelens
