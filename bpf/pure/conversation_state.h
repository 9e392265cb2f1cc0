/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * What the scanners of bpf/pure know about one connection, as one flat struct: it lives in
 * socket-local storage, all zero is the start, and no member points anywhere.
 *
 * Egress and ingress may run at once on two CPUs. So each direction writes only its own `side`
 * and its own reports; the shared members have one writer each (said beside them) or can only be
 * raised. Whatever a race leaves behind, every index is masked before use.
 */
#ifndef ROUTELENS_BPF_PURE_CONVERSATION_STATE_H
#define ROUTELENS_BPF_PURE_CONVERSATION_STATE_H

#include "bpf/abi/events.h"

#define RL_PURE static inline __attribute__((always_inline))

#define RL_HEAD_MAX 65536    /* longest HTTP head that is followed */
#define RL_PIPELINE_MAX 16   /* HTTP/1 requests outstanding at once; a power of two */
#define RL_H2_STREAMS_MAX 32 /* HTTP/2 streams remembered; a power of two */

enum rl_scan_event {
  RL_SCAN_REQUEST = 1,     /* a request's head is whole: `request` describes it */
  RL_SCAN_RESPONSE = 2,    /* an answer's head is whole, or malformed: `response` */
  RL_SCAN_TLS_RECORD = 4,  /* a TLS record's head (an alert's body too): `tls[direction]` */
  RL_SCAN_STREAM_BYTE = 8, /* this byte is part of what is to be copied out */
  RL_SCAN_SETTLED = 16,    /* nothing more will be said of this connection */
};

enum rl_scan_protocol {
  RL_PROTOCOL_UNDECIDED = 0, /* waiting for the client's first byte */
  RL_PROTOCOL_HTTP1 = 1,
  RL_PROTOCOL_H2 = 2,
  RL_PROTOCOL_TLS = 3,
  RL_PROTOCOL_DNS = 4,
  RL_PROTOCOL_OPAQUE = 5,
};

/* Kinds of request that change how the answer is framed. */
enum rl_request_kind { RL_KIND_PLAIN = 0, RL_KIND_HEAD = 1, RL_KIND_CONNECT = 2 };

struct rl_scanned_request {
  __u32 index;
  __u16 path_length;
  __u16 host_length;
  __u16 flags; /* enum rl_http_flags */
  __u8 method; /* enum rl_http_method */
  __u8 form;   /* enum rl_http_form */
  __u8 path[RL_PATH_MAX];
  __u8 host[RL_HOST_MAX];
};

struct rl_scanned_response {
  __u32 request_index;
  __u16 status;
  __u16 flags; /* enum rl_http_flags */
};

struct rl_scanned_record {
  __u16 index;
  __u16 length;
  __u16 version;
  __u8 content_type;
  __u8 alert_level;
  __u8 alert_description;
  __u8 pad[3];
};

/* One direction. A member belongs to the protocol named before it; all are zero at its start. */
struct rl_scan_side {
  __u64 left;           /* bytes of a body, chunk, record or frame still to pass */
  __u64 content_length; /* HTTP/1 */
  __u64 word0;          /* HTTP/1: the last token, its first 8 bytes; HTTP/2: hpack value */
  __u64 word1;
  __u64 word2;
  __u64 frame_head; /* HTTP/2: flags and stream id of the frame's head */
  __u32 state;      /* of the protocol's scanner */
  __u32 count;      /* place within what the state reads */
  __u32 taken;      /* bytes to be copied out so far */
  __u32 head_bytes;
  __u32 seen;            /* HTTP/1: enum rl_field_seen */
  __u32 field;           /* HTTP/1: enum rl_field */
  __u32 status;          /* HTTP, ingress */
  __u32 early;           /* HTTP/1, egress: bytes came between CONNECT and its answer */
  __u32 awaits_continue; /* HTTP/1, egress: Expect was sent and no body byte yet */
  __u32 type;            /* TLS: content type; HTTP/2: frame type */
  __u32 record_length;   /* TLS */
  __u32 version;         /* TLS */
  __u32 records;         /* TLS: heads seen */
  __u32 protected_data;  /* TLS: a record of type 23 was seen */
  __u32 cipher_changed;  /* TLS: ChangeCipherSpec was seen */
  __u32 frame_flags;     /* HTTP/2 */
  __u32 stream_id;       /* HTTP/2 */
  __u32 pad_bytes;       /* HTTP/2: padding at the end of this frame */
  __u32 skip_bytes;      /* HTTP/2: priority fields before the block */
  __u32 in_block;        /* HTTP/2: enum rl_h2_block */
  __u32 hpack;           /* HTTP/2: enum rl_hpack_state */
  __u32 frames;          /* HTTP/2: 1 after the first frame */
};

struct rl_conversation {
  struct rl_scanned_request request;   /* written by egress */
  struct rl_scanned_response response; /* written by ingress */
  struct rl_scanned_record tls[2];     /* by direction */
  struct rl_scan_side side[2];         /* by direction; enum rl_direction is the index */
  __u32 h2_streams[RL_H2_STREAMS_MAX]; /* stream id * 4 + enum rl_h2_stream_state */
  __u32 h2_last_stream;                /* written by egress */
  __u32 asked_before_tunnel;           /* what `asked` was then; written by ingress */
  __u32 asked;                         /* HTTP/1 requests seen whole; written by egress */
  __u32 answered;                      /* of these, finally answered; written by ingress */
  __u8 kinds[RL_PIPELINE_MAX];         /* of the outstanding requests; written by egress */
  __u32 protocol;  /* enum rl_scan_protocol; by egress, but for the start of a tunnel */
  __u32 in_tunnel; /* behind a CONNECT that was answered 2xx; written by ingress */
  __u32 served;    /* a final answer's head was seen whole; written by ingress */
  __u32 settled;   /* only raised */
  __u32 lost;      /* only raised; implies settled */
};
RL_ABI_ASSERT(sizeof(struct rl_conversation) <= 1200, "fits socket-local storage");

/* The index, so that the verifier sees the bound: without the barrier clang drops the mask where
 * it has proved the range by a comparison that the verifier cannot follow. */
RL_PURE __u32 rl_masked(__u32 index, __u32 power_of_two) {
  __asm__ volatile("" : "+r"(index));
  return index & (power_of_two - 1);
}

RL_PURE __u8 rl_low8(__u32 value) {
  return value & 0xff;
}
RL_PURE __u16 rl_low16(__u32 value) {
  return value & 0xffff;
}
RL_PURE __u32 rl_low32(__u64 value) {
  return value & 0xffffffff;
}

RL_PURE __u32 rl_settle(struct rl_conversation* c) {
  c->settled = 1;
  return RL_SCAN_SETTLED;
}

/* Ends all claims: what comes next cannot be placed. */
RL_PURE __u32 rl_lose(struct rl_conversation* c) {
  c->lost = 1;
  return rl_settle(c);
}

#endif
