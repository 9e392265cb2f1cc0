// SPDX-License-Identifier: Apache-2.0
//
// Confinement is one-way: each case runs in a child that tells by its exit status. System calls are
// made raw where libc does more: setuid() in glibc goes to every thread, and a sanitizer has one.
#include "userspace/sensor/privileges.h"

#include <fcntl.h>
#include <sys/capability.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace routelens {
namespace {

// Ends a confined child. Before a call that never returns, as _exit() is, the address sanitizer
// asks for the signal stack, which the filter refuses.
void End(int status) {
  ::syscall(SYS_exit_group, status);
}

// 0 when `body` returned true; its line number else would not tell more.
int InChild(const std::function<bool()>& body) {
  const pid_t pid = ::fork();
  if (pid == 0)
    End(body() ? 0 : 1);
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

bool HasAnyCapability() {
  cap_t caps = ::cap_get_proc();
  bool any = false;
  for (cap_value_t cap = 0; cap < ::cap_max_bits(); ++cap) {
    for (const cap_flag_t flag : {CAP_PERMITTED, CAP_EFFECTIVE, CAP_INHERITABLE}) {
      cap_flag_value_t value = CAP_CLEAR;
      ::cap_get_flag(caps, cap, flag, &value);
      any = any || value == CAP_SET;
    }
    any = any || ::cap_get_ambient(cap) == CAP_SET;
  }
  ::cap_free(caps);
  return any;
}

bool Refused(long result) {
  return result == -1 && errno == EPERM;
}

TEST(Analyst, KeepsNoCapability) {
  EXPECT_EQ(InChild([] { return ConfineAnalyst().ok() && !HasAnyCapability(); }), 0);
}

TEST(Analyst, CannotGainPrivilege) {
  // prctl is beyond the filter: what was set is read from outside.
  int to_child[2];
  int from_child[2];
  ASSERT_EQ(::pipe(to_child), 0);
  ASSERT_EQ(::pipe(from_child), 0);
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::close(to_child[1]);
    const bool good = ConfineAnalyst().ok();
    char byte = good ? 'y' : 'n';
    if (::write(from_child[1], &byte, 1) != 1)
      End(1);
    End(::read(to_child[0], &byte, 1) == 0 ? 0 : 1);
  }
  char answer = 0;
  ASSERT_EQ(::read(from_child[0], &answer, 1), 1);
  EXPECT_EQ(answer, 'y');
  std::ifstream file("/proc/" + std::to_string(pid) + "/status");
  const std::string status{std::istreambuf_iterator<char>(file), {}};
  EXPECT_NE(status.find("NoNewPrivs:\t1\n"), std::string::npos) << status;
  EXPECT_NE(status.find("Seccomp:\t2\n"), std::string::npos) << status;
  for (const int fd : {to_child[0], to_child[1], from_child[0], from_child[1]}) ::close(fd);
  int exit_status = -1;
  ::waitpid(pid, &exit_status, 0);
  EXPECT_EQ(exit_status, 0);
}

TEST(Analyst, CanDoWhatItsLoopNeeds) {
  int fds[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET, 0, fds), 0);
  EXPECT_EQ(InChild([&] {
              if (!ConfineAnalyst().ok())
                return false;
              std::vector<char> memory(64u << 20, 'x');
              memory.resize(128u << 20);
              return ::send(fds[0], "x", 1, MSG_NOSIGNAL) == 1 && ::write(1, "", 0) == 0;
            }),
            0);
  char byte = 0;
  EXPECT_EQ(::recv(fds[1], &byte, 1, MSG_DONTWAIT), 1);
}

TEST(Analyst, CannotOpenConnectExecuteForkTraceOrLoad) {
  EXPECT_EQ(InChild([] {
              if (!ConfineAnalyst().ok())
                return false;
              char* const nothing[] = {nullptr};
              return Refused(::open("/etc/passwd", O_RDONLY)) &&
                     Refused(::socket(AF_INET, SOCK_STREAM, 0)) &&
                     Refused(::execve("/bin/true", nothing, nothing)) &&
                     Refused(::syscall(SYS_fork)) && Refused(::syscall(SYS_clone, 0, 0, 0, 0, 0)) &&
                     Refused(::syscall(SYS_clone3, nullptr, 0)) &&
                     Refused(::syscall(SYS_ptrace, 0, 0, 0, 0)) &&
                     Refused(::syscall(SYS_bpf, 0, nullptr, 0)) &&
                     Refused(::syscall(SYS_process_vm_readv, 1, nullptr, 0, nullptr, 0, 0)) &&
                     Refused(::syscall(SYS_kill, 1, 0)) && Refused(::unlink("/tmp/x")) &&
                     Refused(::rename("/tmp/x", "/tmp/y")) && Refused(::syscall(SYS_setuid, 0)) &&
                     Refused(::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0));
            }),
            0);
}

TEST(Analyst, CanSignalItselfAndNobodyElse) {
  EXPECT_EQ(InChild([] {
              if (!ConfineAnalyst().ok())
                return false;
              const pid_t parent = ::getppid();
              return ::syscall(SYS_tgkill, ::getpid(), ::gettid(), 0) == 0 &&
                     Refused(::syscall(SYS_tgkill, parent, parent, 0));
            }),
            0);
}

TEST(Analyst, CannotMakeMemoryExecutable) {
  EXPECT_EQ(InChild([] {
              if (!ConfineAnalyst().ok())
                return false;
              void* page =
                  ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
              if (page == MAP_FAILED)
                return false;
              if (!Refused(::mprotect(page, 4096, PROT_READ | PROT_EXEC)))
                return false;
              return ::mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                            0) == MAP_FAILED;
            }),
            0);
}

TEST(Attacher, KeepsOnlyWhatAttachingNeeds) {
  if (!MissingCapabilities().empty())
    GTEST_SKIP() << "needs the capabilities of a sensor";
  EXPECT_EQ(InChild([] {
              const std::vector<std::string> kept = AttacherCapabilities();
              if (!ConfineAttacher().ok())
                return false;
              cap_t caps = ::cap_get_proc();
              size_t count = 0;
              for (cap_value_t cap = 0; cap < ::cap_max_bits(); ++cap) {
                cap_flag_value_t value = CAP_CLEAR;
                ::cap_get_flag(caps, cap, CAP_PERMITTED, &value);
                if (value == CAP_SET)
                  ++count;
              }
              ::cap_free(caps);
              return count == kept.size() && ::prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 &&
                     MissingCapabilities().empty();
            }),
            0);
}

TEST(Attacher, LosesTheRestForGood) {
  if (::geteuid() != 0)
    GTEST_SKIP() << "needs root to have something to lose";
  EXPECT_EQ(InChild([] {
              if (!ConfineAttacher().ok())
                return false;
              const bool no_mount = ::syscall(SYS_umount2, "/proc", 0) == -1 && errno == EPERM;
              return no_mount && ::cap_get_bound(CAP_SYS_MODULE) == 0 &&
                     ::cap_get_bound(CAP_SYS_ADMIN) == 0;
            }),
            0);
}

}  // namespace
}  // namespace routelens
