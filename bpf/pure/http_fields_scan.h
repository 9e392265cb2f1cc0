/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * The header section of an HTTP/1 message, byte by byte (RFC 9112 section 5): finds Host,
 * Content-Length, Transfer-Encoding, Expect and the presence of Mcp-Session-Id, in any letter case,
 * and keeps nothing else. Of these only the Host value is ever stored.
 *
 * Line ends: LF alone ends a line, as RFC 9112 section 2.2 lets a recipient do and as curl and
 * Python do. CR followed by anything but LF is RL_FIELDS_BARE_CR: an answer with it is malformed.
 * Fields that no grammar allows set RL_SEEN_BAD_FRAMING: the head still counts, what follows it
 * cannot be placed.
 */
#ifndef ROUTELENS_BPF_PURE_HTTP_FIELDS_SCAN_H
#define ROUTELENS_BPF_PURE_HTTP_FIELDS_SCAN_H

#include "bpf/pure/conversation_state.h"

/* Of both directions; the start line's states belong to its scanner, the body's to http_body.h. */
enum rl_http_state {
  RL_HTTP_START = 0,
  /* request line */
  RL_HTTP_METHOD,
  RL_HTTP_TARGET_START,
  RL_HTTP_SCHEME,
  RL_HTTP_AUTHORITY,
  RL_HTTP_PATH,
  RL_HTTP_QUERY,
  RL_HTTP_VERSION,
  RL_HTTP_VERSION_END,
  RL_HTTP_PREFACE,
  /* status line */
  RL_HTTP_STATUS,
  RL_HTTP_REASON,
  /* header section */
  RL_HTTP_LINE_START,
  RL_HTTP_NAME,
  RL_HTTP_VALUE,
  RL_HTTP_LINE_CR,
  RL_HTTP_BLANK_CR,
  /* body */
  RL_HTTP_BODY_LENGTH,
  RL_HTTP_BODY_UNTIL_CLOSE,
  RL_HTTP_CHUNK_SIZE,
  RL_HTTP_CHUNK_EXTENSION,
  RL_HTTP_CHUNK_LINE_CR,
  RL_HTTP_CHUNK_DATA,
  RL_HTTP_CHUNK_DATA_END,
  RL_HTTP_CHUNK_DATA_CR,
  RL_HTTP_TRAILER_START,
  RL_HTTP_TRAILER,
  RL_HTTP_TRAILER_CR,
  RL_HTTP_TRAILER_BLANK_CR,
  /* after CONNECT */
  RL_HTTP_AWAITS_TUNNEL,
};

enum rl_field {
  RL_FIELD_OTHER = 0,
  RL_FIELD_HOST,
  RL_FIELD_CONTENT_LENGTH,
  RL_FIELD_TRANSFER_ENCODING,
  RL_FIELD_START_LINE, /* no field yet: the line before was the start line */
};

enum rl_field_seen {
  RL_SEEN_HOST = 1,
  RL_SEEN_CONTENT_LENGTH = 2,
  RL_SEEN_TRANSFER_ENCODING = 4,
  RL_SEEN_CHUNKED = 8, /* chunked is the last coding */
  RL_SEEN_EXPECT = 16,
  RL_SEEN_SESSION = 32,
  RL_SEEN_HOST_REPEATED = 64,
  RL_SEEN_BAD_HOST = 128, /* not a host: no value is given */
  RL_SEEN_BAD_FRAMING = 256,
  RL_SEEN_VALUE_GAP = 512, /* white space after the first word of this value */
};

enum rl_fields_result { RL_FIELDS_GO_ON = 0, RL_FIELDS_WHOLE = 1, RL_FIELDS_BARE_CR = 2 };

/* Up to 8 letters as the number that rl_push_word makes of them. */
#ifdef __cplusplus
#define RL_WORD1(a) (static_cast<__u64>(a))
#else
#define RL_WORD1(a) ((__u64)(a))
#endif
#define RL_WORD2(a, b) (RL_WORD1(a) << 8 | RL_WORD1(b))
#define RL_WORD4(a, b, c, d) (RL_WORD2(a, b) << 16 | RL_WORD2(c, d))
#define RL_WORD6(a, b, c, d, e, f) (RL_WORD4(a, b, c, d) << 16 | RL_WORD2(e, f))
#define RL_WORD7(a, b, c, d, e, f, g) (RL_WORD6(a, b, c, d, e, f) << 8 | RL_WORD1(g))
#define RL_WORD8(a, b, c, d, e, f, g, h) (RL_WORD4(a, b, c, d) << 32 | RL_WORD4(e, f, g, h))

RL_PURE __u32 rl_lower(__u32 byte) {
  return byte >= 'A' && byte <= 'Z' ? byte + 32 : byte;
}

