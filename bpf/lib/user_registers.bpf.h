/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * The probed program's registers, as a uprobe program's context shows them. The layout is the
 * user-space ABI of each architecture (struct pt_regs of <asm/ptrace.h>, struct user_pt_regs).
 *
 * Each register is copied through a barrier: clang otherwise merges loads of neighbours, or adds
 * the offset to the context first, and the verifier answers "dereference of modified ctx ptr".
 */
#ifndef ROUTELENS_BPF_LIB_USER_REGISTERS_BPF_H
#define ROUTELENS_BPF_LIB_USER_REGISTERS_BPF_H

#include "bpf/lib/kernel_types.bpf.h"

#if defined(__TARGET_ARCH_x86)

struct user_registers {
  __u64 r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax, ip, cs, flags,
      sp, ss;
};
#define USER_ARG1 di
#define USER_ARG2 si
#define USER_ARG3 dx
#define USER_ARG4 cx
#define USER_RESULT ax
#define USER_IP ip
#define USER_FLAGS flags
#define USER_ZERO_FLAG 0x40

#elif defined(__TARGET_ARCH_arm64)

struct user_registers {
  __u64 x[31];
  __u64 sp, pc, pstate;
};
#define USER_ARG1 x[0]
#define USER_ARG2 x[1]
#define USER_ARG3 x[2]
#define USER_ARG4 x[3]
#define USER_RESULT x[0]
#define USER_IP pc
#define USER_FLAGS pstate
#define USER_ZERO_FLAG 0x40000000

#else
#error "registers of this architecture are not known"
#endif

/* user_register(ctx, USER_ARG1) */
#define user_register(ctx, name)             \
  ({                                         \
    __u64 user_value = (ctx)->name;          \
    __asm__ volatile("" : "+r"(user_value)); \
    user_value;                              \
  })

#endif
