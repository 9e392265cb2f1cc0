// SPDX-License-Identifier: Apache-2.0
//
// Whether return probes kill processes under seccomp on this kernel. From 6.11 on the kernel may
// implement them by a system call that a strict filter does not know. Tried, not looked up: a child
// in strict seccomp mode passes through a return probe, and lives or not.
#pragma once

namespace routelens {

// Takes a few milliseconds. False also when the trial could not be made: the careful answer.
bool ReturnProbesAreSurvived();

}  // namespace routelens
