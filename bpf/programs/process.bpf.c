// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/*
 * Processes of a boundary: fork, exec, exit. User space learns of images to probe, and boundaries
 * that are named by process keep their members.
 *
 * Sees: BTF tracepoints of the scheduler, which every kernel from 5.10 has and lockdown permits.
 * They run for the whole host; outside a boundary they cost the scope look-up. Threads are left
 * out: a fork counts when the child leads a thread group, an exit when its last thread goes
 * (signal->live is 0 by then).
 *
 * fork runs in the parent, before the child's first instruction. The child's own cgroup decides, so
 * clone3() with CLONE_INTO_CGROUP is right. For boundaries by process the child inherits the entry
 * of its parent here, and loses it at exit; exec keeps pid and start time.
 *
 * Cannot see: processes that were there before (user space lists them), and a process that is moved
 * into a boundary's cgroup by writing cgroup.procs, until it execs. A full map is counted as a loss
 * of the boundary; the child is then outside.
 */
#include "bpf/lib/scope.bpf.h"

#include <bpf/bpf_tracing.h>

static __always_inline void emit_process(const struct rl_scope* scope, struct task_struct* task,
                                         struct task_struct* parent, __u8 op) {
  struct rl_ev_process* ev = emit_reserve_fixed(scope, RL_EV_PROCESS, struct rl_ev_process);
  if (!ev)
    return;
  ev->owner.start_boot_ns = owner_start_boot_ns(task);
  ev->owner.cgroup_id = BPF_CORE_READ(task, cgroups, dfl_cgrp, kn, id);
  ev->owner.tgid = (__u32)BPF_CORE_READ(task, tgid);
  ev->owner.tid = (__u32)BPF_CORE_READ(task, pid);
  BPF_CORE_READ_STR_INTO(&ev->owner.comm, task, comm);
  ev->parent_tgid = (__u32)BPF_CORE_READ(parent, tgid);
  ev->op = op;
  emit_submit(ev);
}

static __always_inline void inherit_scope(struct task_struct* parent, struct task_struct* child) {
  const struct rl_settings* s = settings_get();
  struct rl_scope scope;
  if (!s || !s->pid_scopes || !scope_find_process(parent, &scope))
    return;
  struct rl_process_key key;
  scope_process_key(child, &key);
  if (bpf_map_update_elem(&boundary_processes, &key, &scope, BPF_ANY))
    emit_count_loss(&scope, RL_DROP_MAP_FULL);
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct* parent, struct task_struct* child) {
  if (BPF_CORE_READ(child, pid) != BPF_CORE_READ(child, tgid))
    return 0;
  inherit_scope(parent, child);
  struct rl_scope scope;
  if (scope_find_task(child, &scope))
    emit_process(&scope, child, parent, RL_PROCESS_FORK);
  return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct* task) {
  struct rl_scope scope;
  if (scope_find_task(task, &scope))
    emit_process(&scope, task, BPF_CORE_READ(task, group_leader, real_parent), RL_PROCESS_EXEC);
  return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct* task) {
  if (BPF_CORE_READ(task, signal, live.counter) > 0)
    return 0;
  struct rl_scope scope;
  if (!scope_find_task(task, &scope))
    return 0;
  emit_process(&scope, task, BPF_CORE_READ(task, group_leader, real_parent), RL_PROCESS_EXIT);
  const struct rl_settings* s = settings_get();
  if (!s || !s->pid_scopes)
    return 0;
  struct rl_process_key key;
  scope_process_key(task, &key);
  bpf_map_delete_elem(&boundary_processes, &key);
  return 0;
}
