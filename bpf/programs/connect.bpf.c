// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/*
 * A process asks for a connection, or sends a DNS question.
 *
 * Sees: every connect() on an IPv4 or IPv6 TCP socket of a boundary, also from io_uring, before
 * the kernel looks for a route and before any policy program behind us may redirect it; connect()
 * and sendto()/sendmsg() on UDP sockets when port 53 is asked for. DNS is known by the port that
 * was asked for: redirections to another port happen later.
 *
 * Why here: process context, so the owner is exact; per cgroup, so the rest of the host pays
 * nothing; no kprobe and no trampoline, so it loads under lockdown. The socket's source port is
 * still 0 and its addresses are unset: only the cookie identifies it.
 *
 * Cannot see: whether connect() then succeeds (tcp_state.bpf.c), fails at once
 * (connect_error.bpf.c, and release.bpf.c for the fact alone), or is denied by a program that runs
 * after ours. Programs of inner cgroups run before those of outer ones, within one cgroup in order
 * of attachment. connect() with AF_UNSPEC runs no hook. MPTCP sockets are not TCP sockets here.
 *
 * A socket may connect again after a failure, and a UDP socket at any time: what was open is ended
 * first, then a new attempt begins on the same cookie.
 *
 * Always returns 1: an earlier denial stands whatever we return, and we never add one.
 * When socket storage cannot be had, the loss is counted and the attempt is invisible.
 * bpf_get_retval() came with 5.18: programs that use it are the first rung, the plain ones the
 * second. An IPv6 program may not read user_ip4, so each family has its own source.
 */
#include "bpf/lib/flow.bpf.h"
#include "bpf/lib/scope.bpf.h"

#include <bpf/bpf_endian.h>

static __always_inline void asked_address(struct bpf_sock_addr* ctx, int v6,
                                          struct rl_address* address) {
  __builtin_memset(address, 0, sizeof(*address));
  address->port = bpf_ntohs((__u16)ctx->user_port);
  if (!v6) {
    flow_address_v4(address, ctx->user_ip4);
    return;
  }
  flow_address_v6(address, ctx->user_ip6);
  if (address->addr[0] == 0xfe && (address->addr[1] & 0xc0) == 0x80)
    address->scope_id = ctx->sk ? ctx->sk->bound_dev_if : 0;
}

static __always_inline void fill_flow(struct bpf_sock_addr* ctx, int v6,
                                      const struct rl_scope* scope, struct rl_flow* flow) {
  owner_fill(&flow->owner);
  flow->cookie = bpf_get_socket_cookie(ctx);
  flow->netns_cookie = bpf_get_netns_cookie(ctx);
  asked_address(ctx, v6, &flow->asked);
  flow->scope = *scope;
  flow->protocol = (__u8)ctx->protocol;
  flow->family = (__u8)ctx->family;
}

/* What the last attempt left behind; `phase` and `lock` are not touched. */
static __always_inline void clear_attempt(struct rl_flow* flow) {
  flow->last_receive_boot_ns = 0;
  flow->retransmits = 0;
  flow->seq_known[0] = 0;
  flow->seq_known[1] = 0;
  flow->hole[0] = 0;
  flow->hole[1] = 0;
  flow->syn_seen = 0;
  flow->established = 0;
  flow->peer_fin = 0;
  flow->owner_fin = 0;
  flow->reset_received = 0;
  flow->reset_sent = 0;
  flow->scanned = 0;
  flow->answered = 0;
  flow->settled = 0;
}

/* The owner gives up what is open on this socket by asking again. */
static __always_inline void end_open_attempt(struct rl_flow* flow) {
  struct rl_ending ending = {.cause = RL_END_RELEASED, .state = RL_TCP_CLOSE};
  if (flow->phase == RL_FLOW_CONNECTING)
    ending.state = RL_TCP_SYN_SENT;
  else if (flow->phase == RL_FLOW_ESTABLISHED || flow->protocol == IPPROTO_UDP)
    ending.state = RL_TCP_ESTABLISHED;
  else
    ending.no_state_change = 1;
  flow_forget_thread(flow);
  flow_end(flow, NULL, &ending);
}

