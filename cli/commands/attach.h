// SPDX-License-Identifier: Apache-2.0
//
// `routelens attach`: watches something that runs already.
#pragma once

#include <sys/types.h>

#include <string>

#include "cli/commands/live.h"

namespace routelens {

struct AttachFlags {
  LiveFlags live;
  pid_t pid = 0;  // exactly one of these three
  std::string cgroup;
  std::string container;
  double duration_seconds = 0;  // 0: until interrupted or the boundary is empty
};

int AttachCommand(const AttachFlags& flags);

}  // namespace routelens
