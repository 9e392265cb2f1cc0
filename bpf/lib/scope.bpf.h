/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * Is this process inside a boundary, and in which role? Asked before anything else, because most
 * processes of a host are not.
 *
 * A boundary is a cgroup at one of the first eight levels; whatever is nested deeper is inside.
 * Where boundaries are nested in each other the innermost counts. Levels without a boundary are
 * not looked at (settings.cgroup_level_mask). Processes that cgroups cannot tell apart are named
 * one by one in boundary_processes.
 *
 * The helper bpf_get_current_ancestor_cgroup_id() came to tracing programs with 5.14 only, so the
 * floor object reads the same ids from the task.
 */
#ifndef ROUTELENS_BPF_LIB_SCOPE_BPF_H
#define ROUTELENS_BPF_LIB_SCOPE_BPF_H

#include "bpf/lib/emit.bpf.h"
#include "bpf/lib/owner.bpf.h"

/* Id of a cgroup's ancestor at `level`; 0 when it lies less deep. */
static __always_inline __u64 scope_ancestor_id(struct cgroup* cgroup, int level) {
  if (BPF_CORE_READ(cgroup, level) < level)
    return 0;
  struct cgroup___ids* ids = (void*)cgroup;
  if (bpf_core_field_exists(ids->ancestor_ids)) {
    __u64 id = 0;
    bpf_core_read(&id, sizeof(id), (const __u64*)&ids->ancestor_ids + level);
    return id;
  }
  struct cgroup___pointers* pointers = (void*)cgroup;
  struct cgroup* ancestor = NULL;
  bpf_core_read(&ancestor, sizeof(ancestor), (struct cgroup* const*)&pointers->ancestors + level);
  return BPF_CORE_READ(ancestor, kn, id);
}

static __always_inline int scope_copy(const struct rl_scope* found, struct rl_scope* out) {
  if (!found)
    return 0;
  *out = *found;
  return 1;
}

static __always_inline void scope_process_key(struct task_struct* task,
                                              struct rl_process_key* key) {
  __u64 start = owner_start_boot_ns(task);
  key->start_boot_ns = start - start % RL_START_TICK_NS;
  key->tgid = (__u32)BPF_CORE_READ(task, tgid);
  key->pad = 0;
}

static __always_inline int scope_find_process(struct task_struct* task, struct rl_scope* out) {
  struct rl_process_key key;
  scope_process_key(task, &key);
  return scope_copy(bpf_map_lookup_elem(&boundary_processes, &key), out);
}

/* Scope of any task, by reading kernel memory. Returns 1 and fills `out` when inside. */
static __always_inline int scope_find_task(struct task_struct* task, struct rl_scope* out) {
  const struct rl_settings* s = settings_get();
  if (!s)
    return 0;
  if (s->cgroup_level_mask) {
    struct cgroup* cgroup = BPF_CORE_READ(task, cgroups, dfl_cgrp);
    for (int level = RL_MAX_CGROUP_LEVELS - 1; level >= 0; level--) {
      if (!(s->cgroup_level_mask & (1U << level)))
        continue;
      __u64 id = scope_ancestor_id(cgroup, level);
      if (id && scope_copy(bpf_map_lookup_elem(&boundary_cgroups, &id), out))
        return 1;
    }
  }
  return s->pid_scopes && scope_find_process(task, out);
}

/* Scope of the running task. Returns 1 and fills `out` when inside. */
static __always_inline int scope_find_current(struct rl_scope* out) {
#ifdef RL_FLOOR
  return scope_find_task((struct task_struct*)bpf_get_current_task(), out);
#else
  const struct rl_settings* s = settings_get();
  if (!s)
    return 0;
  for (int level = RL_MAX_CGROUP_LEVELS - 1; level >= 0; level--) {
    if (!(s->cgroup_level_mask & (1U << level)))
      continue;
    __u64 id = bpf_get_current_ancestor_cgroup_id(level);
    if (id && scope_copy(bpf_map_lookup_elem(&boundary_cgroups, &id), out))
      return 1;
  }
  return s->pid_scopes && scope_find_process((struct task_struct*)bpf_get_current_task(), out);
#endif
}

#endif
