// SPDX-License-Identifier: Apache-2.0
#include "base/unique_fd.h"

#include <unistd.h>

#include <cerrno>

namespace routelens {

void UniqueFd::Reset(int fd) {
  const int old = std::exchange(fd_, fd);
  if (old >= 0) {
    const int saved = errno;
    ::close(old);  // On Linux the descriptor is gone whatever close() says: never retried.
    errno = saved;
  }
}

}  // namespace routelens
