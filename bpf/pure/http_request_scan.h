/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * The client's direction of HTTP/1 (RFC 9112 section 3): request line, fields, body. Keeps the
 * method, the target up to '?' and the authority; user information in an authority is wiped as
 * soon as its '@' shows. An empty path in absolute form is "/" (RFC 9110 section 4.2.3).
 *
 * A first head that is no HTTP makes the connection opaque; a later one loses it. The HTTP/2
 * preface starts as a request line, so it is recognised here.
 */
#ifndef ROUTELENS_BPF_PURE_HTTP_REQUEST_SCAN_H
#define ROUTELENS_BPF_PURE_HTTP_REQUEST_SCAN_H

#include "bpf/pure/http_body.h"

#define RL_METHOD_LENGTH_MAX 24

#define RL_HTTP_1_0 RL_WORD8('H', 'T', 'T', 'P', '/', '1', '.', '0')
#define RL_HTTP_1_1 RL_WORD8('H', 'T', 'T', 'P', '/', '1', '.', '1')
#define RL_HTTP_2_0 RL_WORD8('H', 'T', 'T', 'P', '/', '2', '.', '0')

/* No request yet on this connection, or in this tunnel. */
RL_PURE __u32 rl_http_is_first(const struct rl_conversation* c) {
  return c->asked == c->asked_before_tunnel;
}

/* Not a request. Nothing was claimed of a connection that never had one. */
RL_PURE __u32 rl_http_request_refuse(struct rl_conversation* c) {
  if (!rl_http_is_first(c))
    return rl_lose(c);
  c->protocol = RL_PROTOCOL_OPAQUE;
  return rl_settle(c);
}

RL_PURE __u8 rl_http_method_of(const struct rl_scan_side* s) {
  switch (s->word0) {
    case RL_WORD4(0, 'G', 'E', 'T'):
      return RL_METHOD_GET;
    case RL_WORD4('P', 'O', 'S', 'T'):
      return RL_METHOD_POST;
    case RL_WORD6('D', 'E', 'L', 'E', 'T', 'E'):
      return RL_METHOD_DELETE;
    case RL_WORD4('H', 'E', 'A', 'D'):
      return RL_METHOD_HEAD;
    case RL_WORD7('C', 'O', 'N', 'N', 'E', 'C', 'T'):
      return RL_METHOD_CONNECT;
    case RL_WORD7('O', 'P', 'T', 'I', 'O', 'N', 'S'):
      return RL_METHOD_OPTIONS;
    case RL_WORD4(0, 'P', 'U', 'T'):
      return RL_METHOD_PUT;
    default:
      return RL_METHOD_OTHER;
  }
}

RL_PURE void rl_push_path(struct rl_conversation* c, __u8 byte) {
  __u32 length = c->request.path_length;
  if (length >= RL_PATH_MAX) {
    c->request.flags = rl_low16(c->request.flags | RL_HTTP_PATH_TRUNCATED);
    return;
  }
  c->request.path[rl_masked(length, RL_PATH_MAX)] = byte;
  c->request.path_length = rl_low16(length + 1);
}

/* The target has ended at its space. */
RL_PURE void rl_http_target_end(struct rl_conversation* c, struct rl_scan_side* s) {
  if (c->request.form == RL_FORM_ABSOLUTE && c->request.path_length == 0)
    rl_push_path(c, '/');
  /* word1 tells "PRI * " from other starts until the version is known. */
  s->word1 = s->word0 == RL_WORD4(0, 'P', 'R', 'I') && c->request.form == RL_FORM_ASTERISK &&
             rl_http_is_first(c);
  s->word0 = 0;
  s->count = 0;
  s->state = RL_HTTP_VERSION;
}