/* RFC 9110 section 5.6.2: a character of a token. */
RL_PURE __u32 rl_is_token_char(__u32 b) {
  if ((b >= 'a' && b <= 'z') || (b >= 'A' && b <= 'Z') || (b >= '0' && b <= '9'))
    return 1;
  return b == '-' || b == '_' || b == '.' || b == '!' || b == '~' || b == '*' || b == '+' ||
         b == '$' || b == '%' || b == '&' || b == '\'' || b == '^' || b == '`' || b == '|' ||
         b == '#';
}

RL_PURE void rl_forget(struct rl_scan_side* s, __u32 seen) {
  s->seen &= ~seen;
}

RL_PURE void rl_clear_word(struct rl_scan_side* s) {
  s->word0 = 0;
  s->word1 = 0;
  s->word2 = 0;
  s->count = 0;
}

/* Adds a byte to the word of 24; of longer words only the length is right. */
RL_PURE void rl_push_word(struct rl_scan_side* s, __u32 byte) {
  __u32 count = s->count;
  if (count < 8)
    s->word0 = s->word0 << 8 | byte;
  else if (count < 16)
    s->word1 = s->word1 << 8 | byte;
  else
    s->word2 = s->word2 << 8 | byte;
  s->count = count + 1;
}

/* Forgets what is in the host buffer: it may be a password. */
RL_PURE void rl_wipe_host(struct rl_conversation* c) {
  __builtin_memset(c->request.host, 0, sizeof(c->request.host));
  c->request.host_length = 0;
  c->request.flags = rl_low16(c->request.flags & ~RL_HTTP_HOST_TRUNCATED);
}

RL_PURE void rl_push_host(struct rl_conversation* c, __u8 byte) {
  __u32 length = c->request.host_length;
  if (length >= RL_HOST_MAX) {
    c->request.flags = rl_low16(c->request.flags | RL_HTTP_HOST_TRUNCATED);
    return;
  }
  c->request.host[rl_masked(length, RL_HOST_MAX)] = byte;
  c->request.host_length = rl_low16(length + 1);
}

/* The name is whole: what is its value to us? */
RL_PURE void rl_field_begin(struct rl_conversation* c, struct rl_scan_side* s, __u32 is_request) {
  __u64 word0 = s->word0;
  __u32 count = s->count;
  __u32 field = RL_FIELD_OTHER;

  if (count == 4 && word0 == RL_WORD4('h', 'o', 's', 't') && is_request) {
    if (s->seen & RL_SEEN_HOST)
      s->seen |= RL_SEEN_HOST_REPEATED;
    else if (c->request.form == RL_FORM_ORIGIN || c->request.form == RL_FORM_ASTERISK)
      field = RL_FIELD_HOST;
    s->seen |= RL_SEEN_HOST;
  } else if (count == 14 && word0 == RL_WORD8('c', 'o', 'n', 't', 'e', 'n', 't', '-') &&
             s->word1 == RL_WORD6('l', 'e', 'n', 'g', 't', 'h')) {
    if (s->seen & RL_SEEN_CONTENT_LENGTH)
      s->seen |= RL_SEEN_BAD_FRAMING;
    else
      field = RL_FIELD_CONTENT_LENGTH;
    s->seen |= RL_SEEN_CONTENT_LENGTH;
    s->content_length = 0;
  } else if (count == 17 && word0 == RL_WORD8('t', 'r', 'a', 'n', 's', 'f', 'e', 'r') &&
             s->word1 == RL_WORD8('-', 'e', 'n', 'c', 'o', 'd', 'i', 'n') && s->word2 == 'g') {
    field = RL_FIELD_TRANSFER_ENCODING;
    s->seen |= RL_SEEN_TRANSFER_ENCODING;
  } else if (count == 14 && word0 == RL_WORD8('m', 'c', 'p', '-', 's', 'e', 's', 's') &&
             s->word1 == RL_WORD6('i', 'o', 'n', '-', 'i', 'd')) {
    s->seen |= RL_SEEN_SESSION;
  } else if (count == 6 && word0 == RL_WORD6('e', 'x', 'p', 'e', 'c', 't')) {
    s->seen |= RL_SEEN_EXPECT;
  }
  s->field = field;
  rl_forget(s, RL_SEEN_VALUE_GAP);
  s->state = RL_HTTP_VALUE;
  rl_clear_word(s);
}

