// SPDX-License-Identifier: Apache-2.0
//
// Attaches the programs of empty.bpf.c to one cgroup, beside whatever is attached there, until its
// standard input ends. Prints one JSON object with their ids, by name. Leaves nothing behind: the
// links go with the process.
//
// Usage: empty_programs CGROUP-FOLDER
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

#include "base/unique_fd.h"
#include "empty.skel.h"

namespace {

struct SkeletonDeleter {
  void operator()(struct empty* skeleton) const { empty::destroy(skeleton); }
};

struct LinkDeleter {
  void operator()(bpf_link* link) const { bpf_link__destroy(link); }
};

using Link = std::unique_ptr<bpf_link, LinkDeleter>;

int Main(const char* folder) {
  const routelens::UniqueFd cgroup(open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!cgroup) {
    std::fprintf(stderr, "empty_programs: %s: %s\n", folder, std::strerror(errno));
    return 1;
  }
  const std::unique_ptr<struct empty, SkeletonDeleter> skeleton(empty::open_and_load());
  if (skeleton == nullptr) {
    std::fprintf(stderr, "empty_programs: load: %s\n", std::strerror(errno));
    return 1;
  }
  std::vector<Link> links;
  bpf_program* program = nullptr;
  std::printf("{");
  bpf_object__for_each_program(program, skeleton->obj) {
    links.emplace_back(bpf_program__attach_cgroup(program, cgroup.get()));
    const char* name = bpf_program__name(program);
    bpf_prog_info info{};
    __u32 size = sizeof info;
    if (links.back() == nullptr ||
        bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &size) != 0) {
      std::fprintf(stderr, "empty_programs: %s: %s\n", name, std::strerror(errno));
      return 1;
    }
    std::printf("%s\"%s\": %u", links.size() == 1 ? "" : ", ", name, info.id);
  }
  std::printf("}\n");
  std::fflush(stdout);
  char ignored[64];
  while (read(STDIN_FILENO, ignored, sizeof ignored) > 0) {
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: empty_programs CGROUP-FOLDER\n");
    return 2;
  }
  return Main(argv[1]);
}
