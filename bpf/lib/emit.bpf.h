/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * The one door through which records leave the kernel.
 *
 * emit_reserve() gives room in the ring with the header filled and the fixed part zeroed, or counts
 * the loss and returns NULL; every reserved record must reach emit_submit(). Each record takes the
 * next sequence number of its boundary before room is asked for, so that a lost one leaves a gap.
 *
 * A boundary may make `budget_per_window` records in 10 ms, and only `budget_when_crowded` while
 * more than half of the ring waits for the reader: one sandbox cannot starve the others. The window
 * is kept without a lock; CPUs that race over its start let a few records more pass, never fewer.
 *
 * Wake-ups cost more than the records. So the reader sleeps on a timer and is woken only when more
 * than a quarter of the ring waits.
 */
#ifndef ROUTELENS_BPF_LIB_EMIT_BPF_H
#define ROUTELENS_BPF_LIB_EMIT_BPF_H

#include "bpf/abi/events.h"
#include "bpf/lib/maps.bpf.h"

static __always_inline const struct rl_settings* settings_get(void) {
  __u32 zero = 0;
  return bpf_map_lookup_elem(&settings, &zero);
}

static __always_inline struct rl_boundary_counters* counters_of(__u32 boundary) {
  return bpf_map_lookup_elem(&counters, &boundary);
}

#define emit_count(counter) ((void)__sync_fetch_and_add(&(counter), 1))

static __always_inline void emit_count_drop(struct rl_boundary_counters* c,
                                            enum rl_drop_cause cause) {
  emit_count(c->dropped);
  emit_count(c->by_cause[cause]);
}

/* For what was lost before a record could be asked for. */
static __always_inline void emit_count_loss(const struct rl_scope* scope,
                                            enum rl_drop_cause cause) {
  struct rl_boundary_counters* c = counters_of(scope->boundary);
  if (c)
    emit_count_drop(c, cause);
}

static __always_inline int emit_within_budget(struct rl_boundary_counters* c, __u64 now) {
  const struct rl_settings* s = settings_get();
  if (!s)
    return 0;
  if (now - c->budget_window_ns > RL_BUDGET_WINDOW_NS) {
    c->budget_window_ns = now;
    c->budget_used = 0;
  }
  __u64 used = c->budget_used;
  emit_count(c->budget_used);
  if (used >= s->budget_per_window)
    return 0;
  if (used < s->budget_when_crowded)
    return 1;
  return bpf_ringbuf_query(&events, BPF_RB_AVAIL_DATA) <
         bpf_ringbuf_query(&events, BPF_RB_RING_SIZE) / 2;
}

/* `bytes` and `head_bytes` must be constants; bytes beyond head_bytes are the caller's to write,
 * and header.size must then be set to what was written. */
static __always_inline void* emit_reserve(const struct rl_scope* scope, __u16 kind, __u32 bytes,
                                          __u32 head_bytes) {
  struct rl_boundary_counters* c = counters_of(scope->boundary);
  if (!c)
    return NULL;
  __u64 now = bpf_ktime_get_boot_ns();
#ifdef RL_FLOOR
  __u64 seq = 0;
  emit_count(c->sequence);
#else
  __u64 seq = __sync_fetch_and_add(&c->sequence, 1) + 1;
#endif
  if (!emit_within_budget(c, now)) {
    emit_count_drop(c, RL_DROP_THROTTLED);
    return NULL;
  }
  struct rl_event_header* header = bpf_ringbuf_reserve(&events, bytes, 0);
  if (!header) {
    emit_count_drop(c, RL_DROP_RING_FULL);
    return NULL;
  }
  emit_count(c->emitted);
  __builtin_memset(header, 0, head_bytes);
  header->boot_ns = now;
  header->seq = seq;
  header->dropped = c->dropped;
  header->boundary = scope->boundary;
  header->kind = kind;
  header->size = (__u16)bytes;
  header->abi_version = RL_ABI_VERSION;
  header->cpu = (__u16)bpf_get_smp_processor_id();
  header->role = scope->role;
  return header;
}

/* The common case: a record of one fixed struct. */
#define emit_reserve_fixed(scope, kind, type) \
  ((type*)emit_reserve(scope, kind, sizeof(type), sizeof(type)))

static __always_inline void emit_submit(void* record) {
  __u64 flags = BPF_RB_NO_WAKEUP;
  if (bpf_ringbuf_query(&events, BPF_RB_AVAIL_DATA) >
      bpf_ringbuf_query(&events, BPF_RB_RING_SIZE) / 4)
    flags = BPF_RB_FORCE_WAKEUP;
  bpf_ringbuf_submit(record, flags);
}

/* Gives room back that could not be filled. */
static __always_inline void emit_discard(void* record, const struct rl_scope* scope) {
  struct rl_boundary_counters* c = counters_of(scope->boundary);
  bpf_ringbuf_discard(record, BPF_RB_NO_WAKEUP);
  if (!c)
    return;
  (void)__sync_fetch_and_add(&c->emitted, (__u64)-1);
  emit_count_drop(c, RL_DROP_HELPER_FAILED);
}

#endif
