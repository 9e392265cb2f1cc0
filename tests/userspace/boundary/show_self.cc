// SPDX-License-Identifier: Apache-2.0
//
// Prints what a process was given by whoever started it: the test compares this with and without
// Routelens in between. Exit status 0.
#include <dirent.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

namespace {

void PrintDescriptors() {
  std::vector<int> open;
  DIR* dir = opendir("/proc/self/fd");
  while (const dirent* entry = readdir(dir)) {
    const int fd = std::atoi(entry->d_name);
    if (entry->d_name[0] != '.' && fd != dirfd(dir))
      open.push_back(fd);
  }
  closedir(dir);
  std::sort(open.begin(), open.end());
  for (const int fd : open) {
    struct stat info {};

    fstat(fd, &info);
    std::printf("fd %d %lu:%lu flags %d\n", fd, static_cast<unsigned long>(info.st_dev),
                static_cast<unsigned long>(info.st_ino), fcntl(fd, F_GETFD));
  }
}

void PrintStatus() {
  std::ifstream status("/proc/self/status");
  const char* const kWanted[] = {
      "Uid:",    "Gid:",    "Groups:", "SigBlk:", "SigIgn:",     "SigCgt:", "CapInh:",
      "CapPrm:", "CapEff:", "CapBnd:", "CapAmb:", "NoNewPrivs:", "Seccomp:"};
  for (std::string line; std::getline(status, line);) {
    for (const char* wanted : kWanted) {
      if (line.rfind(wanted, 0) == 0)
        std::printf("%s\n", line.c_str());
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const mode_t mask = umask(0);
  umask(mask);
  std::printf("umask %o\n", static_cast<unsigned>(mask));
  for (int i = 1; i < argc; ++i) std::printf("argument %s\n", argv[i]);
  char directory[4096];
  std::printf("directory %s\n", getcwd(directory, sizeof directory));
  std::vector<std::string> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) environment.emplace_back(*entry);
  for (const std::string& entry : environment) std::printf("environment %s\n", entry.c_str());
  for (int resource = 0; resource < 16; ++resource) {
    rlimit limit{};
    getrlimit(static_cast<__rlimit_resource>(resource), &limit);
    std::printf("limit %d %lu %lu\n", resource, static_cast<unsigned long>(limit.rlim_cur),
                static_cast<unsigned long>(limit.rlim_max));
  }
  std::string score;
  std::getline(std::ifstream("/proc/self/oom_score_adj"), score);
  std::printf("oom_score_adj %s\n", score.c_str());
  std::printf("group %d session %d\n", getpgrp(), getsid(0));
  std::printf("dumpable %d\n", prctl(PR_GET_DUMPABLE));
  std::printf("death signal %d\n", [] {
    int signal = 0;
    prctl(PR_GET_PDEATHSIG, &signal);
    return signal;
  }());
  PrintDescriptors();
  PrintStatus();
  return 0;
}
