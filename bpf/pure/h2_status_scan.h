/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * `:status` at the start of an HPACK header block (RFC 7541, RFC 9113 section 8.3.2), without a
 * dynamic table: an entry of the static table, or a literal of three digits, raw or in Huffman
 * code. A status that only the dynamic table knows is unknown. Reads no other field.
 */
#ifndef ROUTELENS_BPF_PURE_H2_STATUS_SCAN_H
#define ROUTELENS_BPF_PURE_H2_STATUS_SCAN_H

#include "bpf/pure/conversation_state.h"

enum rl_hpack_state {
  RL_HPACK_START = 0, /* the next byte begins a field, or a table size update */
  RL_HPACK_SIZE,      /* in the integer of a table size update */
  RL_HPACK_LENGTH,    /* the length of a literal `:status` */
  RL_HPACK_VALUE,
  RL_HPACK_DONE, /* `status` is known, or 0 */
};

#define RL_HPACK_STATUS_FIRST 8 /* RFC 7541 appendix A: 8 is `:status 200`, ... */
#define RL_HPACK_STATUS_LAST 14
#define RL_HPACK_HUFFMAN 0x80

RL_PURE void rl_hpack_begin(struct rl_scan_side* s) {
  s->hpack = RL_HPACK_START;
  s->status = 0;
  s->word0 = 0;
  s->word1 = 0;
}

RL_PURE __u32 rl_hpack_static_status(__u32 index) {
  switch (index) {
    case 8:
      return 200;
    case 9:
      return 204;
    case 10:
      return 206;
    case 11:
      return 304;
    case 12:
      return 400;
    case 13:
      return 404;
    case 14:
      return 500;
    default:
      return 0;
  }
}

/* The next digit of `bits` at `*at` bits from its end; 10 if there is none. RFC 7541 appendix B:
 * '0' to '2' are the 5-bit codes 0 to 2, '3' to '9' the 6-bit codes 0x19 to 0x1f. */
RL_PURE __u32 rl_huffman_digit(__u32 bits, __u32* at) {
  __u32 place = *at;
  __u32 code;

  if (place < 5)
    return 10;
  code = (bits >> ((place - 5) & 31)) & 0x1f;
  if (code <= 2) {
    *at = place - 5;
    return code;
  }
  if (place < 6)
    return 10;
  code = (bits >> ((place - 6) & 31)) & 0x3f;
  if (code < 0x19 || code > 0x1f)
    return 10;
  *at = place - 6;
  return code - 0x19 + 3;
}

/* The value of a literal is whole: word0 has its bytes, word1 how it is coded and how long. */
RL_PURE __u32 rl_hpack_literal_status(const struct rl_scan_side* s) {
  __u32 bits = s->word0 & 0xffffff;
  __u32 a, b, c;

  if (s->word1 & RL_HPACK_HUFFMAN) {
    __u32 at = (s->word1 & 0x7f) * 8;

    a = rl_huffman_digit(bits, &at);
    b = rl_huffman_digit(bits, &at);
    c = rl_huffman_digit(bits, &at);
    if (at >= 8) /* padding is shorter than a byte */
      return 0;
  } else {
    a = ((bits >> 16) & 0xff) - '0';
    b = ((bits >> 8) & 0xff) - '0';
    c = (bits & 0xff) - '0';
  }
  if (a < 1 || a > 9 || b > 9 || c > 9)
    return 0;
  return a * 100 + b * 10 + c;
}

RL_PURE void rl_hpack_byte(struct rl_scan_side* s, __u8 byte) {
  __u32 index;

  switch (s->hpack) {
    case RL_HPACK_START:
      if ((byte & 0xe0) == 0x20) {
        s->hpack = (byte & 0x1f) == 0x1f ? RL_HPACK_SIZE : RL_HPACK_START;
        return;
      }
      if (byte & 0x80) {
        s->status = rl_hpack_static_status(byte & 0x7f);
        s->hpack = RL_HPACK_DONE;
        return;
      }
      index = byte & 0x40 ? byte & 0x3f : byte & 0x0f;
      s->hpack = index >= RL_HPACK_STATUS_FIRST && index <= RL_HPACK_STATUS_LAST ? RL_HPACK_LENGTH
                                                                                 : RL_HPACK_DONE;
      return;
    case RL_HPACK_SIZE:
      if (!(byte & 0x80))
        s->hpack = RL_HPACK_START;
      return;
    case RL_HPACK_LENGTH:
      s->word0 = 0;
      s->word1 = byte;
      s->word2 = 0; /* bytes read */
      s->hpack = byte == 3 || byte == (RL_HPACK_HUFFMAN | 2) || byte == (RL_HPACK_HUFFMAN | 3)
                     ? RL_HPACK_VALUE
                     : RL_HPACK_DONE;
      return;
    case RL_HPACK_VALUE:
      s->word0 = s->word0 << 8 | byte;
      if (++s->word2 < (s->word1 & 0x7f))
        return;
      s->status = rl_hpack_literal_status(s);
      s->hpack = RL_HPACK_DONE;
      return;
    default:
      return;
  }
}

#endif
