/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * Drives one segment's payload through bpf/pure/conversation.h and sends out what it reports.
 *
 * Work for each packet is bounded: 16384 steps, 2048 in the floor object; a step is one byte that
 * needs a look or a whole stretch that needs none. A packet that is not finished by then is a hole.
 *
 * Bytes to be copied out are gathered as a run within the packet and leave as one STREAM record
 * when the run ends, straight from the packet into the ring: per-CPU scratch would be overwritten
 * by a softirq that interrupts an egress program in process context.
 *
 * Full object: bpf_loop() (5.17), the bytes read in small chunks. Floor object: scan_floor.bpf.h.
 */
#ifndef ROUTELENS_BPF_LIB_SCAN_BPF_H
#define ROUTELENS_BPF_LIB_SCAN_BPF_H

#ifdef RL_FLOOR

#include "bpf/lib/scan_floor.bpf.h"

#else

#include "bpf/lib/scan_step.bpf.h"

#define RL_SCAN_STEPS_MAX 16384
#define RL_CHUNK_BYTES 32

struct rl_scan_loop {
  struct __sk_buff* skb;
  struct rl_scan* scan;
  struct rl_scan_key key;
  __u32 at;
  __u32 end;
  __u32 chunk_start;
  __u32 chunk_end;
  __u8 dir;
  __u8 chunk[RL_CHUNK_BYTES];
};

static long scan_loop_step(__u32 index, struct rl_scan_loop* loop) {
  __u8 dir = loop->dir & 1;
  __u32 at = loop->at;
  if (at >= loop->end)
    return 1;
  __u32 left = loop->end - at;
  __u32 passed = scan_skip(loop->scan, dir, at, left);
  if (passed) {
    if (passed & RL_SCAN_RUN_ENDS)
      scan_flush(loop->skb, loop->scan, &loop->key, dir);
    loop->at = at + (passed & ~RL_SCAN_RUN_ENDS);
    return 0;
  }
  if (at >= loop->chunk_end) {
    __u32 length = left < RL_CHUNK_BYTES ? left : RL_CHUNK_BYTES;
    if (packet_load(loop->skb, at, loop->chunk, length, RL_CHUNK_BYTES)) {
      emit_count_loss(&loop->key.scope, RL_DROP_HELPER_FAILED);
      return 1; /* what is left is a hole */
    }
    loop->chunk_start = at;
    loop->chunk_end = at + length;
  }
  __u8 byte = loop->chunk[rl_masked(at - loop->chunk_start, RL_CHUNK_BYTES)];
  __u32 events = scan_byte(loop->scan, dir, at, byte);
  if (events & RL_SCAN_RUN_ENDS)
    scan_flush(loop->skb, loop->scan, &loop->key, dir);
  if (events & RL_SCAN_REPORTS)
    scan_report(loop->scan, &loop->key, dir, events);
  loop->at = at + 1;
  return 0;
}

/* Returns where it stopped; a run that goes on has been flushed. */
static __always_inline __u32 scan_run(struct __sk_buff* skb, struct rl_scan* scan,
                                      const struct rl_scan_key* key, __u8 dir, __u32 at,
                                      __u32 end) {
  struct rl_scan_loop loop = {
      .skb = skb, .scan = scan, .key = *key, .at = at, .end = end, .dir = dir};
  bpf_loop(RL_SCAN_STEPS_MAX, scan_loop_step, &loop, 0);
  scan_flush(skb, scan, key, dir);
  return loop.at;
}

#endif

/* Bytes of this direction were missed: nothing is claimed of them. */
static __always_inline void scan_miss(struct rl_flow* flow, struct rl_scan* scan, __u8 dir) {
  struct rl_scan_key key = scan_key_of(flow);
  flow->hole[dir & 1] = 1;
  scan_lose(scan, &key, dir);
}

/* Reads the payload that lies at at .. end of the packet and is next in order. */
static __always_inline void scan_payload(struct __sk_buff* skb, struct rl_flow* flow,
                                         struct rl_scan* scan, __u8 dir, __u32 at, __u32 end) {
  struct rl_scan_key key = scan_key_of(flow);
  scan->run_length[dir & 1] = 0;
  at = scan_run(skb, scan, &key, dir, at, end);
  if (at < end)
    scan_miss(flow, scan, dir);
}

#endif
