// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/*
 * The bytes of a watched socket, as they leave the host's sockets and arrive at them: TLS records
 * and first flights, HTTP heads in the clear, DNS over TCP and UDP; and whether a SYN left at all.
 *
 * Why cgroup_skb: per cgroup, the socket is at hand, it loads everywhere; it sees what the socket
 * really sent, also from io_uring, splice and kernel TLS (which it sees encrypted).
 *
 * A settled flow, nearly all packets, costs one storage look-up. Sockets without an entry in
 * `flows` (outside, accepted, not DNS) cost the same.
 *
 * Order: egress runs under the socket's lock, so packets come one by one, retransmissions too.
 * Ingress runs before the lock is taken, so packets of one connection may race on two CPUs: `busy`
 * lets one in, the other waits a moment, then gives up (hole). Egress and ingress share the
 * conversation without a lock; it is made for that. TCP sequence numbers place each segment: what
 * was seen before is passed over, a gap that needs a look is a hole. The hook lies before TCP's
 * reordering, so a segment that overtakes another is a gap too. After a hole nothing is claimed.
 *
 * nft `drop` and `reject` in OUTPUT act before egress sees the packet: then no SYN is seen.
 *
 * A connection older than the sensor is read from the first egress packet that begins like an HTTP
 * request or a ClientHello; what it sends before that is not looked at, nor is TLS that has begun.
 *
 * Always returns 1: packets are never dropped or changed.
 */
#include "bpf/lib/dns_datagram.bpf.h"
#include "bpf/lib/scan.bpf.h"

#define BUSY_TRIES 64
#define PEEK_BYTES 8

/* Given back by clearing `busy`. Global, so that the verifier walks the tries once. */
__noinline int claim_direction(struct __sk_buff* skb, __u32 direction) {
  struct rl_flow* flow = flow_of_packet(skb);
  __u8 dir = direction & 1;
  if (!flow)
    return 0;
  for (int i = 0; i < BUSY_TRIES; i++) {
    bpf_spin_lock(&flow->lock);
    __u8 busy = flow->busy[dir];
    flow->busy[dir] = 1;
    bpf_spin_unlock(&flow->lock);
    if (!busy)
      return 1;
  }
  return 0;
}

static __always_inline void settle(struct bpf_sock* sk, struct rl_flow* flow,
                                   struct rl_scan* scan) {
  if (rl_conversation_served(&scan->conversation))
    flow->answered = 1;
  if (rl_conversation_is_lost(&scan->conversation))
    flow->hole[0] = 1;
  flow->settled = 1;
  bpf_sk_storage_delete(&conversations, sk);
}

/* Does this packet begin with something we can read from its start? Settles when it never will. */
static __always_inline int begins_readable(struct __sk_buff* skb, struct rl_flow* flow,
                                           const struct rl_segment* segment) {
  __u8 head[PEEK_BYTES];
  if (segment->length < sizeof(head) ||
      bpf_skb_load_bytes(skb, segment->offset, head, sizeof(head)))
    return 0;
  if (head[0] >= 20 && head[0] <= 23 && head[1] == 3) {
    int is_hello = head[0] == 22 && head[5] == 1; /* a handshake record with a ClientHello */
    if (!is_hello)
      flow->settled = 1;
    return is_hello;
  }
  for (int i = 0; i < PEEK_BYTES; i++) {
    if (head[i] == ' ')
      return i >= 3;
    if (head[i] < 'A' || head[i] > 'Z')
      return 0;
  }
  return 0;
}

/* The conversation of this socket; made here only for a flow older than the sensor. */
static __always_inline struct rl_scan* find_scan(struct __sk_buff* skb, struct bpf_sock* sk,
                                                 struct rl_flow* flow, __u8 dir,
                                                 const struct rl_segment* segment) {
  if (flow->scanned || !(flow->connect_flags & RL_CONNECT_PREEXISTING))
    return bpf_sk_storage_get(&conversations, sk, NULL, 0);
  if (dir != RL_EGRESS || !begins_readable(skb, flow, segment))
    return NULL;
  struct rl_scan* scan = bpf_sk_storage_get(&conversations, sk, NULL, BPF_SK_STORAGE_GET_F_CREATE);
  if (!scan) {
    emit_count_loss(&flow->scope, RL_DROP_MAP_FULL);
    flow->settled = 1;
    return NULL;
  }
  flow->seq_known[RL_EGRESS] = 0;
  flow->seq_known[RL_INGRESS] = 0;
  flow->scanned = 1;
  return scan;
}

