// SPDX-License-Identifier: Apache-2.0
//
// Loads and attaches the programs of bpf/abi/library_probes.h. Two ways, chosen before loading,
// because a program is loaded for one of them: one multi-probe link for each program and image
// (from 6.6; attaches in about 10 ms, detaches in one grace period), else one perf event for each
// probe, through the uprobe PMU; tracefs is never needed. Programs that ask for the return of
// single calls exist in the first way only, from 6.13.
//
// Attaching needs CAP_BPF and CAP_PERFMON (CAP_SYS_ADMIN before 5.8). Not thread-safe, except that
// an attachment may be destroyed on any thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "userspace/kernel/kernel_sensor.h"

struct bpf_object;
struct bpf_program;

namespace routelens {

// What this kernel can do, tried on this program's own image: attached and detached, never hit.
struct UprobeSupport {
  bool multi = false;
  bool sessions = false;  // implies multi
  bool perf = false;
  std::string reason;  // why neither multi nor perf; "" otherwise

  bool any() const { return multi || perf; }
};

UprobeSupport TestUprobes();

// Between bpf_object__open and bpf_object__load: sets how each program of the table will attach,
// and leaves out the programs that cannot (sessions, or all of them).
void PrepareLibraryPrograms(bpf_object* object, const UprobeSupport& support);

// Whether `program` asks for the return of single calls.
bool IsSessionProgram(const std::string& program);

// Attaches what it can of `probes` to the image behind `image_fd`, which is borrowed during the
// call. `find` gives a loaded program or nullptr; probes of programs that are not loaded are passed
// over. kUnavailable with the kernel's first refusal when nothing could be attached.
using FindProgram = std::function<bpf_program*(const std::string& name)>;
absl::StatusOr<std::unique_ptr<ProbeAttachment>> AttachLibraryProbes(
    const FindProgram& find, const UprobeSupport& support, int image_fd,
    const std::vector<ProbeRequest>& probes);

}  // namespace routelens
