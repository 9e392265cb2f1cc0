/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * HTTP/2 in the clear (RFC 9113): walks the frames of both directions, reports each new stream of
 * the client as a request without path or host, and each answer's status, or that it is unknown.
 * Never "malformed": what cannot be read is unknown, what cannot be placed loses the connection.
 *
 * A stream's trailers are told from its answer by what was seen of the stream before, for the last
 * RL_H2_STREAMS_MAX streams; older ones make no claim.
 */
#ifndef ROUTELENS_BPF_PURE_H2_SCAN_H
#define ROUTELENS_BPF_PURE_H2_SCAN_H

#include "bpf/pure/h2_status_scan.h"

enum rl_h2_frame {
  RL_H2_HEADERS = 1,
  RL_H2_RST_STREAM = 3,
  RL_H2_SETTINGS = 4,
  RL_H2_PUSH_PROMISE = 5,
  RL_H2_CONTINUATION = 9,
};

enum rl_h2_flag {
  RL_H2_END_STREAM = 1,
  RL_H2_END_HEADERS = 4,
  RL_H2_PADDED = 8,
  RL_H2_PRIORITY = 32,
};

#define RL_H2_HEAD_BYTES 9

/* What the header block that is being received means to us. */
enum rl_h2_block {
  RL_H2_NO_BLOCK = 0,
  RL_H2_OTHER_BLOCK,  /* trailers of a client, a push: only its end matters */
  RL_H2_WANTED_BLOCK, /* a request, or an answer */
};

enum rl_h2_stream_state { RL_H2_OPEN = 0, RL_H2_ANSWER_UNKNOWN = 1, RL_H2_ENDED = 2 };

enum rl_h2_state { RL_H2_IN_HEAD = 0, RL_H2_PAD_LENGTH, RL_H2_PAYLOAD };

RL_PURE __u32 rl_h2_slot(__u32 stream_id) {
  return rl_masked(stream_id >> 1, RL_H2_STREAMS_MAX);
}

RL_PURE void rl_h2_set_stream(struct rl_conversation* c, __u32 stream_id, __u32 state) {
  c->h2_streams[rl_h2_slot(stream_id)] = stream_id << 2 | state;
}

RL_PURE __u32 rl_h2_knows_stream(const struct rl_conversation* c, __u32 stream_id) {
  return (c->h2_streams[rl_h2_slot(stream_id)] & ~3u) == stream_id << 2;
}

RL_PURE __u32 rl_h2_stream_state(const struct rl_conversation* c, __u32 stream_id) {
  return c->h2_streams[rl_h2_slot(stream_id)] & 3;
}

/* Some remembered stream waits for its answer. */
RL_PURE __u32 rl_h2_outstanding(const struct rl_conversation* c) {
  __u32 i;

  for (i = 0; i < RL_H2_STREAMS_MAX; i++) {
    __u32 stream = c->h2_streams[i];
    if (stream != 0 && (stream & 3) == RL_H2_OPEN)
      return 1;
  }
  return 0;
}

RL_PURE __u32 rl_h2_request_whole(struct rl_conversation* c, const struct rl_scan_side* s) {
  c->request.index = s->stream_id;
  c->request.path_length = 0;
  c->request.host_length = 0;
  c->request.flags = c->in_tunnel ? RL_HTTP_IN_TUNNEL : 0;
  c->request.method = RL_METHOD_OTHER;
  c->request.form = RL_FORM_H2;
  rl_h2_set_stream(c, s->stream_id, RL_H2_OPEN);
  c->h2_last_stream = s->stream_id;
  return RL_SCAN_REQUEST;
}

RL_PURE __u32 rl_h2_response_whole(struct rl_conversation* c, const struct rl_scan_side* s) {
  __u32 known = rl_h2_knows_stream(c, s->stream_id);
  __u32 state = rl_h2_stream_state(c, s->stream_id);
  __u32 status = s->status;
  __u32 flags = c->in_tunnel ? RL_HTTP_IN_TUNNEL : 0;

  if (known && state == RL_H2_ENDED)
    return 0; /* trailers */
  if (status == 0) {
    if (!known || state == RL_H2_ANSWER_UNKNOWN)
      return 0; /* perhaps trailers */
    flags |= RL_HTTP_UNKNOWN;
    /* Without END_STREAM it may be a 1xx: a status may yet follow. */
    rl_h2_set_stream(c, s->stream_id,
                     s->frame_flags & RL_H2_END_STREAM ? RL_H2_ENDED : RL_H2_ANSWER_UNKNOWN);
  } else if (status >= 200) {
    c->served = 1;
    if (known)
      rl_h2_set_stream(c, s->stream_id, RL_H2_ENDED);
  }
  c->response.request_index = s->stream_id;
  c->response.status = rl_low16(status);
  c->response.flags = rl_low16(flags);
  return RL_SCAN_RESPONSE;
}

/* The frame's last byte has passed. */
RL_PURE __u32 rl_h2_frame_end(struct rl_conversation* c, struct rl_scan_side* s, __u32 dir) {
  __u32 block = s->in_block;

  s->state = RL_H2_IN_HEAD;
  s->count = 0;
  if (block == RL_H2_NO_BLOCK || !(s->frame_flags & RL_H2_END_HEADERS))
    return 0;
  s->in_block = RL_H2_NO_BLOCK;
  if (block == RL_H2_OTHER_BLOCK)
    return 0;
  return dir == RL_EGRESS ? rl_h2_request_whole(c, s) : rl_h2_response_whole(c, s);
}

