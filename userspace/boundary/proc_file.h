// SPDX-License-Identifier: Apache-2.0
//
// Reads small files of /proc and of cgroup directories whole. A read is bounded: a file that is
// longer is an error, never a truncated answer.
#pragma once

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"

namespace routelens {

constexpr size_t kProcFileMaxBytes = 4u << 20;

// Reads `name` relative to the open directory `dir_fd` (AT_FDCWD for paths). kNotFound if it is
// not there, kResourceExhausted if it is longer than `max_bytes`.
absl::StatusOr<std::string> ReadSmallFile(int dir_fd, const std::string& name,
                                          size_t max_bytes = kProcFileMaxBytes);

}  // namespace routelens
