// SPDX-License-Identifier: Apache-2.0
//
// `routelens replay`: the pipeline over a recording instead of the kernel.
#pragma once

#include <string>

namespace routelens {

struct ReplayFlags {
  std::string file;
  std::string output;
  bool json = false;
  bool watch = false;
};

int ReplayCommand(const ReplayFlags& flags);

}  // namespace routelens