RL_PURE __u32 rl_http_target_start(struct rl_conversation* c, struct rl_scan_side* s, __u8 byte) {
  if (byte <= ' ' || byte == 0x7f)
    return rl_http_request_refuse(c);
  if (c->request.method == RL_METHOD_CONNECT) {
    c->request.form = RL_FORM_AUTHORITY;
    s->state = RL_HTTP_AUTHORITY;
    if (byte == '/' || byte == '?' || byte == '@')
      return rl_http_request_refuse(c);
    rl_push_host(c, byte);
  } else if (byte == '/') {
    c->request.form = RL_FORM_ORIGIN;
    s->state = RL_HTTP_PATH;
    rl_push_path(c, byte);
  } else if (byte == '*') {
    c->request.form = RL_FORM_ASTERISK;
    s->state = RL_HTTP_PATH;
    rl_push_path(c, byte);
  } else if (rl_lower(byte) >= 'a' && rl_lower(byte) <= 'z') {
    c->request.form = RL_FORM_ABSOLUTE;
    s->state = RL_HTTP_SCHEME;
    s->count = 0;
  } else {
    return rl_http_request_refuse(c);
  }
  return 0;
}

/* "http" has begun; `count` is the number of bytes of "://" that were read. */
RL_PURE __u32 rl_http_scheme_byte(struct rl_conversation* c, struct rl_scan_side* s, __u8 byte) {
  if (s->count == 0) {
    if (byte == ':')
      s->count = 1;
    else if (!rl_is_token_char(byte))
      return rl_http_request_refuse(c);
    return 0;
  }
  if (byte != '/')
    return rl_http_request_refuse(c);
  if (++s->count == 3)
    s->state = RL_HTTP_AUTHORITY;
  return 0;
}

RL_PURE __u32 rl_http_authority_byte(struct rl_conversation* c, struct rl_scan_side* s, __u8 byte) {
  __u32 is_absolute = c->request.form == RL_FORM_ABSOLUTE;

  if (byte == ' ') {
    rl_http_target_end(c, s);
  } else if (byte == '@') {
    rl_wipe_host(c);
  } else if (byte == '/' || byte == '?' || byte == '#') {
    if (!is_absolute)
      return rl_http_request_refuse(c);
    s->state = byte == '/' ? RL_HTTP_PATH : RL_HTTP_QUERY;
    if (byte == '/')
      rl_push_path(c, byte);
  } else if (byte < ' ' || byte == 0x7f) {
    return rl_http_request_refuse(c);
  } else {
    rl_push_host(c, byte);
  }
  return 0;
}

RL_PURE __u32 rl_http_request_line_byte(struct rl_conversation* c, struct rl_scan_side* s,
                                        __u8 byte) {
  switch (s->state) {
    case RL_HTTP_START:
      if ((byte == '\r' || byte == '\n') && !rl_http_is_first(c))
        return 0; /* RFC 9112 section 2.2: empty lines before a request line */
      c->request.path_length = 0;
      c->request.host_length = 0;
      c->request.flags = 0;
      s->state = RL_HTTP_METHOD;
      __attribute__((fallthrough));
    case RL_HTTP_METHOD:
      if (byte == ' ' && s->count > 0) {
        c->request.method = rl_http_method_of(s);
        s->state = RL_HTTP_TARGET_START;
        return 0;
      }
      if (!rl_is_token_char(byte) || s->count >= RL_METHOD_LENGTH_MAX)
        return rl_http_request_refuse(c);
      rl_push_word(s, byte);
      return 0;
    case RL_HTTP_TARGET_START:
      return rl_http_target_start(c, s, byte);
    case RL_HTTP_SCHEME:
      return rl_http_scheme_byte(c, s, byte);
    case RL_HTTP_AUTHORITY:
      return rl_http_authority_byte(c, s, byte);
    case RL_HTTP_PATH:
    case RL_HTTP_QUERY:
      if (byte == ' ')
        rl_http_target_end(c, s);
      else if (byte < ' ' || byte == 0x7f)
        return rl_http_request_refuse(c);
      else if (byte == '?' || byte == '#')
        s->state = RL_HTTP_QUERY;
      else if (s->state == RL_HTTP_PATH)
        rl_push_path(c, byte);
      return 0;
    case RL_HTTP_VERSION:
      s->word0 = s->word0 << 8 | byte;
      if (++s->count < 8)
        return 0;
      if (s->word0 == RL_HTTP_1_1 || s->word0 == RL_HTTP_1_0) {
        s->state = RL_HTTP_VERSION_END;
      } else if (s->word0 == RL_HTTP_2_0 && s->word1 == 1) {
        s->word0 = 0;
        s->count = 0;
        s->state = RL_HTTP_PREFACE;
      } else {
        return rl_http_request_refuse(c);
      }
      return 0;
    default: /* RL_HTTP_VERSION_END */
      if (byte != '\r' && byte != '\n')
        return rl_http_request_refuse(c);
      rl_http_fields_begin(s, byte);
      return 0;
  }
}

