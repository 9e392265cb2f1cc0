// SPDX-License-Identifier: Apache-2.0
//
// Connections that are older than the sensor. Takes each socket of the given processes for a moment
// by pidfd_getfd and writes what it is into the kernel side's storage of that very socket, so that
// the flow is known by its cookie and its owner, never by an address. The next hook that meets the
// socket reports it as pre-existing.
//
// Accepted sockets are left out: those whose local port is listened on in their network namespace.
// What a process opens or closes meanwhile is not its matter: sockets that connect after attaching
// have storage of their own, which is kept.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "bpf/abi/counters.h"

namespace routelens {

// Whether this kernel and these privileges permit it at all; the status says why not.
absl::Status CanSnapshotFlows();

// Returns how many sockets were marked. Processes that are gone are passed over. `flows_fd` is the
// kernel side's map `flows`.
absl::StatusOr<size_t> SnapshotFlowsOf(const std::vector<pid_t>& pids, const rl_scope& scope,
                                       int flows_fd);

// Processes of a cgroup and of those below it.
std::vector<pid_t> ProcessesOf(int cgroup_fd);

}  // namespace routelens
