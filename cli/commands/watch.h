// SPDX-License-Identifier: Apache-2.0
//
// `routelens watch`: shows the live lines of a session that runs in another terminal.
#pragma once

#include <string>

namespace routelens {

struct WatchFlags {
  std::string id;  // "": the only one there is
  bool all = false;
  bool json = false;
};

int WatchCommand(const WatchFlags& flags);

}  // namespace routelens
