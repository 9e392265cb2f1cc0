/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * One connection's bytes in, in order, for each direction; what they say out. Decides the protocol
 * from the client's first bytes (TLS record, HTTP/2 preface, HTTP/1 request line, else opaque) and
 * follows it until nothing more can be learnt. Plain C without helpers, maps or loops, one byte a
 * step: runs inside a bpf_loop callback and in the host's tests alike.
 *
 *   while (n bytes of this direction are left) {
 *     skip = rl_conversation_skippable(c, dir, n);
 *     if (skip) {
 *       copy out the first rl_conversation_take(c, dir, skip) of them; // offset: _taken(c, dir)
 *       rl_conversation_skip(c, dir, skip);                           // they need not be read
 *     } else {
 *       events = rl_conversation_byte(c, dir, the next byte);
 *     }
 *   }
 *
 * `c` is zero at the start. A byte that was missed but is skippable may be skipped all the same;
 * otherwise call rl_conversation_lost. `request` is valid after RL_SCAN_REQUEST until the next
 * egress byte, `response` after RL_SCAN_RESPONSE and `tls[dir]` after RL_SCAN_TLS_RECORD until the
 * next byte of that direction.
 */
#ifndef ROUTELENS_BPF_PURE_CONVERSATION_H
#define ROUTELENS_BPF_PURE_CONVERSATION_H

#include "bpf/pure/dns_stream.h"
#include "bpf/pure/h2_scan.h"
#include "bpf/pure/http_request_scan.h"
#include "bpf/pure/http_response_scan.h"
#include "bpf/pure/tls_record_scan.h"

/* The peer is asked for DNS (port 53): call before the first byte. */
RL_PURE void rl_conversation_start_dns(struct rl_conversation* c) {
  c->protocol = RL_PROTOCOL_DNS;
}

/* Nothing more will be said; all bytes may be passed unread. */
RL_PURE __u32 rl_conversation_settled(const struct rl_conversation* c) {
  return c->settled;
}

/* Bytes were missed, or came where they could not be placed: no claim is made any more. */
RL_PURE __u32 rl_conversation_is_lost(const struct rl_conversation* c) {
  return c->lost;
}

RL_PURE __u32 rl_conversation_in_tunnel(const struct rl_conversation* c) {
  return c->in_tunnel;
}

/* Bytes of this direction that were to be copied out so far: the next one's offset. */
RL_PURE __u32 rl_conversation_taken(const struct rl_conversation* c, __u8 dir) {
  return c->side[dir & 1].taken;
}

/* An HTTP request waits for its final answer. */
RL_PURE __u32 rl_conversation_request_open(const struct rl_conversation* c) {
  if (c->lost)
    return 0;
  if (c->protocol == RL_PROTOCOL_H2)
    return rl_h2_outstanding(c);
  return c->protocol == RL_PROTOCOL_HTTP1 && c->asked != c->answered;
}

/* An HTTP/1 answer's head has begun and is not whole. */
RL_PURE __u32 rl_conversation_head_open(const struct rl_conversation* c) {
  __u32 state = c->side[RL_INGRESS].state;

  return !c->settled && c->protocol == RL_PROTOCOL_HTTP1 && state >= RL_HTTP_STATUS &&
         state <= RL_HTTP_BLANK_CR;
}

/* A final answer's head was seen whole; in a tunnel, since the tunnel began. */
RL_PURE __u32 rl_conversation_served(const struct rl_conversation* c) {
  return c->served;
}

/* Bytes of this direction were missed that needed a look. */
RL_PURE void rl_conversation_lost(struct rl_conversation* c, __u8 dir) {
  if (c->settled)
    return;
  if (c->protocol == RL_PROTOCOL_DNS)
    rl_dns_lost(c, &c->side[dir & 1]);
  else
    rl_lose(c);
}

/* How many of the next bytes of this direction need no look, at most `available`; 0: give the next
 * byte to rl_conversation_byte. */
RL_PURE __u32 rl_conversation_skippable(const struct rl_conversation* c, __u8 dir,
                                        __u32 available) {
  const struct rl_scan_side* s = &c->side[dir & 1];

  if (c->settled || c->protocol == RL_PROTOCOL_DNS)
    return available;
  if (c->protocol == RL_PROTOCOL_TLS)
    return s->left < available ? rl_low32(s->left) : available;
  if (c->protocol == RL_PROTOCOL_H2)
    return rl_h2_skippable(s, dir, available);
  if (c->protocol == RL_PROTOCOL_HTTP1) {
    if (s->state == RL_HTTP_BODY_UNTIL_CLOSE || s->state == RL_HTTP_AWAITS_TUNNEL)
      return available;
    if (rl_http_in_data(s))
      return s->left < available ? rl_low32(s->left) : available;
  }
  return 0;
}