static __always_inline void remember_thread(struct rl_flow* flow, const struct bpf_sock* sk,
                                            const struct rl_scope* scope) {
  const struct rl_settings* s = settings_get();
  flow->connecting_thread = 0;
  if (!s || !s->connect_error_witness)
    return;
  __u64 thread = bpf_get_current_pid_tgid();
  struct rl_connecting connecting = {
      .cookie = flow->cookie, .sk = (__u64)(unsigned long)sk, .scope = *scope};
  if (bpf_map_update_elem(&connecting_threads, &thread, &connecting, BPF_ANY))
    emit_count_loss(scope, RL_DROP_MAP_FULL);
  else
    flow->connecting_thread = thread;
}

static __always_inline int on_connect(struct bpf_sock_addr* ctx, int v6, int can_see_denial) {
  struct bpf_sock* sk = ctx->sk;
  if (!sk)
    return 1;
  int is_tcp = ctx->protocol == IPPROTO_TCP;
  if (!is_tcp && ctx->protocol != IPPROTO_UDP)
    return 1;
  int is_dns = !is_tcp && bpf_ntohs((__u16)ctx->user_port) == RL_DNS_PORT;
  struct rl_flow* flow = NULL;
  if (!is_tcp && !is_dns) { /* a DNS socket that turns to something else? */
    flow = bpf_sk_storage_get(&flows, sk, NULL, 0);
    if (flow) {
      end_open_attempt(flow);
      flow->settled = 1;
    }
    return 1;
  }
  struct rl_scope scope;
  if (!scope_find_current(&scope))
    return 1;
  flow = bpf_sk_storage_get(&flows, sk, NULL, BPF_SK_STORAGE_GET_F_CREATE);
  if (!flow) {
    emit_count_loss(&scope, RL_DROP_MAP_FULL);
    return 1;
  }
  if ((RL_PHASES_OPEN >> (flow->phase & 31)) & 1)
    end_open_attempt(flow);
  if (flow->scanned)
    bpf_sk_storage_delete(&conversations, sk);
  clear_attempt(flow);
  fill_flow(ctx, v6, &scope, flow);
  flow->connect_flags = can_see_denial && bpf_get_retval() < 0 ? RL_CONNECT_DENIED : 0;
  flow_move(flow, RL_PHASES(RL_FLOW_NONE) | RL_PHASES(RL_FLOW_ENDED), RL_FLOW_ASKED);
  flow_emit_connect(flow, flow->connect_flags);
  if (is_tcp)
    remember_thread(flow, sk, &scope);
  return 1;
}

/* Datagrams with an address of their own. A socket that sends elsewhere is no DNS socket until it
 * asks for port 53 again. */
static __always_inline int on_sendmsg(struct bpf_sock_addr* ctx, int v6) {
  struct bpf_sock* sk = ctx->sk;
  if (!sk || ctx->protocol != IPPROTO_UDP)
    return 1;
  struct rl_flow* flow = bpf_sk_storage_get(&flows, sk, NULL, 0);
  if (bpf_ntohs((__u16)ctx->user_port) != RL_DNS_PORT) {
    if (flow)
      flow->settled = 1;
    return 1;
  }
  struct rl_scope scope;
  if (!scope_find_current(&scope))
    return 1;
  if (!flow)
    flow = bpf_sk_storage_get(&flows, sk, NULL, BPF_SK_STORAGE_GET_F_CREATE);
  if (!flow) {
    emit_count_loss(&scope, RL_DROP_MAP_FULL);
    return 1;
  }
  fill_flow(ctx, v6, &scope, flow);
  flow->settled = 0;
  return 1;
}

#ifndef RL_FLOOR
SEC("cgroup/connect4")
int on_connect4_denial(struct bpf_sock_addr* ctx) {
  return on_connect(ctx, 0, 1);
}

SEC("cgroup/connect6")
int on_connect6_denial(struct bpf_sock_addr* ctx) {
  return on_connect(ctx, 1, 1);
}
#endif

SEC("cgroup/connect4")
int on_connect4(struct bpf_sock_addr* ctx) {
  return on_connect(ctx, 0, 0);
}

SEC("cgroup/connect6")
int on_connect6(struct bpf_sock_addr* ctx) {
  return on_connect(ctx, 1, 0);
}

SEC("cgroup/sendmsg4")
int on_sendmsg4(struct bpf_sock_addr* ctx) {
  return on_sendmsg(ctx, 0);
}

SEC("cgroup/sendmsg6")
int on_sendmsg6(struct bpf_sock_addr* ctx) {
  return on_sendmsg(ctx, 1);
}
