// SPDX-License-Identifier: Apache-2.0
//
// Status helpers in terms of std::string: Debian's abseil has a string_view of its own that
// std::string_view does not convert to.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace routelens {

// Status from an errno value: "<doing>: <strerror>". The code follows errno (EPERM is
// kPermissionDenied, ENOENT is kNotFound, ...).
absl::Status ErrnoStatus(int error, const std::string& doing);

// The message as a std::string_view; lives as long as `status`.
std::string_view MessageOf(const absl::Status& status);

// The same status with "<context>: " before its message.
absl::Status WithContext(const absl::Status& status, const std::string& context);

}  // namespace routelens

// Returns from the enclosing function when `expr` is not OK.
#define RL_RETURN_IF_ERROR(expr)                          \
  do {                                                    \
    if (absl::Status rl_status = (expr); !rl_status.ok()) \
      return rl_status;                                   \
  } while (false)
