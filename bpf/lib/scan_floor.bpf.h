/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * The steps of scan_step.bpf.h in a bounded loop, for kernels without bpf_loop(). Before 5.12 a
 * global function may be given the context and numbers only, so each of these finds the flow again.
 * The verifier walks every turn of a bounded loop: two loops, one within a global function, cost it
 * the sum of their turns instead of the product.
 */
#ifndef ROUTELENS_BPF_LIB_SCAN_FLOOR_BPF_H
#define ROUTELENS_BPF_LIB_SCAN_FLOOR_BPF_H

#include "bpf/lib/scan_step.bpf.h"

#define RL_SCAN_ROUNDS_MAX 64
#define RL_SCAN_ROUND_STEPS 32

static __always_inline struct rl_scan* scan_floor_scan(struct __sk_buff* skb) {
  struct bpf_sock* sk = skb->sk;
  return sk ? bpf_sk_storage_get(&conversations, sk, NULL, 0) : NULL;
}

__noinline __u32 scan_floor_skip(struct __sk_buff* skb, __u32 dir, __u32 at, __u32 left) {
  struct rl_scan* scan = scan_floor_scan(skb);
  return scan ? scan_skip(scan, dir, at, left) : left;
}

__noinline __u32 scan_floor_byte(struct __sk_buff* skb, __u32 dir, __u32 at, __u32 byte) {
  struct rl_scan* scan = scan_floor_scan(skb);
  return scan ? scan_byte(scan, dir, at, byte) : 0;
}

__noinline int scan_floor_flush(struct __sk_buff* skb, __u32 dir) {
  struct rl_flow* flow = flow_of_packet(skb);
  struct rl_scan* scan = scan_floor_scan(skb);
  if (!flow || !scan)
    return 0;
  struct rl_scan_key key = scan_key_of(flow);
  return scan_flush(skb, scan, &key, dir);
}

__noinline int scan_floor_report(struct __sk_buff* skb, __u32 dir, __u32 events) {
  struct rl_flow* flow = flow_of_packet(skb);
  struct rl_scan* scan = scan_floor_scan(skb);
  if (!flow || !scan)
    return 0;
  struct rl_scan_key key = scan_key_of(flow);
  return scan_report(scan, &key, dir, events);
}

__noinline int scan_floor_lose(struct __sk_buff* skb, __u32 dir) {
  struct rl_flow* flow = flow_of_packet(skb);
  struct rl_scan* scan = scan_floor_scan(skb);
  if (!flow || !scan)
    return 0;
  struct rl_scan_key key = scan_key_of(flow);
  emit_count_loss(&key.scope, RL_DROP_HELPER_FAILED);
  flow->hole[dir & 1] = 1;
  return scan_lose(scan, &key, dir);
}

/* Returns where the next step begins. */
__noinline __u32 scan_floor_step(struct __sk_buff* skb, __u32 at, __u32 end, __u32 dir) {
  __u8 byte = 0;
  if (at >= end)
    return end;
  __u32 passed = scan_floor_skip(skb, dir, at, end - at);
  if (passed) {
    if (passed & RL_SCAN_RUN_ENDS)
      scan_floor_flush(skb, dir);
    return at + (passed & ~RL_SCAN_RUN_ENDS);
  }
  if (bpf_skb_load_bytes(skb, at, &byte, 1)) {
    scan_floor_lose(skb, dir);
    return end;
  }
  __u32 events = scan_floor_byte(skb, dir, at, byte);
  if (events & RL_SCAN_RUN_ENDS)
    scan_floor_flush(skb, dir);
  if (events & RL_SCAN_REPORTS)
    scan_floor_report(skb, dir, events);
  return at + 1;
}

__noinline __u32 scan_floor_round(struct __sk_buff* skb, __u32 at, __u32 end, __u32 dir) {
  for (int i = 0; i < RL_SCAN_ROUND_STEPS && at < end; i++) at = scan_floor_step(skb, at, end, dir);
  return at;
}

static __always_inline __u32 scan_run(struct __sk_buff* skb, struct rl_scan* scan,
                                      const struct rl_scan_key* key, __u8 dir, __u32 at,
                                      __u32 end) {
  for (int i = 0; i < RL_SCAN_ROUNDS_MAX && at < end; i++) at = scan_floor_round(skb, at, end, dir);
  scan_floor_flush(skb, dir);
  return at;
}

#endif
