// SPDX-License-Identifier: Apache-2.0
#include "userspace/sensor/privileges.h"

#include <seccomp.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <memory>
#include <utility>

#include "base/status_util.h"

namespace routelens {
namespace {

// Loading and attaching.
constexpr std::array<cap_value_t, 4> kNeeded = {CAP_BPF, CAP_PERFMON, CAP_NET_ADMIN,
                                                CAP_SYS_PTRACE};

// DAC_OVERRIDE: images in private directories, removing a cgroup below a delegated one. KILL:
// passing signals on to the invoking user's command. SETUID and SETGID: giving the report its name
// as the invoking user. SYS_RESOURCE: maps count against memlock before 5.11.
constexpr std::array<cap_value_t, 5> kUseful = {CAP_DAC_OVERRIDE, CAP_KILL, CAP_SETUID, CAP_SETGID,
                                                CAP_SYS_RESOURCE};

using CapPtr = std::unique_ptr<std::remove_pointer_t<cap_t>, int (*)(void*)>;

CapPtr Own(cap_t caps) {
  return CapPtr(caps, &::cap_free);
}

bool Permitted(cap_t caps, cap_value_t cap) {
  cap_flag_value_t value = CAP_CLEAR;
  return ::cap_get_flag(caps, cap, CAP_PERMITTED, &value) == 0 && value == CAP_SET;
}

std::string NameOf(cap_value_t cap) {
  char* name = ::cap_to_name(cap);
  std::string text = name != nullptr ? name : std::to_string(cap);
  ::cap_free(name);
  return text;
}

std::vector<cap_value_t> Kept() {
  std::vector<cap_value_t> kept;
  const CapPtr now = Own(::cap_get_proc());
  if (!now)
    return kept;
  for (const cap_value_t cap : kNeeded) {
    if (Permitted(now.get(), cap))
      kept.push_back(cap);
  }
  for (const cap_value_t cap : kUseful) {
    if (Permitted(now.get(), cap))
      kept.push_back(cap);
  }
  return kept;
}

// Drops everything but `kept` from all sets.
absl::Status Keep(const std::vector<cap_value_t>& kept) {
  // The bounding set first: dropping from it needs CAP_SETPCAP. Without that (a capability on the
  // file, not root) the set matters little: no_new_privs already stops every gain by execve.
  const CapPtr before = Own(::cap_get_proc());
  if (before && Permitted(before.get(), CAP_SETPCAP)) {
    for (cap_value_t cap = 0; cap < ::cap_max_bits(); ++cap) ::cap_drop_bound(cap);
  }
  ::cap_reset_ambient();
  const CapPtr after = Own(::cap_init());
  if (!after)
    return ErrnoStatus(errno, "make an empty set of capabilities");
  for (const cap_flag_t flag : {CAP_PERMITTED, CAP_EFFECTIVE}) {
    if (!kept.empty() && ::cap_set_flag(after.get(), flag, static_cast<int>(kept.size()),
                                        kept.data(), CAP_SET) != 0) {
      return ErrnoStatus(errno, "choose capabilities");
    }
  }
  if (::cap_set_proc(after.get()) != 0)
    return ErrnoStatus(errno, "drop capabilities");
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
    return ErrnoStatus(errno, "no_new_privs");
  return absl::OkStatus();
}

}  // namespace

std::vector<std::string> AttacherCapabilities() {
  std::vector<std::string> names;
  for (const cap_value_t cap : Kept()) names.push_back(NameOf(cap));
  return names;
}

std::vector<std::string> MissingCapabilities() {
  std::vector<std::string> names;
  const CapPtr now = Own(::cap_get_proc());
  for (const cap_value_t cap : kNeeded) {
    if (!now || !Permitted(now.get(), cap))
      names.push_back(NameOf(cap));
  }
  return names;
}

absl::Status ConfineAttacher() {
  return Keep(Kept());
}

absl::Status ConfineAnalyst() {
  RL_RETURN_IF_ERROR(Keep({}));
  if (::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0)
    return ErrnoStatus(errno, "not dumpable");

  const std::unique_ptr<void, void (*)(void*)> filter(::seccomp_init(SCMP_ACT_ERRNO(EPERM)),
                                                      &::seccomp_release);
  if (!filter)
    return absl::InternalError("cannot make a seccomp filter");
  static constexpr int kAllowed[] = {
      // descriptors that are open already
      SCMP_SYS(read),
      SCMP_SYS(readv),
      SCMP_SYS(write),
      SCMP_SYS(writev),
      SCMP_SYS(pwrite64),
      SCMP_SYS(lseek),
      SCMP_SYS(fsync),
      SCMP_SYS(fdatasync),
      SCMP_SYS(ftruncate),
      SCMP_SYS(close),
      SCMP_SYS(fstat),
      SCMP_SYS(newfstatat),
      // the watch socket and the channel to the attacher
      SCMP_SYS(accept4),
      SCMP_SYS(recvfrom),
      SCMP_SYS(recvmsg),
      SCMP_SYS(sendto),
      SCMP_SYS(sendmsg),
      SCMP_SYS(shutdown),
      // waiting
      SCMP_SYS(epoll_create1),
      SCMP_SYS(timerfd_create),
      SCMP_SYS(epoll_wait),
      SCMP_SYS(epoll_pwait),
      SCMP_SYS(epoll_ctl),
      SCMP_SYS(poll),
      SCMP_SYS(ppoll),
      SCMP_SYS(timerfd_settime),
      SCMP_SYS(clock_gettime),
      SCMP_SYS(clock_nanosleep),
      SCMP_SYS(nanosleep),
      SCMP_SYS(restart_syscall),
      // memory
      SCMP_SYS(brk),
      SCMP_SYS(munmap),
      SCMP_SYS(mremap),
      SCMP_SYS(madvise),
      SCMP_SYS(getrandom),
      SCMP_SYS(futex),
      SCMP_SYS(sched_yield),
      // ending
      SCMP_SYS(rt_sigreturn),
      SCMP_SYS(rt_sigaction),
      SCMP_SYS(rt_sigprocmask),
      SCMP_SYS(getpid),
      SCMP_SYS(gettid),
      SCMP_SYS(exit),
      SCMP_SYS(exit_group),
  };
  for (const int call : kAllowed) {
    if (::seccomp_rule_add(filter.get(), SCMP_ACT_ALLOW, call, 0) != 0) {
      return absl::InternalError("cannot add a rule to the seccomp filter");
    }
  }
  // Memory for data, never for code; never a new mapping of a file that could be code.
  for (const int call : {SCMP_SYS(mmap), SCMP_SYS(mprotect)}) {
    if (::seccomp_rule_add(filter.get(), SCMP_ACT_ALLOW, call, 1,
                           SCMP_A2(SCMP_CMP_MASKED_EQ, 4 /* PROT_EXEC */, 0)) != 0) {
      return absl::InternalError("cannot add a rule to the seccomp filter");
    }
  }
  // abort() signals the thread it runs on; as root any other process could be signalled too.
  if (::seccomp_rule_add(filter.get(), SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 1,
                         SCMP_A0(SCMP_CMP_EQ, static_cast<scmp_datum_t>(::getpid()))) != 0) {
    return absl::InternalError("cannot add a rule to the seccomp filter");
  }
  const int error = ::seccomp_load(filter.get());
  if (error != 0)
    return ErrnoStatus(-error, "load the seccomp filter");
  return absl::OkStatus();
}

}  // namespace routelens
