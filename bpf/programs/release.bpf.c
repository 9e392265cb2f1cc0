// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/*
 * The owner gives a socket up: close(), or its end.
 *
 * Sees: the last reference to a socket going, in the context of the process that held it, before
 * TCP is told. The state at this moment tells the cases apart: SYN_SENT is a cancelled connect;
 * ESTABLISHED or CLOSE_WAIT an ordinary close; CLOSE without any change of state before is a
 * connect() that failed at once (no route, no local port, denied), cause unknown here.
 *
 * Why this hook: it is per cgroup and runs once for each socket; destroy comes later, without a
 * process, and with the ports gone. A shutdown() is no release.
 *
 * The context of this program type is the kernel's own struct sock, of which the verifier lets only
 * a few members be read. The byte counts are read with bpf_probe_read_kernel() from the same
 * address; the state read this way must equal the one the context shows, else nothing is believed.
 *
 * A close that leaves data unread, or SO_LINGER with 0 s, makes TCP send a reset: that is after
 * this hook, so it is told from the same facts TCP will use (tcp_close(), net/ipv4/tcp.c).
 */
#include "bpf/lib/flow.bpf.h"

#include <bpf/bpf_core_read.h>

static __always_inline int will_reset(struct tcp_sock* tcp, const struct rl_flow* flow) {
  struct sock* sk = (struct sock*)tcp;
  __s32 unread = (__s32)(BPF_CORE_READ(tcp, rcv_nxt) - BPF_CORE_READ(tcp, copied_seq));
  if (unread > (flow->peer_fin ? 1 : 0)) /* a FIN takes one sequence number */
    return 1;
  unsigned long linger = 1UL << (bpf_core_enum_value(enum sock_flags, SOCK_LINGER) & 63);
  return (BPF_CORE_READ(sk, __sk_common.skc_flags) & linger) && !BPF_CORE_READ(sk, sk_lingertime);
}

SEC("cgroup/sock_release")
int on_release(struct bpf_sock* ctx) {
  struct rl_flow* flow = bpf_sk_storage_get(&flows, ctx, NULL, 0);
  if (!flow || !((RL_PHASES_OPEN >> (flow->phase & 31)) & 1))
    return 1;
  __u8 state = (__u8)ctx->state;
  struct rl_ending ending = {.cause = RL_END_RELEASED, .state = state};
  int is_tcp = flow->protocol != IPPROTO_UDP;
  if (state == RL_TCP_CLOSE && (!is_tcp || flow->phase == RL_FLOW_ASKED))
    ending.no_state_change = 1;
  flow_forget_thread(flow);
  struct rl_scan* scan = NULL;
  if (is_tcp && flow->phase != RL_FLOW_ASKED) {
    scan = bpf_sk_storage_get(&conversations, ctx, NULL, 0);
    struct tcp_sock* tcp = (struct tcp_sock*)(void*)ctx;
    struct sock* sk = (struct sock*)(void*)ctx;
    if (BPF_CORE_READ(sk, __sk_common.skc_state) == state) {
      ending.bytes_received = BPF_CORE_READ(tcp, bytes_received);
      ending.bytes_acked = BPF_CORE_READ(tcp, bytes_acked);
      if (state != RL_TCP_SYN_SENT && state != RL_TCP_CLOSE)
        ending.reset_sent = (__u8)will_reset(tcp, flow);
    }
  }
  flow_end(flow, scan ? &scan->conversation : NULL, &ending);
  return 1;
}
