/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * One UDP datagram of a socket that asked for port 53, as a DNS record: up to RL_DNS_MAX bytes,
 * straight from the packet into the ring. What is shorter than a DNS header is none. A datagram
 * that cannot be placed in its packet is counted as a loss.
 */
#ifndef ROUTELENS_BPF_LIB_DNS_DATAGRAM_BPF_H
#define ROUTELENS_BPF_LIB_DNS_DATAGRAM_BPF_H

#include "bpf/lib/flow.bpf.h"
#include "bpf/lib/packet.bpf.h"

#define DNS_HEADER_BYTES 12

#define dns_emit(skb, flow, dir, at, local_port_be, total, limit)                    \
  do {                                                                               \
    struct rl_ev_dns* ev =                                                           \
        emit_reserve(&(flow)->scope, RL_EV_DNS, sizeof(*ev) + (limit), sizeof(*ev)); \
    __u32 length = (total) < (limit) ? (total) : (limit);                            \
    if (!ev)                                                                         \
      break;                                                                         \
    if (packet_load(skb, at, ev->bytes, length, limit)) {                            \
      emit_discard(ev, &(flow)->scope);                                              \
      break;                                                                         \
    }                                                                                \
    ev->owner = (flow)->owner;                                                       \
    ev->cookie = (flow)->cookie;                                                     \
    ev->netns_cookie = (flow)->netns_cookie;                                         \
    ev->remote = (flow)->asked;                                                      \
    ev->local_port = bpf_ntohs(local_port_be);                                       \
    ev->length = (__u16)length;                                                      \
    ev->wire_length = (__u16)(total);                                                \
    ev->direction = dir;                                                             \
    ev->header.size = (__u16)(sizeof(*ev) + length);                                 \
    emit_submit(ev);                                                                 \
  } while (0)

/* Global, so that the verifier walks it once. */
__noinline int dns_on_datagram(struct __sk_buff* skb, __u32 direction) {
  struct rl_flow* flow = flow_of_packet(skb);
  __u8 dir = direction & 1;
  if (!flow)
    return 0;
  __u32 at = packet_transport(skb, IPPROTO_UDP);
  __u16 udp[4];
  if (!at || bpf_skb_load_bytes(skb, at, udp, sizeof(udp))) {
    emit_count_loss(&flow->scope, RL_DROP_HELPER_FAILED);
    return 0;
  }
  at += sizeof(udp);
  __u32 packet = skb->len;
  if (packet < at + DNS_HEADER_BYTES)
    return 0;
  __u32 total = packet - at;
  __u16 local = dir == RL_EGRESS ? udp[0] : udp[1];
  if (dir == RL_EGRESS)
    flow_prove_egress(flow);
  else
    flow->last_receive_boot_ns = bpf_ktime_get_boot_ns();
  if (total <= 256)
    dns_emit(skb, flow, dir, at, local, total, 256);
  else if (total <= 1024)
    dns_emit(skb, flow, dir, at, local, total, 1024);
  else
    dns_emit(skb, flow, dir, at, local, total, RL_DNS_MAX);
  return 0;
}

#endif
