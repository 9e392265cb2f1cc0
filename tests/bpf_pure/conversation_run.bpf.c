// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/*
 * Runs a conversation over bytes that a test puts into a map, as the packet programs do: once in a
 * bpf_loop callback, once in the bounded loop that kernels before 5.17 need. Of the type and with
 * the memory of the real thing (cgroup_skb, a map value), so that loading it shows whether the
 * verifier accepts the scanners and at what cost.
 */
#include "tests/bpf_pure/conversation_run.h"

#include <linux/bpf.h>
#include <linux/types.h>

#include "bpf/pure/conversation.h"

#include <bpf/bpf_helpers.h>

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct rl_conversation_run);
} runs SEC(".maps");

/* One step; returns 1 when the input is used up. */
static __always_inline int run_step(struct rl_conversation_run* run) {
  __u32 at = run->at;
  __u32 length = run->length;
  __u32 skip;
  __u8 dir = run->direction & 1;

  if (at >= length)
    return 1;
  skip = rl_conversation_skippable(&run->conversation, dir, length - at);
  if (skip > 0) {
    run->taken += rl_conversation_take(&run->conversation, dir, skip);
    rl_conversation_skip(&run->conversation, dir, skip);
    run->at = at + skip;
    return 0;
  }
  run->events |=
      rl_conversation_byte(&run->conversation, dir, run->bytes[rl_masked(at, RL_RUN_BYTES)]);
  run->at = at + 1;
  return 0;
}

static long run_step_callback(__u32 index, void* context) {
  struct rl_conversation_run** run = context;

  return run_step(*run);
}

SEC("cgroup_skb/egress")
int run_in_loop(struct __sk_buff* skb) {
  __u32 zero = 0;
  struct rl_conversation_run* run = bpf_map_lookup_elem(&runs, &zero);

  if (run)
    bpf_loop(RL_RUN_BYTES, run_step_callback, &run, 0);
  return 1;
}

/* Not static: a global function is verified once, on its own, so that a loop around it costs the
 * verifier nothing; inlined, 256 steps are more than the million instructions it is ready to walk.
 * On 5.10 such a function can be given the context and numbers, not memory: it looks up its own. */
__noinline int run_step_alone(void) {
  __u32 zero = 0;
  struct rl_conversation_run* run = bpf_map_lookup_elem(&runs, &zero);

  return run ? run_step(run) : 1;
}

SEC("cgroup_skb/egress")
int run_bounded(struct __sk_buff* skb) {
  int i;

  for (i = 0; i < RL_RUN_BYTES; i++) {
    if (run_step_alone())
      break;
  }
  return 1;
}

char _license[] SEC("license") = "Dual BSD/GPL";
