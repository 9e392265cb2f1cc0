/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * What one step does with a segment's payload: passes a stretch that needs no look, or looks at one
 * byte; reports what it says, sends out a run that has ended, gives up after a gap.
 *
 * Full object: global functions (RL_SCAN_FUNCTION), which the verifier looks at once, on their own,
 * instead of along every path that leads to them (on_egress: 211,000 instructions walked before,
 * and a second to load). Floor object: inlined, see scan_floor.bpf.h.
 */
#ifndef ROUTELENS_BPF_LIB_SCAN_STEP_BPF_H
#define ROUTELENS_BPF_LIB_SCAN_STEP_BPF_H

#include "bpf/lib/flow.bpf.h"
#include "bpf/lib/http_records.bpf.h"
#include "bpf/lib/packet.bpf.h"
#include "bpf/lib/scanners.bpf.h"

#ifdef RL_FLOOR
#define RL_SCAN_FUNCTION static __always_inline
#else
#define RL_SCAN_FUNCTION __noinline
#endif

/* Whose records. A flow itself holds a spin lock, which no global function may be given. */
struct rl_scan_key {
  struct rl_scope scope;
  __u64 cookie;
};

static __always_inline struct rl_scan_key scan_key_of(const struct rl_flow* flow) {
  struct rl_scan_key key = {.scope = flow->scope, .cookie = flow->cookie};
  return key;
}

static __always_inline __u32 scan_stream_limit(const struct rl_conversation* c) {
  return c->protocol == RL_PROTOCOL_DNS ? RL_DNS_STREAM_MAX : RL_FLIGHT_MAX;
}

static __always_inline void scan_fill_stream(struct rl_ev_stream* ev, const struct rl_scan_key* key,
                                             const struct rl_conversation* c, __u8 dir,
                                             __u32 length) {
  __u32 taken = rl_conversation_taken(c, dir);
  ev->cookie = key->cookie;
  ev->offset = taken - length;
  ev->length = (__u16)length;
  ev->direction = dir;
  ev->protocol = c->protocol == RL_PROTOCOL_DNS ? RL_STREAM_DNS : RL_STREAM_TLS;
  if (taken >= scan_stream_limit(c))
    ev->flags |= RL_STREAM_TRUNCATED;
  if (rl_conversation_in_tunnel(c))
    ev->flags |= RL_STREAM_IN_TUNNEL;
  ev->header.size = (__u16)(sizeof(*ev) + length);
}

#define scan_emit_run(skb, key, c, dir, start, length, limit)                          \
  do {                                                                                 \
    struct rl_ev_stream* ev =                                                          \
        emit_reserve(&(key)->scope, RL_EV_STREAM, sizeof(*ev) + (limit), sizeof(*ev)); \
    if (!ev)                                                                           \
      break;                                                                           \
    if (packet_load(skb, start, ev->bytes, length, limit)) {                           \
      emit_discard(ev, &(key)->scope);                                                 \
      break;                                                                           \
    }                                                                                  \
    scan_fill_stream(ev, key, c, dir, length);                                         \
    emit_submit(ev);                                                                   \
  } while (0)

/* The run of this direction has ended. */
RL_SCAN_FUNCTION int scan_flush(struct __sk_buff* skb, struct rl_scan* scan,
                                const struct rl_scan_key* key, __u32 direction) {
  __u8 dir = direction & 1;
  if (!scan || !key)
    return 0;
  const struct rl_conversation* c = &scan->conversation;
  __u32 length = scan->run_length[dir];
  __u32 start = scan->run_start[dir];
  scan->run_length[dir] = 0;
  if (length == 0 || length > RL_DATA_MAX)
    return 0;
  if (length <= 256)
    scan_emit_run(skb, key, c, dir, start, length, 256);
  else if (length <= 1024)
    scan_emit_run(skb, key, c, dir, start, length, 1024);
  else
    scan_emit_run(skb, key, c, dir, start, length, RL_DATA_MAX);
  return 0;
}

static __always_inline void scan_extend(struct rl_scan* scan, __u8 dir, __u32 at, __u32 length) {
  if (scan->run_length[dir & 1] == 0)
    scan->run_start[dir & 1] = at;
  scan->run_length[dir & 1] += length;
}

