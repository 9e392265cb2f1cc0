// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/*
 * What did connect() return, where the kernel gives no trampoline: libc's own conditional jump
 * right behind the system call, at which rax is the raw result. See connect_error.bpf.c for the
 * other witnesses. At most one is attached.
 *
 * The jump is emulated by the kernel (about 0.5 us for each connect() of the host). Sees programs
 * that use a dynamic glibc; not Go, not static programs, not io_uring.
 */
#include "bpf/lib/connecting.bpf.h"
#include "bpf/lib/user_registers.bpf.h"

SEC("uprobe")
int on_libc_connect(struct user_registers* ctx) {
  __s64 result = (__s64)user_register(ctx, USER_RESULT);
  if (result < 0)
    connecting_returned(result, RL_VIA_LIBC);
  return 0;
}
