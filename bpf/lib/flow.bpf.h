/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * The life of a flow (bpf/abi/flow.h): changes of phase, and the records that tell of them. A
 * change of phase and its record are one function, so that each connect() has exactly one end
 * whichever hooks race for it: the owner's release and the peer's reset run on two CPUs.
 */
#ifndef ROUTELENS_BPF_LIB_FLOW_BPF_H
#define ROUTELENS_BPF_LIB_FLOW_BPF_H

#include "bpf/lib/emit.bpf.h"
#include "bpf/pure/conversation.h"

#define RL_PHASES(phase) (1U << (phase))
#define RL_PHASES_OPEN                                                                         \
  (RL_PHASES(RL_FLOW_ASKED) | RL_PHASES(RL_FLOW_CONNECTING) | RL_PHASES(RL_FLOW_ESTABLISHED) | \
   RL_PHASES(RL_FLOW_UNANNOUNCED))

/* Moves the flow from one of `from` to `to`; returns the phase it had, or -1 when it had another.
 */
static __always_inline int flow_move(struct rl_flow* flow, __u32 from, __u32 to) {
  bpf_spin_lock(&flow->lock);
  __u32 had = flow->phase & 31;
  int moves = (from >> had) & 1;
  if (moves)
    flow->phase = to;
  bpf_spin_unlock(&flow->lock);
  return moves ? (int)had : -1;
}

/* The flow of this packet's socket. For global functions: a flow holds a spin lock, so it cannot be
 * given to one, which finds it again. */
static __always_inline struct rl_flow* flow_of_packet(struct __sk_buff* skb) {
  struct bpf_sock* sk = skb->sk;
  return sk ? bpf_sk_storage_get(&flows, sk, NULL, 0) : NULL;
}

static __always_inline void flow_address_v4(struct rl_address* address, __u32 ip_be) {
  address->addr[10] = 0xff;
  address->addr[11] = 0xff;
  __builtin_memcpy(&address->addr[12], &ip_be, sizeof(ip_be));
}

/* `words`: a context's array of four. Word by word: "invalid bpf_context access off=48 size=8" is
 * the verifier's answer when clang joins two loads. */
#define flow_address_v6(address, words)                        \
  do {                                                         \
    _Pragma("unroll") for (int word = 0; word < 4; word++) {   \
      __u32 value = (words)[word];                             \
      barrier_var(value);                                      \
      __builtin_memcpy(&(address)->addr[4 * word], &value, 4); \
    }                                                          \
  } while (0)

static __always_inline void flow_emit_connect(const struct rl_flow* flow, __u32 flags) {
  struct rl_boundary_counters* c = counters_of(flow->scope.boundary);
  if (c)
    emit_count(c->started);
  struct rl_ev_connect* ev = emit_reserve_fixed(&flow->scope, RL_EV_CONNECT, struct rl_ev_connect);
  if (!ev)
    return;
  ev->owner = flow->owner;
  ev->cookie = flow->cookie;
  ev->netns_cookie = flow->netns_cookie;
  ev->remote = flow->asked;
  ev->flags = flags;
  ev->protocol = flow->protocol;
  ev->family = flow->family;
  emit_submit(ev);
}

/* A connection that user space found gets its CONNECT record from the first hook that meets it. */
static __always_inline void flow_announce(struct rl_flow* flow, __u32 phase) {
  if (flow->phase == RL_FLOW_UNANNOUNCED &&
      flow_move(flow, RL_PHASES(RL_FLOW_UNANNOUNCED), phase) >= 0)
    flow_emit_connect(flow, flow->connect_flags);
}

struct rl_ending {
  __u64 bytes_received;
  __u64 bytes_acked;
  __s32 error;
  __u8 cause; /* enum rl_end_cause */
  __u8 state;
  __u8 reset_sent;
  __u8 reset_received;
  __u8 no_state_change;
};

