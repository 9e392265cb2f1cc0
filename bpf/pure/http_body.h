/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * Passing over an HTTP/1 body by its framing (RFC 9112 sections 6 and 7), so that body bytes that
 * look like a head never count. Knows lengths only; keeps nothing of a body, a chunk extension or
 * a trailer.
 */
#ifndef ROUTELENS_BPF_PURE_HTTP_BODY_H
#define ROUTELENS_BPF_PURE_HTTP_BODY_H

#include "bpf/pure/http_fields_scan.h"

enum rl_body_result { RL_BODY_GO_ON = 0, RL_BODY_WHOLE = 1, RL_BODY_BAD = 2 };

/* Makes this direction wait for its next head. */
RL_PURE void rl_http_next_message(struct rl_scan_side* s) {
  s->state = RL_HTTP_START;
  s->left = 0;
  s->content_length = 0;
  s->head_bytes = 0;
  s->seen = 0;
  s->field = RL_FIELD_OTHER;
  s->status = 0;
  rl_clear_word(s);
}

RL_PURE void rl_http_chunks_begin(struct rl_scan_side* s) {
  s->state = RL_HTTP_CHUNK_SIZE;
  s->left = 0;
  s->count = 0;
  s->head_bytes = 0;
}

RL_PURE void rl_http_length_begin(struct rl_scan_side* s) {
  s->left = s->content_length;
  s->state = RL_HTTP_BODY_LENGTH;
  if (s->left == 0)
    rl_http_next_message(s);
}

/* A chunk's first line has ended: `left` is its size. */
RL_PURE __u32 rl_http_chunk_begin(struct rl_scan_side* s) {
  if (s->count == 0)
    return RL_BODY_BAD;
  s->state = s->left == 0 ? RL_HTTP_TRAILER_START : RL_HTTP_CHUNK_DATA;
  s->count = 0;
  s->head_bytes = 0;
  return RL_BODY_GO_ON;
}

RL_PURE __u32 rl_http_chunk_size_byte(struct rl_scan_side* s, __u8 byte) {
  __u32 digit;

  if (byte >= '0' && byte <= '9')
    digit = byte - '0';
  else if (rl_lower(byte) >= 'a' && rl_lower(byte) <= 'f')
    digit = rl_lower(byte) - 'a' + 10;
  else if (byte == '\n')
    return rl_http_chunk_begin(s);
  else if (byte == '\r' || byte == ';' || byte == ' ' || byte == '\t') {
    s->state = byte == '\r' ? RL_HTTP_CHUNK_LINE_CR : RL_HTTP_CHUNK_EXTENSION;
    return s->count == 0 ? RL_BODY_BAD : RL_BODY_GO_ON;
  } else
    return RL_BODY_BAD;
  if (s->count >= 15)
    return RL_BODY_BAD;
  s->left = s->left * 16 + digit;
  s->count++;
  return RL_BODY_GO_ON;
}

/* One byte of framing; bytes of data go through rl_http_body_skip. Never called in
 * RL_HTTP_BODY_UNTIL_CLOSE. */
RL_PURE __u32 rl_http_body_byte(struct rl_scan_side* s, __u8 byte) {
  if (++s->head_bytes > RL_HEAD_MAX)
    return RL_BODY_BAD;
  switch (s->state) {
    case RL_HTTP_CHUNK_SIZE:
      return rl_http_chunk_size_byte(s, byte);
    case RL_HTTP_CHUNK_EXTENSION:
      if (byte == '\n')
        return rl_http_chunk_begin(s);
      if (byte == '\r')
        s->state = RL_HTTP_CHUNK_LINE_CR;
      return RL_BODY_GO_ON;
    case RL_HTTP_CHUNK_LINE_CR:
      if (byte != '\n')
        return RL_BODY_BAD;
      return rl_http_chunk_begin(s);
    case RL_HTTP_CHUNK_DATA_END:
    case RL_HTTP_CHUNK_DATA_CR:
      if (byte == '\n')
        rl_http_chunks_begin(s);
      else if (byte == '\r' && s->state == RL_HTTP_CHUNK_DATA_END)
        s->state = RL_HTTP_CHUNK_DATA_CR;
      else
        return RL_BODY_BAD;
      return RL_BODY_GO_ON;
    case RL_HTTP_TRAILER_START:
      if (byte == '\n')
        return RL_BODY_WHOLE;
      s->state = byte == '\r' ? RL_HTTP_TRAILER_BLANK_CR : RL_HTTP_TRAILER;
      return RL_BODY_GO_ON;
    case RL_HTTP_TRAILER:
      if (byte == '\n')
        s->state = RL_HTTP_TRAILER_START;
      else if (byte == '\r')
        s->state = RL_HTTP_TRAILER_CR;
      return RL_BODY_GO_ON;
    case RL_HTTP_TRAILER_CR:
      s->state = RL_HTTP_TRAILER_START;
      return byte == '\n' ? RL_BODY_GO_ON : RL_BODY_BAD;
    default: /* RL_HTTP_TRAILER_BLANK_CR */
      return byte == '\n' ? RL_BODY_WHOLE : RL_BODY_BAD;
  }
}

RL_PURE __u32 rl_http_in_data(const struct rl_scan_side* s) {
  return s->state == RL_HTTP_BODY_LENGTH || s->state == RL_HTTP_CHUNK_DATA;
}

RL_PURE __u32 rl_http_in_body(const struct rl_scan_side* s) {
  return s->state >= RL_HTTP_BODY_LENGTH && s->state <= RL_HTTP_TRAILER_BLANK_CR;
}

/* Passes n bytes of data; n is at most `left`. */
RL_PURE void rl_http_body_skip(struct rl_scan_side* s, __u32 n) {
  s->left = s->left > n ? s->left - n : 0;
  if (s->left > 0)
    return;
  if (s->state == RL_HTTP_CHUNK_DATA) {
    s->state = RL_HTTP_CHUNK_DATA_END;
    s->head_bytes = 0;
  } else {
    rl_http_next_message(s);
  }
}

#endif
