/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * The server's direction of HTTP/1 (RFC 9112 section 4): status line, fields, body. Strict where a
 * client would fail: "HTTP/1.0" or "HTTP/1.1", one space, exactly three digits from 100 up, then a
 * space or the line's end; anything else is reported at once as malformed, and the connection
 * settles. A status is reported when its head is whole.
 *
 * Bytes without an outstanding request never count: the connection is lost, and so it is on empty
 * lines before a status line, which some clients pass over and others refuse.
 */
#ifndef ROUTELENS_BPF_PURE_HTTP_RESPONSE_SCAN_H
#define ROUTELENS_BPF_PURE_HTTP_RESPONSE_SCAN_H

#include "bpf/pure/http_body.h"

#define RL_STATUS_PREFIX RL_WORD7('H', 'T', 'T', 'P', '/', '1', '.')

RL_PURE __u32 rl_http_report(struct rl_conversation* c, __u32 status, __u32 flags) {
  c->response.request_index = c->answered + 1;
  c->response.status = rl_low16(status);
  c->response.flags = rl_low16(flags | (c->in_tunnel ? RL_HTTP_IN_TUNNEL : 0));
  return RL_SCAN_RESPONSE;
}

RL_PURE __u32 rl_http_malformed(struct rl_conversation* c) {
  __u32 events = rl_http_report(c, 0, RL_HTTP_MALFORMED);
  c->answered++;
  return events | rl_settle(c);
}

/* Both directions start again: the protocol inside the tunnel is yet to be seen. */
RL_PURE void rl_tunnel_begin(struct rl_conversation* c) {
  __builtin_memset(c->side, 0, sizeof(c->side));
  c->in_tunnel = 1;
  c->asked_before_tunnel = c->asked;
  c->served = 0; /* what was served is the tunnel, not what will be asked within */
  c->protocol = RL_PROTOCOL_UNDECIDED;
}

RL_PURE __u32 rl_http_status_line_byte(struct rl_conversation* c, struct rl_scan_side* s,
                                       __u8 byte) {
  __u32 at = s->count;

  s->count = at + 1;
  if (at < 7) {
    /* Written as a shift: a constant array would be a map of its own in BPF. */
    if (byte != ((RL_STATUS_PREFIX >> (48 - 8 * at)) & 0xff))
      return rl_http_malformed(c);
  } else if (at == 7) {
    if (byte != '0' && byte != '1')
      return rl_http_malformed(c);
  } else if (at == 8) {
    if (byte != ' ')
      return rl_http_malformed(c);
  } else if (at < 12) {
    if (byte < '0' || byte > '9' || (at == 9 && byte == '0'))
      return rl_http_malformed(c);
    s->status = s->status * 10 + (byte - '0');
  } else if (byte == ' ') {
    s->state = RL_HTTP_REASON;
  } else if (byte == '\r' || byte == '\n') {
    rl_http_fields_begin(s, byte);
  } else {
    return rl_http_malformed(c);
  }
  return 0;
}

/* A final answer to a CONNECT that did not open the tunnel: the client may ask again. */
RL_PURE void rl_tunnel_refused(struct rl_scan_side* client) {
  if (client->state == RL_HTTP_AWAITS_TUNNEL)
    rl_http_next_message(client);
}

RL_PURE __u32 rl_http_response_whole(struct rl_conversation* c, struct rl_scan_side* s) {
  struct rl_scan_side* client = &c->side[RL_EGRESS];
  __u32 status = s->status;
  __u32 seen = s->seen;
  __u32 kind = c->kinds[rl_masked(c->answered, RL_PIPELINE_MAX)];
  __u32 events;

  if (status < 200 && status != 101) {
    events = rl_http_report(c, status, 0);
    rl_http_next_message(s);
    return events;
  }
  events = rl_http_report(c, status, status == 101 ? RL_HTTP_UPGRADED : 0);
  c->served = 1;
  c->answered++;
  if (status == 101)
    return events | rl_settle(c);
  if (kind == RL_KIND_CONNECT) {
    /* What came before the answer went unread: it cannot be told from a tunnel's inside. */
    if (client->early)
      return events | rl_lose(c);
    if (status < 300) {
      rl_tunnel_begin(c);
      return events;
    }
    rl_tunnel_refused(client);
  }
  /* Refused before its body was sent: whether the body comes or a new request is the client's
   * choice (RFC 9110 section 10.1.1). */
  if (client->awaits_continue && c->asked == c->answered)
    return events | rl_lose(c);

  if (kind == RL_KIND_HEAD || status == 204 || status == 304)
    rl_http_next_message(s);
  else if (seen & RL_SEEN_BAD_FRAMING)
    return events | rl_lose(c);
  else if (seen & RL_SEEN_CHUNKED)
    rl_http_chunks_begin(s);
  else if ((seen & RL_SEEN_CONTENT_LENGTH) && !(seen & RL_SEEN_TRANSFER_ENCODING))
    rl_http_length_begin(s);
  else
    s->state = RL_HTTP_BODY_UNTIL_CLOSE;
  return events;
}

RL_PURE __u32 rl_http_response_byte(struct rl_conversation* c, struct rl_scan_side* s, __u8 byte) {
  __u32 result;

  if (rl_http_in_body(s)) {
    result = rl_http_body_byte(s, byte);
    if (result == RL_BODY_BAD)
      return rl_lose(c);
    if (result == RL_BODY_WHOLE)
      rl_http_next_message(s);
    return 0;
  }
  if (s->state == RL_HTTP_START) {
    if (c->asked == c->answered || byte == '\r' || byte == '\n')
      return rl_lose(c);
    s->state = RL_HTTP_STATUS;
  }
  if (++s->head_bytes > RL_HEAD_MAX)
    return rl_lose(c);
  if (s->state == RL_HTTP_STATUS)
    return rl_http_status_line_byte(c, s, byte);
  if (s->state == RL_HTTP_REASON) {
    if (byte == '\r' || byte == '\n')
      rl_http_fields_begin(s, byte);
    return 0;
  }
  result = rl_http_fields_byte(c, s, 0, byte);
  if (result == RL_FIELDS_BARE_CR)
    return rl_http_malformed(c);
  if (result == RL_FIELDS_WHOLE)
    return rl_http_response_whole(c, s);
  return 0;
}

#endif