RL_PURE __u32 rl_h2_is_wanted(const struct rl_conversation* c, __u32 stream_id, __u32 dir) {
  if (!(stream_id & 1))
    return 0;
  return dir == RL_EGRESS ? stream_id > c->h2_last_stream : stream_id <= c->h2_last_stream;
}

/* frame_flags keeps END_STREAM of HEADERS while its CONTINUATIONs come. */
RL_PURE __u32 rl_h2_head_whole(struct rl_conversation* c, struct rl_scan_side* s, __u32 dir) {
  __u32 flags = (s->frame_head >> 32) & 0xff;
  __u32 stream_id = s->frame_head & 0x7fffffff;
  __u32 is_block = s->type == RL_H2_HEADERS || s->type == RL_H2_PUSH_PROMISE;

  s->pad_bytes = 0;
  s->skip_bytes = 0;
  if (s->in_block != RL_H2_NO_BLOCK) {
    /* RFC 9113 section 6.10: nothing may come in between. */
    if (s->type != RL_H2_CONTINUATION || stream_id != s->stream_id)
      return rl_lose(c);
    s->frame_flags |= flags & RL_H2_END_HEADERS;
  } else if (s->type == RL_H2_CONTINUATION ||
             (dir == RL_INGRESS && !s->frames && s->type != RL_H2_SETTINGS)) {
    return rl_lose(c); /* RFC 9113 section 3.4: a server's first frame is SETTINGS */
  } else if (is_block) {
    s->frame_flags = flags;
    s->stream_id = stream_id;
    s->in_block = RL_H2_OTHER_BLOCK;
    if (s->type == RL_H2_HEADERS && rl_h2_is_wanted(c, stream_id, dir))
      s->in_block = RL_H2_WANTED_BLOCK;
    rl_hpack_begin(s);
    s->skip_bytes = flags & RL_H2_PRIORITY && s->type == RL_H2_HEADERS ? 5 : 0;
  } else if (s->type == RL_H2_RST_STREAM && rl_h2_knows_stream(c, stream_id)) {
    rl_h2_set_stream(c, stream_id, RL_H2_ENDED);
  }
  s->frames = 1;
  s->state = is_block && flags & RL_H2_PADDED ? RL_H2_PAD_LENGTH : RL_H2_PAYLOAD;
  if (s->left == 0)
    return s->state == RL_H2_PAYLOAD ? rl_h2_frame_end(c, s, dir) : rl_lose(c);
  return 0;
}

RL_PURE __u32 rl_h2_head_byte(struct rl_conversation* c, struct rl_scan_side* s, __u32 dir,
                              __u8 byte) {
  __u32 at = s->count;

  s->count = at + 1;
  if (at < 3) {
    s->left = (at == 0 ? 0 : s->left << 8) | byte;
  } else if (at == 3) {
    s->type = byte;
    s->frame_head = 0;
  } else {
    s->frame_head = s->frame_head << 8 | byte;
  }
  if (at < RL_H2_HEAD_BYTES - 1)
    return 0;
  return rl_h2_head_whole(c, s, dir);
}

/* One byte that h2_skippable did not let pass. */
RL_PURE __u32 rl_h2_byte(struct rl_conversation* c, struct rl_scan_side* s, __u32 dir, __u8 byte) {
  if (s->state == RL_H2_IN_HEAD)
    return rl_h2_head_byte(c, s, dir, byte);
  s->left = s->left > 0 ? s->left - 1 : 0;
  if (s->state == RL_H2_PAD_LENGTH) {
    s->pad_bytes = byte;
    s->state = RL_H2_PAYLOAD;
    if (s->left < s->pad_bytes + s->skip_bytes)
      return rl_lose(c);
  } else if (s->skip_bytes > 0) {
    s->skip_bytes--;
  } else if (s->left >= s->pad_bytes && dir == RL_INGRESS && s->in_block == RL_H2_WANTED_BLOCK) {
    rl_hpack_byte(s, byte);
  }
  return s->left == 0 ? rl_h2_frame_end(c, s, dir) : 0;
}

/* The last byte of a frame always gets a look: that is where a head is whole. */
RL_PURE __u32 rl_h2_skippable(const struct rl_scan_side* s, __u32 dir, __u32 available) {
  __u64 free_bytes = s->left > 0 ? s->left - 1 : 0;

  if (s->state != RL_H2_PAYLOAD)
    return 0;
  if (s->in_block == RL_H2_WANTED_BLOCK) {
    if (s->skip_bytes > 0)
      return 0;
    if (dir == RL_INGRESS && s->hpack != RL_HPACK_DONE && s->left > s->pad_bytes)
      return 0;
  }
  return free_bytes < available ? rl_low32(free_bytes) : available;
}

RL_PURE void rl_h2_skip(struct rl_scan_side* s, __u32 n) {
  s->left = s->left > n ? s->left - n : 0;
}

#endif
