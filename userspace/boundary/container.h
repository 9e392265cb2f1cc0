// SPDX-License-Identifier: Apache-2.0
//
// Finds a podman container by name or id, through podman's own command line.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace routelens {

struct ContainerInfo {
  pid_t pid = 0;            // its first process, in this pid namespace
  std::string cgroup_path;  // "" when the runtime made none
  friend bool operator==(const ContainerInfo&, const ContainerInfo&) = default;
};

// Reads the output of `podman inspect --type container NAME`. An error when the container does not
// run.
absl::StatusOr<ContainerInfo> ParsePodmanInspect(std::string_view json);

// Asks podman. kNotFound when there is no such container or no podman; the status has podman's own
// last word.
absl::StatusOr<ContainerInfo> FindContainer(const std::string& name);

}  // namespace routelens
