// SPDX-License-Identifier: Apache-2.0
//
// `routelens run`: makes a boundary, runs a command in it, watches it, and reports at the end.
#pragma once

#include <string>
#include <vector>

#include "cli/commands/live.h"

namespace routelens {

struct RunFlags {
  LiveFlags live;
  std::vector<std::string> command;
};

// The exit status of the program.
int RunCommand(const RunFlags& flags);

}  // namespace routelens