/* Of the next n skippable bytes, how many (the first ones) are to be copied out. */
RL_PURE __u32 rl_conversation_take(const struct rl_conversation* c, __u8 dir, __u32 n) {
  const struct rl_scan_side* s = &c->side[dir & 1];

  if (c->settled)
    return 0;
  if (c->protocol == RL_PROTOCOL_DNS)
    return rl_dns_take(s, n);
  return c->protocol == RL_PROTOCOL_TLS ? rl_tls_take(s, n) : 0;
}

/* Passes n bytes, at most what rl_conversation_skippable said. */
RL_PURE void rl_conversation_skip(struct rl_conversation* c, __u8 dir, __u32 n) {
  struct rl_scan_side* s = &c->side[dir & 1];

  if (c->settled)
    return;
  switch (c->protocol) {
    case RL_PROTOCOL_DNS:
      rl_dns_skip(c, s, n);
      break;
    case RL_PROTOCOL_TLS:
      rl_tls_skip(s, n);
      break;
    case RL_PROTOCOL_H2:
      rl_h2_skip(s, n);
      break;
    case RL_PROTOCOL_HTTP1:
      if (s->state == RL_HTTP_AWAITS_TUNNEL) {
        s->early = 1;
      } else if (rl_http_in_data(s)) {
        s->awaits_continue = 0;
        rl_http_body_skip(s, n);
      }
      break;
    default:
      break;
  }
}

/* The scanners. bpf/programs/scanners.bpf.c makes each a function of its own, which the verifier
 * then looks at by itself: it wants to be shown that `c`, which never is, is not NULL. */
#ifndef RL_SCANNER
#define RL_SCANNER RL_PURE
#endif

RL_SCANNER __u32 rl_scan_tls(struct rl_conversation* c, __u32 dir, __u32 byte) {
  return c ? rl_tls_byte(c, &c->side[dir & 1], dir & 1, rl_low8(byte)) : 0;
}

RL_SCANNER __u32 rl_scan_h2(struct rl_conversation* c, __u32 dir, __u32 byte) {
  return c ? rl_h2_byte(c, &c->side[dir & 1], dir & 1, rl_low8(byte)) : 0;
}

RL_SCANNER __u32 rl_scan_http_request(struct rl_conversation* c, __u32 byte) {
  return c ? rl_http_request_byte(c, &c->side[RL_EGRESS], rl_low8(byte)) : 0;
}

RL_SCANNER __u32 rl_scan_http_response(struct rl_conversation* c, __u32 byte) {
  return c ? rl_http_response_byte(c, &c->side[RL_INGRESS], rl_low8(byte)) : 0;
}

/* The client's first byte decides who reads on; that scanner decides whether it is right. */
RL_PURE __u32 rl_conversation_decide(struct rl_conversation* c, __u8 dir, __u8 byte) {
  if (dir == RL_EGRESS && byte == RL_TLS_HANDSHAKE) {
    c->protocol = RL_PROTOCOL_TLS;
    return 0;
  }
  if (dir == RL_EGRESS && rl_is_token_char(byte)) {
    c->protocol = RL_PROTOCOL_HTTP1;
    return 0;
  }
  c->protocol = RL_PROTOCOL_OPAQUE; /* also where the server speaks first */
  return rl_settle(c);
}

/* Reads one byte that is not skippable; returns a mask of enum rl_scan_event. */
RL_PURE __u32 rl_conversation_byte(struct rl_conversation* c, __u8 dir, __u8 byte) {
  if (c->settled)
    return 0;
  if (c->protocol == RL_PROTOCOL_UNDECIDED && rl_conversation_decide(c, dir, byte))
    return RL_SCAN_SETTLED;
  switch (c->protocol) {
    case RL_PROTOCOL_TLS:
      return rl_scan_tls(c, dir, byte);
    case RL_PROTOCOL_H2:
      return rl_scan_h2(c, dir, byte);
    case RL_PROTOCOL_HTTP1:
      return dir == RL_EGRESS ? rl_scan_http_request(c, byte) : rl_scan_http_response(c, byte);
    default:
      return 0;
  }
}

#endif