/* Places the segment; returns how many of its first bytes were seen before, -1 for a gap. */
static __always_inline __s32 place(struct rl_flow* flow, struct rl_scan* scan, __u8 dir,
                                   const struct rl_segment* segment) {
  if (!flow->seq_known[dir]) {
    flow->next_seq[dir] = segment->seq;
    flow->seq_known[dir] = 1;
  }
  __s32 ahead = (__s32)(segment->seq - flow->next_seq[dir]);
  if (ahead <= 0)
    return -ahead < 0 ? (__s32)segment->length : -ahead;
  struct rl_conversation* c = &scan->conversation;
  __u32 missed = (__u32)ahead;
  if (rl_conversation_skippable(c, dir, missed) < missed || rl_conversation_take(c, dir, missed))
    return -1;
  rl_conversation_skip(c, dir, missed);
  return 0;
}

static __always_inline void on_payload(struct __sk_buff* skb, struct bpf_sock* sk,
                                       struct rl_flow* flow, __u8 dir,
                                       const struct rl_segment* segment) {
  struct rl_scan* scan = find_scan(skb, sk, flow, dir, segment);
  if (!scan)
    return;
  if (!claim_direction(skb, dir)) {
    scan_miss(flow, scan, dir);
    return;
  }
  __s32 seen = place(flow, scan, dir, segment);
  if (seen < 0)
    scan_miss(flow, scan, dir);
  else if ((__u32)seen < segment->length)
    scan_payload(skb, flow, scan, dir, segment->offset + (__u32)seen,
                 segment->offset + segment->length);
  if (seen < 0 || (__u32)seen < segment->length)
    flow->next_seq[dir] = segment->seq + segment->length;
  flow->busy[dir] = 0;
  if (rl_conversation_settled(&scan->conversation))
    settle(sk, flow, scan);
}

/* sockops has no say over a connection older than the sensor. */
static __always_inline void on_preexisting_close(struct rl_flow* flow, __u8 flags) {
  if (flags & RL_TCP_FIN)
    flow_emit_peer_fin(flow);
  if (!(flags & RL_TCP_RST))
    return;
  struct rl_ending ending = {.error = ECONNRESET,
                             .cause = RL_END_FAILED,
                             .state = RL_TCP_ESTABLISHED,
                             .reset_received = 1};
  flow_end(flow, NULL, &ending);
}

static __always_inline void on_tcp(struct __sk_buff* skb, struct bpf_sock* sk, struct rl_flow* flow,
                                   __u8 dir) {
  struct rl_segment segment;
  if (packet_segment(skb, &segment)) {
    struct rl_scan* scan = bpf_sk_storage_get(&conversations, sk, NULL, 0);
    if (scan)
      scan_miss(flow, scan, dir);
    return;
  }
  if (segment.flags & RL_TCP_SYN) {
    if (dir == RL_EGRESS) {
      flow->syn_seen = 1;
      flow_prove_egress(flow);
    }
    flow->next_seq[dir] = segment.seq;
    flow->seq_known[dir] = 1;
    return;
  }
  if (segment.length) {
    if (dir == RL_INGRESS)
      flow->last_receive_boot_ns = bpf_ktime_get_boot_ns();
    on_payload(skb, sk, flow, dir, &segment);
  }
  if (dir == RL_INGRESS && (flow->connect_flags & RL_CONNECT_PREEXISTING))
    on_preexisting_close(flow, segment.flags);
}

static __always_inline int on_packet(struct __sk_buff* skb, __u8 dir) {
  struct bpf_sock* sk = skb->sk;
  if (!sk)
    return 1;
  struct rl_flow* flow = bpf_sk_storage_get(&flows, sk, NULL, 0);
  if (!flow)
    return 1;
  if (flow->phase == RL_FLOW_UNANNOUNCED)
    flow_announce(flow, flow->established ? RL_FLOW_ESTABLISHED : RL_FLOW_CONNECTING);
  if (flow->settled)
    return 1;
  if (flow->protocol == IPPROTO_UDP)
    dns_on_datagram(skb, dir);
  else
    on_tcp(skb, sk, flow, dir);
  return 1;
}

SEC("cgroup_skb/egress")
int on_egress(struct __sk_buff* skb) {
  return on_packet(skb, RL_EGRESS);
}

SEC("cgroup_skb/ingress")
int on_ingress(struct __sk_buff* skb) {
  return on_packet(skb, RL_INGRESS);
}
