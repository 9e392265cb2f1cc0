/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * How the TLS library programs find what they remember (library_maps.bpf.h), and how they report.
 */
#ifndef ROUTELENS_BPF_LIB_LIBRARY_BPF_H
#define ROUTELENS_BPF_LIB_LIBRARY_BPF_H

#include "bpf/lib/library_maps.bpf.h"
#include "bpf/lib/scope.bpf.h"
#include "bpf/lib/user_registers.bpf.h"

#define HELLO_RANDOM_BYTES 32

static __always_inline void library_key_fill(struct library_key* key, __u64 ssl) {
  key->ssl = ssl;
  key->tgid = (__u32)(bpf_get_current_pid_tgid() >> 32);
  key->pad = 0;
}

static __always_inline struct library_session* library_session_of(__u64 ssl) {
  struct library_key key;
  library_key_fill(&key, ssl);
  return bpf_map_lookup_elem(&library_sessions, &key);
}

static __always_inline struct library_thread* library_thread_known(void) {
  __u64 thread = bpf_get_current_pid_tgid();
  return bpf_map_lookup_elem(&library_threads, &thread);
}

/* Makes the entry when there is none. */
static __always_inline struct library_thread* library_thread_get(const struct rl_scope* scope) {
  struct library_thread* known = library_thread_known();
  if (known)
    return known;
  __u64 thread = bpf_get_current_pid_tgid();
  struct library_thread fresh = {};
  if (bpf_map_update_elem(&library_threads, &thread, &fresh, BPF_ANY))
    emit_count_loss(scope, RL_DROP_MAP_FULL);
  return library_thread_known();
}

static __always_inline void library_forget_errors(struct library_thread* thread) {
  thread->error_count = 0;
  thread->errors_asked = 0;
}

/* Gives the entry back when the thread is in the middle of nothing. */
static __always_inline void library_thread_put(const struct library_thread* t) {
  if (t->starting || t->verifying || t->asked || t->error_count)
    return;
  __u64 thread = bpf_get_current_pid_tgid();
  bpf_map_delete_elem(&library_threads, &thread);
}

static __always_inline struct rl_ev_library* library_reserve(const struct rl_scope* scope, __u8 op,
                                                             __u64 ssl) {
  struct rl_ev_library* ev = emit_reserve_fixed(scope, RL_EV_LIBRARY, struct rl_ev_library);
  if (!ev)
    return NULL;
  owner_fill(&ev->owner);
  ev->ssl = ssl;
  ev->op = op;
  return ev;
}

static __always_inline void library_report(const struct rl_scope* scope, __u8 op, __u64 ssl,
                                           __s64 value, __s32 detail) {
  struct rl_ev_library* ev = library_reserve(scope, op, ssl);
  if (!ev)
    return;
  ev->value = value;
  ev->detail = detail;
  emit_submit(ev);
}

/* Reports the ClientHello's random once the library has had time to write it: at the first call
 * about this SSL* after its place was learnt. */
static __noinline int library_report_random(const struct rl_scope* scope,
                                            struct library_session* session, __u64 ssl) {
  if (!session->random_at)
    return 0;
  struct rl_ev_library* ev = library_reserve(scope, RL_LIB_HELLO_RANDOM, ssl);
  if (!ev)
    return 0;
  if (bpf_probe_read_user(ev->data, HELLO_RANDOM_BYTES, (const void*)session->random_at)) {
    emit_discard(ev, scope);
    return 0;
  }
  session->random_at = 0;
  emit_submit(ev);
  return 0;
}

#endif
