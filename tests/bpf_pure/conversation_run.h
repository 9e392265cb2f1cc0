/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * What the test and conversation_run.bpf.c share: one run of a conversation over some bytes.
 */
#ifndef ROUTELENS_TESTS_BPF_PURE_CONVERSATION_RUN_H
#define ROUTELENS_TESTS_BPF_PURE_CONVERSATION_RUN_H

#include "bpf/pure/conversation_state.h"

#define RL_RUN_BYTES 4096 /* a power of two */

struct rl_conversation_run {
  struct rl_conversation conversation;
  __u32 direction;
  __u32 length; /* bytes of input */
  __u32 at;     /* bytes used */
  __u32 events; /* mask of all events */
  __u32 taken;  /* skipped bytes that were to be copied out */
  __u8 bytes[RL_RUN_BYTES];
};

#endif