RL_PURE void rl_field_value_byte(struct rl_conversation* c, struct rl_scan_side* s, __u8 byte) {
  __u32 is_space = byte == ' ' || byte == '\t';

  switch (s->field) {
    case RL_FIELD_HOST:
      if (is_space) {
        if (c->request.host_length > 0)
          s->seen |= RL_SEEN_VALUE_GAP;
      } else if ((s->seen & RL_SEEN_VALUE_GAP) || byte < 0x21 || byte == 0x7f || byte == '@') {
        s->seen |= RL_SEEN_BAD_HOST;
        s->field = RL_FIELD_OTHER;
        rl_wipe_host(c);
      } else {
        rl_push_host(c, byte);
      }
      break;
    case RL_FIELD_CONTENT_LENGTH:
      if (is_space) {
        if (s->count > 0)
          s->seen |= RL_SEEN_VALUE_GAP;
      } else if ((s->seen & RL_SEEN_VALUE_GAP) || byte < '0' || byte > '9' || s->count >= 18) {
        s->seen |= RL_SEEN_BAD_FRAMING;
      } else {
        s->content_length = s->content_length * 10 + (byte - '0');
        s->count++;
      }
      break;
    case RL_FIELD_TRANSFER_ENCODING:
      if (byte == ',')
        rl_clear_word(s);
      else if (!is_space)
        rl_push_word(s, rl_lower(byte));
      break;
    default:
      break;
  }
}

/* A line has ended. A folded line continues it, so this may run more than once for a field. */
RL_PURE void rl_field_line_end(struct rl_scan_side* s) {
  if (s->field == RL_FIELD_CONTENT_LENGTH && s->count == 0)
    s->seen |= RL_SEEN_BAD_FRAMING;
  if (s->field == RL_FIELD_TRANSFER_ENCODING) {
    if (s->count == 7 && s->word0 == RL_WORD7('c', 'h', 'u', 'n', 'k', 'e', 'd'))
      s->seen |= RL_SEEN_CHUNKED;
    else
      rl_forget(s, RL_SEEN_CHUNKED);
  }
  s->state = RL_HTTP_LINE_START;
}

RL_PURE __u32 rl_http_fields_byte(struct rl_conversation* c, struct rl_scan_side* s,
                                  __u32 is_request, __u8 byte) {
  switch (s->state) {
    case RL_HTTP_LINE_START:
      if (byte == '\n')
        return RL_FIELDS_WHOLE;
      if (byte == '\r') {
        s->state = RL_HTTP_BLANK_CR;
      } else if (byte == ' ' || byte == '\t') { /* obs-fold, RFC 9112 section 5.2 */
        if (s->field == RL_FIELD_START_LINE || s->field == RL_FIELD_CONTENT_LENGTH)
          s->seen |= RL_SEEN_BAD_FRAMING;
        if (s->field == RL_FIELD_HOST && c->request.host_length > 0)
          s->seen |= RL_SEEN_VALUE_GAP;
        s->state = RL_HTTP_VALUE;
      } else {
        rl_clear_word(s);
        s->field = RL_FIELD_OTHER;
        if (!rl_is_token_char(byte))
          s->seen |= RL_SEEN_BAD_FRAMING;
        rl_push_word(s, rl_lower(byte));
        s->state = RL_HTTP_NAME;
      }
      return RL_FIELDS_GO_ON;
    case RL_HTTP_NAME:
      if (byte == ':') {
        rl_field_begin(c, s, is_request);
      } else if (byte == '\n') {
        s->seen |= RL_SEEN_BAD_FRAMING;
        rl_field_line_end(s);
      } else if (byte == '\r') {
        s->seen |= RL_SEEN_BAD_FRAMING;
        s->state = RL_HTTP_LINE_CR;
      } else {
        if (!rl_is_token_char(byte))
          s->seen |= RL_SEEN_BAD_FRAMING;
        rl_push_word(s, rl_lower(byte));
      }
      return RL_FIELDS_GO_ON;
    case RL_HTTP_VALUE:
      if (byte == '\n')
        rl_field_line_end(s);
      else if (byte == '\r')
        s->state = RL_HTTP_LINE_CR;
      else
        rl_field_value_byte(c, s, byte);
      return RL_FIELDS_GO_ON;
    case RL_HTTP_LINE_CR:
      if (byte != '\n')
        return RL_FIELDS_BARE_CR;
      rl_field_line_end(s);
      return RL_FIELDS_GO_ON;
    default: /* RL_HTTP_BLANK_CR */
      return byte == '\n' ? RL_FIELDS_WHOLE : RL_FIELDS_BARE_CR;
  }
}

/* The start line has ended, or its CR was read. */
RL_PURE void rl_http_fields_begin(struct rl_scan_side* s, __u8 line_end) {
  s->field = RL_FIELD_START_LINE;
  s->state = line_end == '\n' ? RL_HTTP_LINE_START : RL_HTTP_LINE_CR;
}

#endif
