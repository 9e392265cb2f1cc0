// SPDX-License-Identifier: Apache-2.0
#include "userspace/kernel/cgroup_attachments.h"

#include <bpf/libbpf.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/status_util.h"

namespace routelens {

namespace {

std::string PathOf(int fd) {
  char path[PATH_MAX];
  const std::string link = "/proc/self/fd/" + std::to_string(fd);
  const ssize_t length = readlink(link.c_str(), path, sizeof(path));
  return length > 0 ? std::string(path, static_cast<size_t>(length)) : "";
}

bool Contains(const std::string& outer, const std::string& inner) {
  return !outer.empty() && inner.size() > outer.size() &&
         inner.compare(0, outer.size(), outer) == 0 &&
         (inner[outer.size()] == '/' || outer.back() == '/');
}

}  // namespace

CgroupAttachments::~CgroupAttachments() {
  for (auto& [id, point] : points_) DropLinks(&point);
}

size_t CgroupAttachments::link_count() const {
  size_t count = 0;
  for (const auto& [id, point] : points_) count += point.links.size();
  return count;
}

bool CgroupAttachments::IsServedByOuter(const Point& point) const {
  for (const auto& [id, other] : points_)
    if (Contains(other.path, point.path))
      return true;
  return false;
}

absl::Status CgroupAttachments::MakeLinks(Point* point) {
  for (bpf_program* program : programs_) {
    bpf_link* link = bpf_program__attach_cgroup(program, point->fd.get());
    if (link == nullptr) {
      const int error = errno;
      DropLinks(point);
      std::string doing =
          std::string("attaching ") + bpf_program__name(program) + " to " + point->path;
      if (error == EPERM)
        doing +=
            " (CAP_NET_ADMIN is missing, or another program on an outer cgroup was attached "
            "without permission for more)";
      return ErrnoStatus(error, doing);
    }
    point->links.push_back(link);
  }
  return absl::OkStatus();
}

void CgroupAttachments::DropLinks(Point* point) {
  for (bpf_link* link : point->links) bpf_link__destroy(link);
  point->links.clear();
}

absl::Status CgroupAttachments::Attach(int fd, uint64_t id) {
  if (const auto found = points_.find(id); found != points_.end()) {
    ++found->second.users;
    return absl::OkStatus();
  }
  Point point;
  point.fd.Reset(fcntl(fd, F_DUPFD_CLOEXEC, 3));
  if (!point.fd)
    return ErrnoStatus(errno, "keeping the cgroup open");
  point.path = PathOf(point.fd.get());
  point.users = 1;
  if (!IsServedByOuter(point)) {
    // What lies inside is served by this one from now on. Its own links go first: a moment without
    // records is a gap that widens "unknown"; a moment with each record twice would invent
    // attempts.
    std::vector<Point*> inside;
    for (auto& [other_id, other] : points_)
      if (!other.links.empty() && Contains(point.path, other.path))
        inside.push_back(&other);
    for (Point* other : inside) DropLinks(other);
    if (absl::Status status = MakeLinks(&point); !status.ok()) {
      for (Point* other : inside)
        if (absl::Status again = MakeLinks(other); !again.ok())
          return WithContext(
              again, "restoring an inner boundary after: " + std::string(MessageOf(status)));
      return status;
    }
  }
  points_.emplace(id, std::move(point));
  return absl::OkStatus();
}

void CgroupAttachments::Detach(uint64_t id) {
  const auto found = points_.find(id);
  if (found == points_.end() || --found->second.users > 0)
    return;
  DropLinks(&found->second);
  points_.erase(found);
  for (auto& [other_id, other] : points_)
    if (other.links.empty() && !IsServedByOuter(other))
      (void)MakeLinks(&other).ok();  // a cgroup that is gone has nothing left to watch
}

}  // namespace routelens
