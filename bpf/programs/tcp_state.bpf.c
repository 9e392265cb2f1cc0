// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/*
 * What becomes of a connection: the SYN goes out, it is established, retried, the peer closes its
 * half, it fails.
 *
 * Sees: the sockops callbacks of every TCP socket of the boundary; those without an entry in
 * `flows` (accepted ones among them) cost one look-up each. State and retransmission callbacks
 * are asked for per socket when it starts to connect, so other sockets never call them.
 *
 * Why sockops: per cgroup, no trampoline, and sk_err is readable at the change of state on every
 * kernel from 5.10. It must be read there: the address and port members are cleared right after,
 * and at destroy the error is gone. At SYN_SENT -> CLOSE the local port is 0 already.
 *
 * The order on all kernels tried:
 *   refused          SYN_SENT -> CLOSE with 111, later release in CLOSE
 *   cancelled        release in SYN_SENT, then SYN_SENT -> CLOSE with 0
 *   timed out        RTO and RETRANS, then SYN_SENT -> CLOSE with 110
 *   reset by peer    ESTABLISHED -> CLOSE with 104 (32 from CLOSE_WAIT)
 *   failed at once   none of these: release in CLOSE alone
 *   disconnected     connect(AF_UNSPEC): SYN_SENT or ESTABLISHED -> CLOSE with 0, no release
 *   closed both ways by shutdown(): FIN_WAIT2, CLOSING or LAST_ACK -> CLOSE with 0, then release
 * A change to CLOSE without error from the last three states is no end: the owner still holds the
 * socket, and its release will end the flow.
 *
 * Cannot see: sockets that were established before the program was attached (no callback flags).
 * A conversation that cannot be made is counted and leaves the flow without its bytes (hole).
 */
#include "bpf/lib/flow.bpf.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>

#define TCP_FIN_WAIT1 4
#define TCP_FIN_WAIT2 5
#define TCP_LAST_ACK 9
#define TCP_CLOSING 11

#define CALLBACKS (BPF_SOCK_OPS_STATE_CB_FLAG | BPF_SOCK_OPS_RETRANS_CB_FLAG)

static __always_inline int socket_error(struct bpf_sock_ops* ctx) {
  struct bpf_sock* sk = ctx->sk;
  struct tcp_sock* tcp = sk ? bpf_skc_to_tcp_sock(sk) : NULL;
  return tcp ? tcp->inet_conn.icsk_inet.sk.sk_err : 0;
}

static __always_inline void start_conversation(struct bpf_sock_ops* ctx, struct rl_flow* flow) {
  struct bpf_sock* sk = ctx->sk;
  if (!sk)
    return;
  struct rl_scan* scan = bpf_sk_storage_get(&conversations, sk, NULL, BPF_SK_STORAGE_GET_F_CREATE);
  if (!scan) {
    emit_count_loss(&flow->scope, RL_DROP_MAP_FULL);
    flow->hole[0] = 1;
    flow->settled = 1;
    return;
  }
  if (flow->asked.port == RL_DNS_PORT)
    rl_conversation_start_dns(&scan->conversation);
  flow->scanned = 1;
}

static __always_inline void on_established(struct bpf_sock_ops* ctx, struct rl_flow* flow) {
  flow_announce(flow, RL_FLOW_CONNECTING);
  if (flow_move(flow, RL_PHASES(RL_FLOW_ASKED) | RL_PHASES(RL_FLOW_CONNECTING),
                RL_FLOW_ESTABLISHED) < 0)
    return;
  flow->established = 1;
  flow_forget_thread(flow);
  if (!flow->scanned)
    start_conversation(ctx, flow);
  struct rl_ev_established* ev =
      emit_reserve_fixed(&flow->scope, RL_EV_ESTABLISHED, struct rl_ev_established);
  if (!ev)
    return;
  ev->cookie = flow->cookie;
  ev->local.port = (__u16)ctx->local_port;
  ev->remote.port = (__u16)bpf_ntohl(ctx->remote_port);
  if (ctx->family == RL_AF_INET6) {
    flow_address_v6(&ev->local, ctx->local_ip6);
    flow_address_v6(&ev->remote, ctx->remote_ip6);
    ev->local.scope_id = flow->asked.scope_id;
    ev->remote.scope_id = flow->asked.scope_id;
  } else {
    flow_address_v4(&ev->local, ctx->local_ip4);
    flow_address_v4(&ev->remote, ctx->remote_ip4);
  }
  emit_submit(ev);
}

