/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * What a thread's connect() returned, told by whichever witness sees it return (one is attached).
 *
 * The connect hook leaves the socket under the thread in connecting_threads; TCP marks the entry
 * when it sends its SYN. An unmarked entry at the return is a failure at once, whose error nobody
 * else tells. A marked one that is under way (EINPROGRESS) may have been answered already: an ICMP
 * error that came while connect() held the socket is not acted on but kept in sk_err_soft
 * (tcp_v4_err(), net/ipv4/tcp_ipv4.c), and getsockopt(SO_ERROR) takes it away. So it is read here.
 *
 * Neither EINPROGRESS nor an interrupted call is a failure by itself.
 */
#ifndef ROUTELENS_BPF_LIB_CONNECTING_BPF_H
#define ROUTELENS_BPF_LIB_CONNECTING_BPF_H

#include "bpf/lib/emit.bpf.h"
#include "bpf/lib/kernel_types.bpf.h"

#include <bpf/bpf_core_read.h>

#define CONNECTING_ERESTARTSYS 512
#define CONNECTING_MAX_ERRNO 4095

/* The socket may have gone since another thread closed it: its cookie says whether it is the same.
 */
static __always_inline int connecting_soft_error(const struct rl_connecting* connecting) {
  struct sock* sk = (struct sock*)connecting->sk;
  if ((__u64)BPF_CORE_READ(sk, __sk_common.skc_cookie.counter) != connecting->cookie)
    return 0;
  return BPF_CORE_READ(sk, sk_err_soft);
}

static __always_inline void connecting_returned(long result, __u8 via) {
  __u64 thread = bpf_get_current_pid_tgid();
  struct rl_connecting* found = bpf_map_lookup_elem(&connecting_threads, &thread);
  if (!found)
    return;
  struct rl_connecting connecting = *found;
  bpf_map_delete_elem(&connecting_threads, &thread);
  if (result >= 0 || result == -EINTR || result <= -CONNECTING_ERESTARTSYS)
    return;
  /* A blocking connect() that failed after its SYN is told by the change of state. */
  int soft = result == -EINPROGRESS;
  if (soft != connecting.syn_sent)
    return;
  int error = soft ? connecting_soft_error(&connecting) : (int)-result;
  if (error <= 0 || error > CONNECTING_MAX_ERRNO)
    return;
  struct rl_ev_connect_error* ev =
      emit_reserve_fixed(&connecting.scope, RL_EV_CONNECT_ERROR, struct rl_ev_connect_error);
  if (!ev)
    return;
  ev->cookie = connecting.cookie;
  ev->error = error;
  ev->via = via;
  ev->soft = (__u8)soft;
  emit_submit(ev);
}

#endif
