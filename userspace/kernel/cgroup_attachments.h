// SPDX-License-Identifier: Apache-2.0
//
// Keeps the sensor's programs attached to a set of cgroups, once on each path from the root: the
// kernel runs a cgroup's programs and those of all its ancestors, so a program attached to two
// nested cgroups would see everything twice. A cgroup inside one that is attached already gets no
// links of its own; when the outer one goes, it gets them.
//
// Attached as links, together with whatever others have attached (multi), so nobody is evicted and
// all goes with the process. Not thread-safe. The programs must outlive it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/unique_fd.h"

struct bpf_link;
struct bpf_program;

namespace routelens {

class CgroupAttachments {
 public:
  explicit CgroupAttachments(std::vector<bpf_program*> programs) : programs_(std::move(programs)) {}

  ~CgroupAttachments();
  CgroupAttachments(const CgroupAttachments&) = delete;
  CgroupAttachments& operator=(const CgroupAttachments&) = delete;

  // Counted: each Attach wants one Detach. `fd` is borrowed; `id` is the cgroup's. On failure
  // nothing has changed; the status says which program, and for EPERM what stands in the way.
  absl::Status Attach(int fd, uint64_t id);
  void Detach(uint64_t id);

  size_t link_count() const;

 private:
  struct Point {
    UniqueFd fd;
    std::string path;  // as the kernel shows it; "" when the cgroup is gone
    uint32_t users = 0;
    std::vector<bpf_link*> links;  // empty while an outer point serves it
  };

  bool IsServedByOuter(const Point& point) const;
  absl::Status MakeLinks(Point* point);
  static void DropLinks(Point* point);

  std::vector<bpf_program*> programs_;
  std::map<uint64_t, Point> points_;
};

}  // namespace routelens
