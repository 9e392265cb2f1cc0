/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * rl_conversation_byte() of bpf/pure as a global function, defined once in
 * bpf/programs/scanners.bpf.c: the verifier looks at each scanner once, on its own, instead of
 * along every path that leads to it (on_ssl_read: 115,000 instructions walked before). In the floor
 * object it is inlined: before 5.12 a global function may not be given memory.
 */
#ifndef ROUTELENS_BPF_LIB_SCANNERS_BPF_H
#define ROUTELENS_BPF_LIB_SCANNERS_BPF_H

#include "bpf/pure/conversation_state.h"

#ifdef RL_FLOOR

#include "bpf/pure/conversation.h"

static __always_inline __u32 scanners_byte(struct rl_conversation* c, __u32 direction, __u32 byte) {
  return rl_conversation_byte(c, direction & 1, rl_low8(byte));
}

#else

extern __u32 scanners_byte(struct rl_conversation* c, __u32 direction, __u32 byte);

#endif

#endif
