/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * Who is running now, as struct rl_owner. Process context only. A read that fails leaves 0, which
 * means "unknown" in every member.
 */
#ifndef ROUTELENS_BPF_LIB_OWNER_BPF_H
#define ROUTELENS_BPF_LIB_OWNER_BPF_H

#include "bpf/abi/events.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

static __always_inline __u64 owner_start_boot_ns(struct task_struct* task) {
  return BPF_CORE_READ(task, group_leader, start_boottime);
}

static __always_inline void owner_fill(struct rl_owner* owner) {
  __u64 pid_tgid = bpf_get_current_pid_tgid();
  owner->tgid = (__u32)(pid_tgid >> 32);
  owner->tid = (__u32)pid_tgid;
  owner->cgroup_id = bpf_get_current_cgroup_id();
  owner->start_boot_ns = owner_start_boot_ns((struct task_struct*)bpf_get_current_task());
  bpf_get_current_comm(owner->comm, sizeof(owner->comm));
}

#endif
