/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * Per-boundary counters (mmapable array, one entry for each boundary index) and the settings and
 * scope maps that user space fills. The kernel only ever adds to a counter; user space only reads.
 */
#ifndef ROUTELENS_BPF_ABI_COUNTERS_H
#define ROUTELENS_BPF_ABI_COUNTERS_H

#include "bpf/abi/abi.h"

enum rl_drop_cause {
  RL_DROP_RING_FULL = 0,
  RL_DROP_THROTTLED = 1, /* the boundary's own budget */
  RL_DROP_TOO_LARGE = 2,
  RL_DROP_MAP_FULL = 3,
  RL_DROP_HELPER_FAILED = 4,
  RL_DROP_CAUSES = 5,
};

struct rl_boundary_counters {
  __u64 sequence; /* last sequence number given */
  __u64 emitted;  /* records that reached the ring */
  __u64 dropped;  /* records that did not, all causes */
  __u64 by_cause[RL_DROP_CAUSES];
  __u64 started;             /* connects seen */
  __u64 ended;               /* flow_end made (emitted or dropped): started - ended = pending */
  __u64 egress_packets_seen; /* proves that the egress hook fires; stops counting at 1 */
  __u64 budget_window_ns;    /* token bucket: start of the running window */
  __u64 budget_used;         /* records made in the running window */
};
RL_ABI_ASSERT(sizeof(struct rl_boundary_counters) == 13 * 8, "counters are 104 bytes");

/* Value of the scope maps: cgroup id -> this, and pid + start time -> this. */
struct rl_scope {
  __u32 boundary;
  __u8 role; /* enum rl_role */
  __u8 pad[3];
};
RL_ABI_ASSERT(sizeof(struct rl_scope) == 8, "scope is 8 bytes");

/* /proc tells the start of a process no finer: 1 s / USER_HZ. */
#define RL_START_TICK_NS 10000000ULL

/* Key of the process scopes. */
struct rl_process_key {
  __u64 start_boot_ns; /* floored to RL_START_TICK_NS by whoever writes the map */
  __u32 tgid;
  __u32 pad;
};
RL_ABI_ASSERT(sizeof(struct rl_process_key) == 16, "process key is 16 bytes");

/* One-entry array, written by user space at any time. */
struct rl_settings {
  __u32 cgroup_level_mask;     /* bit n: some boundary's cgroup lies at ancestor level n */
  __u32 pid_scopes;            /* number of entries in the process scope map; 0 skips the look-up */
  __u32 budget_per_window;     /* records one boundary may make in RL_BUDGET_WINDOW_NS */
  __u32 budget_when_crowded;   /* the same while the ring is more than half full */
  __u32 connect_error_witness; /* enum rl_error_witness in use, 0 if none */
  __u32 pad;
};
RL_ABI_ASSERT(sizeof(struct rl_settings) == 24, "settings are 24 bytes");

#define RL_BUDGET_WINDOW_NS 10000000 /* 10 ms */

#endif