static __always_inline __u32 flow_end_flags(const struct rl_flow* flow,
                                            const struct rl_conversation* conversation,
                                            const struct rl_ending* ending,
                                            const struct rl_boundary_counters* c) {
  __u32 flags = 0;
  if (flow->syn_seen)
    flags |= RL_END_SYN_SEEN;
  if (c->egress_packets_seen)
    flags |= RL_END_EGRESS_PROVEN;
  if (flow->peer_fin)
    flags |= RL_END_PEER_FIN;
  if (flow->owner_fin)
    flags |= RL_END_OWNER_FIN;
  if (flow->reset_received || ending->reset_received)
    flags |= RL_END_RESET_RECEIVED;
  if (flow->reset_sent || ending->reset_sent)
    flags |= RL_END_RESET_SENT;
  if (flow->hole[0] || flow->hole[1])
    flags |= RL_END_HOLE;
  if (flow->established)
    flags |= RL_END_ESTABLISHED;
  if (ending->no_state_change)
    flags |= RL_END_NO_STATE_CHANGE;
  if (flow->answered)
    flags |= RL_END_SERVED;
  if (!conversation)
    return flags;
  if (rl_conversation_served(conversation))
    flags |= RL_END_SERVED;
  if (rl_conversation_request_open(conversation))
    flags |= RL_END_REQUEST_OPEN;
  if (rl_conversation_head_open(conversation))
    flags |= RL_END_HEAD_OPEN;
  return flags;
}

/* Ends the attempt, if nobody has. `conversation` may be NULL. */
static __always_inline void flow_end(struct rl_flow* flow,
                                     const struct rl_conversation* conversation,
                                     const struct rl_ending* ending) {
  int had = flow_move(flow, RL_PHASES_OPEN, RL_FLOW_ENDED);
  if (had < 0)
    return;
  flow->settled = 1;
  if (had == RL_FLOW_UNANNOUNCED)
    flow_emit_connect(flow, flow->connect_flags);
  struct rl_boundary_counters* c = counters_of(flow->scope.boundary);
  if (!c)
    return;
  emit_count(c->ended);
  struct rl_ev_flow_end* ev =
      emit_reserve_fixed(&flow->scope, RL_EV_FLOW_END, struct rl_ev_flow_end);
  if (!ev)
    return;
  ev->cookie = flow->cookie;
  ev->bytes_received = ending->bytes_received;
  ev->bytes_acked = ending->bytes_acked;
  ev->last_receive_boot_ns = flow->last_receive_boot_ns;
  ev->retransmits = flow->retransmits;
  ev->flags = flow_end_flags(flow, conversation, ending, c);
  ev->error = ending->error;
  ev->cause = ending->cause;
  ev->state = ending->state;
  emit_submit(ev);
}

/* The entry that connect() left for this flow, while it is there. */
static __always_inline struct rl_connecting* flow_connecting(const struct rl_flow* flow) {
  __u64 thread = flow->connecting_thread;
  struct rl_connecting* found = thread ? bpf_map_lookup_elem(&connecting_threads, &thread) : NULL;
  return found && found->cookie == flow->cookie ? found : NULL;
}

/* Nobody saw connect() return: the entry must not be taken for that of the thread's next socket. */
static __always_inline void flow_forget_thread(struct rl_flow* flow) {
  __u64 thread = flow->connecting_thread;
  if (flow_connecting(flow))
    bpf_map_delete_elem(&connecting_threads, &thread);
  flow->connecting_thread = 0;
}

static __always_inline void flow_emit_peer_fin(struct rl_flow* flow) {
  if (flow->peer_fin)
    return;
  flow->peer_fin = 1;
  struct rl_ev_peer_fin* ev =
      emit_reserve_fixed(&flow->scope, RL_EV_PEER_FIN, struct rl_ev_peer_fin);
  if (!ev)
    return;
  ev->cookie = flow->cookie;
  emit_submit(ev);
}

/* The egress hook has run in this boundary: from now on a SYN that it did not see never left. */
static __always_inline void flow_prove_egress(const struct rl_flow* flow) {
  struct rl_boundary_counters* c = counters_of(flow->scope.boundary);
  if (c && !c->egress_packets_seen)
    c->egress_packets_seen = 1;
}

#endif
