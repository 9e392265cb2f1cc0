/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * TLS records of both directions (RFC 8446 section 5.1): reports each record's head, up to
 * RL_TLS_RECORDS_MAX for each direction, and every alert in the clear with its two bytes. Marks the
 * handshake records before ChangeCipherSpec, heads included, to be copied out, up to RL_FLIGHT_MAX;
 * everything else is passed over unread.
 *
 * Settles when both directions have used up their records, or one has and both have sent protected
 * data: a long transfer in one direction must not be walked to its end.
 */
#ifndef ROUTELENS_BPF_PURE_TLS_RECORD_SCAN_H
#define ROUTELENS_BPF_PURE_TLS_RECORD_SCAN_H

#include "bpf/pure/conversation_state.h"

#define RL_TLS_CHANGE_CIPHER_SPEC 20
#define RL_TLS_ALERT 21
#define RL_TLS_HANDSHAKE 22
#define RL_TLS_APPLICATION_DATA 23
#define RL_TLS_HEARTBEAT 24
#define RL_TLS_FRAGMENT_MAX (16384 + 2048) /* RFC 5246 section 6.2.3, the larger bound */

/* Place within a record, `count`: bytes of its head, then of an alert in the clear. */
enum rl_tls_place { RL_TLS_HEAD_BYTES = 5, RL_TLS_ALERT_LEVEL = 5, RL_TLS_ALERT_DESCRIPTION = 6 };

RL_PURE __u32 rl_tls_takes(const struct rl_scan_side* s) {
  return s->type == RL_TLS_HANDSHAKE && !s->cipher_changed && s->taken < RL_FLIGHT_MAX;
}

RL_PURE __u32 rl_tls_report(struct rl_conversation* c, struct rl_scan_side* s, __u32 dir) {
  struct rl_scanned_record* r = &c->tls[dir & 1];
  struct rl_scan_side* other = &c->side[(dir & 1) ^ 1];
  __u32 records = s->records;
  __u32 events = 0;
  __u32 is_clear_alert = s->count > RL_TLS_HEAD_BYTES;

  if (records < RL_TLS_RECORDS_MAX || is_clear_alert) {
    r->index = rl_low16(records);
    r->length = rl_low16(s->record_length);
    r->version = rl_low16(s->version);
    r->content_type = rl_low8(s->type);
    if (!is_clear_alert) {
      r->alert_level = 0;
      r->alert_description = 0;
    }
    events = RL_SCAN_TLS_RECORD;
  }
  if (records < 0xffff)
    s->records = ++records;
  if (s->type == RL_TLS_APPLICATION_DATA)
    s->protected_data = 1;
  s->count = 0;
  if ((records >= RL_TLS_RECORDS_MAX || other->records >= RL_TLS_RECORDS_MAX) &&
      ((records >= RL_TLS_RECORDS_MAX && other->records >= RL_TLS_RECORDS_MAX) ||
       (s->protected_data && other->protected_data)))
    events |= rl_settle(c);
  return events;
}

/* These bytes are no record. */
RL_PURE __u32 rl_tls_refuse(struct rl_conversation* c, struct rl_scan_side* s, __u32 dir) {
  struct rl_scanned_record* r = &c->tls[dir & 1];

  if (s->records > 0)
    return rl_lose(c);
  if (dir == RL_EGRESS) {
    c->protocol = RL_PROTOCOL_OPAQUE;
    return rl_settle(c);
  }
  r->index = 0;
  r->length = 0;
  r->version = 0; /* not TLS where TLS was spoken to */
  r->content_type = rl_low8(s->type);
  r->alert_level = 0;
  r->alert_description = 0;
  return RL_SCAN_TLS_RECORD | rl_settle(c);
}

RL_PURE __u32 rl_tls_head_whole(struct rl_conversation* c, struct rl_scan_side* s, __u32 dir) {
  if (s->type == RL_TLS_CHANGE_CIPHER_SPEC)
    s->cipher_changed = 1;
  if (s->type == RL_TLS_ALERT && s->record_length == 2)
    return 0; /* reported with its level and description */
  s->left = s->record_length;
  return rl_tls_report(c, s, dir);
}

/* One byte of a record's head or of an alert in the clear; fragments go through skip. */
RL_PURE __u32 rl_tls_byte(struct rl_conversation* c, struct rl_scan_side* s, __u32 dir, __u8 byte) {
  struct rl_scanned_record* r = &c->tls[dir & 1];
  __u32 at = s->count;
  __u32 events = 0;

  if (dir == RL_INGRESS && c->side[RL_EGRESS].records == 0) {
    c->protocol = RL_PROTOCOL_OPAQUE; /* the server speaks before the client has said TLS */
    return rl_settle(c);
  }
  s->count = at + 1;
  if (at == 0) {
    s->type = byte;
    if (byte < RL_TLS_CHANGE_CIPHER_SPEC || byte > RL_TLS_HEARTBEAT)
      return rl_tls_refuse(c, s, dir);
  } else if (at == 1) {
    s->version = 0x300;
    if (byte != 3)
      return rl_tls_refuse(c, s, dir);
  } else if (at == 2) {
    s->version = 0x300 + byte;
    if (byte > 4)
      return rl_tls_refuse(c, s, dir);
  } else if (at == 3) {
    s->record_length = byte * 256u;
  } else if (at == 4) {
    s->record_length += byte;
    if (s->record_length > RL_TLS_FRAGMENT_MAX)
      return rl_tls_refuse(c, s, dir);
  } else if (at == RL_TLS_ALERT_LEVEL) {
    r->alert_level = byte;
    return 0;
  } else {
    r->alert_description = byte;
    return rl_tls_report(c, s, dir);
  }
  if (rl_tls_takes(s)) {
    s->taken++;
    events = RL_SCAN_STREAM_BYTE;
  }
  if (at == 4)
    events |= rl_tls_head_whole(c, s, dir);
  return events;
}

/* Of the next n fragment bytes, how many are to be copied out. */
RL_PURE __u32 rl_tls_take(const struct rl_scan_side* s, __u32 n) {
  __u32 room = RL_FLIGHT_MAX - s->taken;

  if (!rl_tls_takes(s))
    return 0;
  return n < room ? n : room;
}

RL_PURE void rl_tls_skip(struct rl_scan_side* s, __u32 n) {
  s->taken += rl_tls_take(s, n);
  s->left = s->left > n ? s->left - n : 0;
}

#endif