/* The rest of the HTTP/2 preface (RFC 9113 section 3.4). */
RL_PURE __u32 rl_http_preface_byte(struct rl_conversation* c, struct rl_scan_side* s, __u8 byte) {
  s->word0 = s->word0 << 8 | byte;
  s->count++;
  if (s->count == 8 && s->word0 != RL_WORD8('\r', '\n', '\r', '\n', 'S', 'M', '\r', '\n'))
    return rl_http_request_refuse(c);
  if (s->count < 10)
    return 0;
  if ((s->word0 & 0xffff) != RL_WORD2('\r', '\n'))
    return rl_http_request_refuse(c);
  rl_http_next_message(s);
  c->protocol = RL_PROTOCOL_H2;
  return 0;
}

RL_PURE __u32 rl_http_request_whole(struct rl_conversation* c, struct rl_scan_side* s) {
  __u32 asked = c->asked;
  __u32 seen = s->seen;
  __u32 kind = RL_KIND_PLAIN;
  __u32 flags = c->request.flags;

  if (asked - c->answered >= RL_PIPELINE_MAX)
    return rl_lose(c);
  if (seen & RL_SEEN_HOST_REPEATED)
    flags |= RL_HTTP_HOST_REPEATED;
  if (seen & RL_SEEN_SESSION)
    flags |= RL_HTTP_WITH_SESSION;
  if (c->in_tunnel)
    flags |= RL_HTTP_IN_TUNNEL;
  c->request.flags = rl_low16(flags);
  if (c->request.method == RL_METHOD_HEAD)
    kind = RL_KIND_HEAD;
  if (c->request.method == RL_METHOD_CONNECT)
    kind = RL_KIND_CONNECT;
  c->kinds[rl_masked(asked, RL_PIPELINE_MAX)] = rl_low8(kind);
  c->request.index = asked + 1;
  c->asked = asked + 1; /* after the kind: ingress reads it on another CPU */

  s->awaits_continue = 0;
  if (kind == RL_KIND_CONNECT) {
    s->state = RL_HTTP_AWAITS_TUNNEL;
    return RL_SCAN_REQUEST;
  }
  if (seen & RL_SEEN_BAD_FRAMING)
    return RL_SCAN_REQUEST | rl_lose(c);
  if (seen & RL_SEEN_TRANSFER_ENCODING) {
    if (!(seen & RL_SEEN_CHUNKED)) /* RFC 9112 section 6.3: no length can be known */
      return RL_SCAN_REQUEST | rl_lose(c);
    rl_http_chunks_begin(s);
    s->awaits_continue = (seen & RL_SEEN_EXPECT) != 0;
  } else {
    s->awaits_continue = (seen & RL_SEEN_EXPECT) && s->content_length > 0;
    rl_http_length_begin(s);
  }
  return RL_SCAN_REQUEST;
}

RL_PURE __u32 rl_http_request_byte(struct rl_conversation* c, struct rl_scan_side* s, __u8 byte) {
  __u32 result;

  if (rl_http_in_body(s)) {
    s->awaits_continue = 0;
    result = rl_http_body_byte(s, byte);
    if (result == RL_BODY_BAD)
      return rl_lose(c);
    if (result == RL_BODY_WHOLE)
      rl_http_next_message(s);
    return 0;
  }
  if (++s->head_bytes > RL_HEAD_MAX)
    return rl_lose(c);
  if (s->state == RL_HTTP_PREFACE)
    return rl_http_preface_byte(c, s, byte);
  if (s->state < RL_HTTP_PREFACE)
    return rl_http_request_line_byte(c, s, byte);
  result = rl_http_fields_byte(c, s, 1, byte);
  if (result == RL_FIELDS_BARE_CR)
    return rl_http_request_refuse(c);
  if (result == RL_FIELDS_WHOLE)
    return rl_http_request_whole(c, s);
  return 0;
}

#endif
