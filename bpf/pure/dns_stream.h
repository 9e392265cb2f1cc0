/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * DNS over TCP (RFC 7766): every byte is to be copied out, up to RL_DNS_STREAM_MAX for each
 * direction. Messages are put together in user space (userspace/decode/dns_stream.h).
 */
#ifndef ROUTELENS_BPF_PURE_DNS_STREAM_H
#define ROUTELENS_BPF_PURE_DNS_STREAM_H

#include "bpf/pure/conversation_state.h"

RL_PURE __u32 rl_dns_take(const struct rl_scan_side* s, __u32 n) {
  __u32 taken = s->taken;
  __u32 room = taken < RL_DNS_STREAM_MAX ? RL_DNS_STREAM_MAX - taken : 0;

  return n < room ? n : room;
}

RL_PURE void rl_dns_settle_when_full(struct rl_conversation* c) {
  if (c->side[0].taken >= RL_DNS_STREAM_MAX && c->side[1].taken >= RL_DNS_STREAM_MAX)
    c->settled = 1;
}

RL_PURE void rl_dns_skip(struct rl_conversation* c, struct rl_scan_side* s, __u32 n) {
  s->taken += rl_dns_take(s, n);
  rl_dns_settle_when_full(c);
}

/* A hole: message bounds are gone in this direction, the other goes on. */
RL_PURE void rl_dns_lost(struct rl_conversation* c, struct rl_scan_side* s) {
  s->taken = RL_DNS_STREAM_MAX;
  rl_dns_settle_when_full(c);
}

#endif