static __always_inline void scan_emit_tls_record(const struct rl_scan_key* key,
                                                 const struct rl_conversation* c, __u8 dir) {
  const struct rl_scanned_record* record = &c->tls[dir & 1];
  struct rl_ev_tls_record* ev =
      emit_reserve_fixed(&key->scope, RL_EV_TLS_RECORD, struct rl_ev_tls_record);
  if (!ev)
    return;
  ev->cookie = key->cookie;
  ev->index = record->index;
  ev->length = record->length;
  ev->version = record->version;
  ev->direction = dir;
  ev->content_type = record->content_type;
  ev->alert_level = record->alert_level;
  ev->alert_description = record->alert_description;
  ev->flags = rl_conversation_in_tunnel(c) ? RL_STREAM_IN_TUNNEL : 0;
  emit_submit(ev);
}

/* Bytes of this direction were missed. Of what is copied out, user space is told at once. */
RL_SCAN_FUNCTION int scan_lose(struct rl_scan* scan, const struct rl_scan_key* key,
                               __u32 direction) {
  __u8 dir = direction & 1;
  if (!scan || !key)
    return 0;
  struct rl_conversation* c = &scan->conversation;
  scan->run_length[dir] = 0;
  int copies = c->protocol == RL_PROTOCOL_TLS || c->protocol == RL_PROTOCOL_DNS;
  struct rl_ev_stream* ev = NULL;
  if (copies && !rl_conversation_settled(c))
    ev = emit_reserve_fixed(&key->scope, RL_EV_STREAM, struct rl_ev_stream);
  if (ev) {
    scan_fill_stream(ev, key, c, dir, 0);
    ev->flags |= RL_STREAM_HOLE;
    emit_submit(ev);
  }
  rl_conversation_lost(c, dir);
  return 0;
}

RL_SCAN_FUNCTION int scan_report(struct rl_scan* scan, const struct rl_scan_key* key,
                                 __u32 direction, __u32 events) {
  __u8 dir = direction & 1;
  if (!scan || !key)
    return 0;
  const struct rl_conversation* c = &scan->conversation;
  if (events & RL_SCAN_TLS_RECORD)
    scan_emit_tls_record(key, c, dir);
  if (events & RL_SCAN_REQUEST)
    http_emit_request(&key->scope, c, key->cookie, RL_HTTP_WIRE);
  if (events & RL_SCAN_RESPONSE)
    http_emit_response(&key->scope, c, key->cookie, RL_HTTP_WIRE);
  return 0;
}

#define RL_SCAN_RUN_ENDS 0x80000000U

/* Passes the stretch at `at` that needs no look. Returns its length, 0 when there is none; with
 * RL_SCAN_RUN_ENDS when the run is to be flushed. */
RL_SCAN_FUNCTION __u32 scan_skip(struct rl_scan* scan, __u32 direction, __u32 at, __u32 left) {
  __u8 dir = direction & 1;
  if (!scan)
    return 0;
  struct rl_conversation* c = &scan->conversation;
  __u32 n = rl_conversation_skippable(c, dir, left);
  if (!n)
    return 0;
  __u32 room = RL_DATA_MAX - scan->run_length[dir];
  __u32 take = rl_conversation_take(c, dir, n);
  if (take > room) {
    n = room;
    take = room;
  }
  if (take)
    scan_extend(scan, dir, at, take);
  rl_conversation_skip(c, dir, n);
  return take < n || take == room ? n | RL_SCAN_RUN_ENDS : n;
}

/* Looks at one byte; returns what it says, enum rl_scan_event, and RL_SCAN_RUN_ENDS. */
RL_SCAN_FUNCTION __u32 scan_byte(struct rl_scan* scan, __u32 direction, __u32 at, __u32 byte) {
  __u8 dir = direction & 1;
  if (!scan)
    return 0;
  __u32 events = scanners_byte(&scan->conversation, dir, byte);
  if (events & RL_SCAN_STREAM_BYTE)
    scan_extend(scan, dir, at, 1);
  if (scan->run_length[dir] &&
      (!(events & RL_SCAN_STREAM_BYTE) || scan->run_length[dir] >= RL_DATA_MAX))
    events |= RL_SCAN_RUN_ENDS;
  return events;
}

#define RL_SCAN_REPORTS (RL_SCAN_TLS_RECORD | RL_SCAN_REQUEST | RL_SCAN_RESPONSE)

#endif