static __always_inline int closes_after_both_fins(int from) {
  return from == TCP_FIN_WAIT2 || from == TCP_CLOSING || from == TCP_LAST_ACK;
}

static __always_inline void on_closed(struct bpf_sock_ops* ctx, struct rl_flow* flow, int from) {
  int error = socket_error(ctx);
  if (!error && closes_after_both_fins(from)) {
    flow_emit_peer_fin(flow);
    return;
  }
  /* Without an error it was the owner, by disconnecting; but a SYN that never left the socket and
   * was not repeated is a failure inside connect(). */
  int is_disconnect =
      !error && (from != RL_TCP_SYN_SENT || flow->syn_seen || flow->retransmits > 0);
  struct rl_ending ending = {
      .bytes_received = ctx->bytes_received,
      .bytes_acked = ctx->bytes_acked,
      .error = error,
      .cause = is_disconnect ? RL_END_RELEASED : RL_END_FAILED,
      .state = (__u8)from,
      .reset_received = error == ECONNRESET || error == ECONNREFUSED || error == EPIPE,
  };
  struct bpf_sock* sk = ctx->sk;
  struct rl_scan* scan = sk ? bpf_sk_storage_get(&conversations, sk, NULL, 0) : NULL;
  flow_end(flow, scan ? &scan->conversation : NULL, &ending);
}

static __always_inline void on_state(struct bpf_sock_ops* ctx, struct rl_flow* flow) {
  int from = (int)ctx->args[0];
  int to = (int)ctx->args[1];
  if (flow->phase == RL_FLOW_ENDED)
    return;
  if (to == TCP_FIN_WAIT1)
    flow->owner_fin = 1;
  else if (to == RL_TCP_CLOSE_WAIT || to == TCP_CLOSING)
    flow_emit_peer_fin(flow);
  else if (to == RL_TCP_CLOSE)
    on_closed(ctx, flow, from);
}

static __always_inline void on_syn(struct bpf_sock_ops* ctx, struct rl_flow* flow) {
  if (flow_move(flow, RL_PHASES(RL_FLOW_ASKED), RL_FLOW_CONNECTING) < 0)
    return;
  struct rl_connecting* connecting = flow_connecting(flow);
  if (connecting)
    connecting->syn_sent = 1;
}

SEC("sockops")
int on_tcp_state(struct bpf_sock_ops* ctx) {
  __u32 op = ctx->op;
  if (op != BPF_SOCK_OPS_TCP_CONNECT_CB && op != BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB &&
      op != BPF_SOCK_OPS_STATE_CB && op != BPF_SOCK_OPS_RETRANS_CB)
    return 1;
  struct bpf_sock* sk = ctx->sk;
  if (!sk)
    return 1;
  struct rl_flow* flow = bpf_sk_storage_get(&flows, sk, NULL, 0);
  if (!flow)
    return 1;
  switch (op) {
    case BPF_SOCK_OPS_TCP_CONNECT_CB:
      if (bpf_sock_ops_cb_flags_set(ctx, CALLBACKS))
        emit_count_loss(&flow->scope, RL_DROP_HELPER_FAILED);
      on_syn(ctx, flow);
      break;
    case BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB:
      if (flow->phase == RL_FLOW_UNANNOUNCED)
        bpf_sock_ops_cb_flags_set(ctx, CALLBACKS);
      on_established(ctx, flow);
      break;
    case BPF_SOCK_OPS_STATE_CB:
      on_state(ctx, flow);
      break;
    default:
      flow->retransmits++;
      break;
  }
  return 1;
}
