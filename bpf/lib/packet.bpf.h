/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * Where things lie in a packet of a cgroup_skb program, whose data begins at the IP header. Reads
 * with bpf_skb_load_bytes(), because the payload of large packets is not linear.
 *
 * IPv4 options and the IPv6 extension headers that may stand before TCP or UDP are stepped over;
 * what cannot be placed (a later fragment, ESP, a chain of more than RL_EXTENSIONS_MAX) gives 0.
 */
#ifndef ROUTELENS_BPF_LIB_PACKET_BPF_H
#define ROUTELENS_BPF_LIB_PACKET_BPF_H

#include "bpf/abi/abi.h"

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define RL_EXTENSIONS_MAX 6

#define RL_TCP_FIN 0x01
#define RL_TCP_SYN 0x02
#define RL_TCP_RST 0x04
#define RL_TCP_ACK 0x10

/* Loads `length` (1 .. limit, a power of two) bytes. The verifier of 6.1 and before answers
 * "invalid zero-sized read" to a length guarded by if (length), so the range is made by a mask. */
#define packet_load(skb, offset, to, length, limit) \
  bpf_skb_load_bytes(skb, offset, to, (((length)-1) & ((limit)-1)) + 1)

struct rl_segment {
  __u32 seq;    /* of the first payload byte */
  __u32 offset; /* of the payload, from the IP header */
  __u32 length;
  __u8 flags;
};

/* `next`: the first extension header's type. Returns the offset of `protocol`'s header, or 0. */
static __always_inline __u32 packet_after_extensions(struct __sk_buff* skb, __u8 next,
                                                     __u32 protocol) {
  __u32 offset = 40;
  for (int i = 0; i < RL_EXTENSIONS_MAX; i++) {
    __u8 head[4];
    if (next == protocol)
      return offset;
    if (bpf_skb_load_bytes(skb, offset, head, sizeof(head)))
      return 0;
    if (next == 0 || next == 43 || next == 60) /* hop-by-hop, routing, destination options */
      offset += (head[1] + 1U) * 8;
    else if (next == 51) /* authentication header, RFC 4302 section 2.2 */
      offset += (head[1] + 2U) * 4;
    else if (next == 44 && !((head[2] << 8 | head[3]) & 0xfff8)) /* first fragment */
      offset += 8;
    else
      return 0;
    next = head[0];
  }
  return next == protocol ? offset : 0;
}

/* Offset of the transport header when the packet carries `protocol`, else 0. Global, so that the
 * verifier walks the chains of extension headers once. */
__noinline __u32 packet_transport(struct __sk_buff* skb, __u32 protocol) {
  __u8 ip[20];
  if (bpf_skb_load_bytes(skb, 0, ip, sizeof(ip)))
    return 0;
  if (ip[0] >> 4 == 6)
    return packet_after_extensions(skb, ip[6], protocol);
  if (ip[0] >> 4 != 4 || ip[9] != protocol)
    return 0;
  if ((ip[6] & 0x1f) || ip[7]) /* a later fragment has no transport header */
    return 0;
  return (ip[0] & 0xfU) * 4;
}

/* Returns 0 and fills `segment`, or -1. */
static __always_inline int packet_segment(struct __sk_buff* skb, struct rl_segment* segment) {
  __u32 at = packet_transport(skb, IPPROTO_TCP);
  struct {
    __u16 ports[2];
    __u32 seq;
    __u32 ack;
    __u8 data_offset;
    __u8 flags;
    __u16 window;
  } tcp;
  if (!at || bpf_skb_load_bytes(skb, at, &tcp, sizeof(tcp)))
    return -1;
  segment->flags = tcp.flags;
  segment->seq = bpf_ntohl(tcp.seq) + (tcp.flags & RL_TCP_SYN ? 1 : 0);
  segment->offset = at + (tcp.data_offset >> 4) * 4U;
  __u32 packet = skb->len;
  segment->length = packet > segment->offset ? packet - segment->offset : 0;
  return 0;
}

#endif
