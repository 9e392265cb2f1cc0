// SPDX-License-Identifier: Apache-2.0
#include "base/status_util.h"

namespace routelens {

absl::Status ErrnoStatus(int error, const std::string& doing) {
  return absl::ErrnoToStatus(error, doing);
}

std::string_view MessageOf(const absl::Status& status) {
  return {status.message().data(), status.message().size()};
}

absl::Status WithContext(const absl::Status& status, const std::string& context) {
  if (status.ok())
    return status;
  return absl::Status(status.code(), context + ": " + std::string(MessageOf(status)));
}

}  // namespace routelens
