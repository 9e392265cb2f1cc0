// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/*
 * With which error did connect() fail at once? The cgroup hooks see that it failed (release without
 * any change of state) but not why, and "denied by a policy hook" (EPERM) must not look like "no
 * route" (ENETUNREACH).
 *
 * Or has it been told by ICMP, while it goes on? bpf/lib/connecting.bpf.h says how the return is
 * read. Witnesses of the return, in order of preference, at most one of them attached:
 *
 *   fexit of inet_stream_connect   also sees io_uring; refused where trampolines are
 *   libc's connect() by uprobe     library_connect.bpf.c
 *   exit of the system call        tracepoint for every system call of the host: only on demand;
 *                                  not io_uring
 *
 * An entry that nobody asked for (io_uring without fexit) goes when its socket is released.
 *
 * UDP never fails here with a record: its entry is not made.
 */
#include "bpf/lib/connecting.bpf.h"

#include <bpf/bpf_tracing.h>

#define NR_CONNECT_X86_64 42
#define NR_CONNECT_GENERIC 203 /* include/uapi/asm-generic/unistd.h */

SEC("fexit/inet_stream_connect")
int BPF_PROG(on_inet_connect, struct socket* sock, void* address, int length, int flags,
             int result) {
  connecting_returned(result, RL_VIA_FEXIT);
  return 0;
}

static __always_inline int is_connect(void* regs) {
  struct pt_regs___x86* x86 = regs;
  struct pt_regs___arm64* arm64 = regs;
  if (bpf_core_field_exists(x86->orig_ax))
    return BPF_CORE_READ(x86, orig_ax) == NR_CONNECT_X86_64;
  if (bpf_core_field_exists(arm64->syscallno))
    return BPF_CORE_READ(arm64, syscallno) == NR_CONNECT_GENERIC;
  return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(on_syscall_exit, void* regs, long result) {
  if (result >= 0)
    return 0;
  if (!is_connect(regs))
    return 0;
  connecting_returned(result, RL_VIA_SYSCALL_EXIT);
  return 0;
}
