// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/*
 * The scanners of bpf/pure, compiled once for all programs that read conversations: see
 * bpf/lib/scanners.bpf.h. No program of its own. Empty in the floor object.
 */
#include "bpf/lib/scanners.bpf.h"

#include <bpf/bpf_helpers.h>

#ifndef RL_FLOOR

#define RL_SCANNER __noinline
#include "bpf/pure/conversation.h"

__noinline __u32 scanners_byte(struct rl_conversation* c, __u32 direction, __u32 byte) {
  return c ? rl_conversation_byte(c, direction & 1, rl_low8(byte)) : 0;
}

#endif
