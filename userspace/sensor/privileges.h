// SPDX-License-Identifier: Apache-2.0
//
// What each of the two processes of a live sensor keeps once everything is loaded
// (docs/decisions/0002-two-processes.md). Both functions are one-way and act on the calling
// process, which must have one thread. The command of `run` is forked before and keeps its own.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace routelens {

// The attacher: keeps the capabilities that attaching to new images and boundaries needs, drops
// all others also from the bounding set, and sets no_new_privs.
absl::Status ConfineAttacher();

// The analyst, which parses what the network and the processes wrote: keeps no capability, sets
// no_new_privs, is not dumpable, and may make only the system calls of an event loop over
// descriptors that are open already. Everything else fails with EPERM.
absl::Status ConfineAnalyst();

// What ConfineAttacher keeps, of those this process has: "cap_bpf", ...
std::vector<std::string> AttacherCapabilities();

// Names of capabilities needed to load and attach that this process lacks. Empty: all there.
std::vector<std::string> MissingCapabilities();

}  // namespace routelens
