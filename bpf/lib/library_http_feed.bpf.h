/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * Gives the plaintext of one call of the TLS library to its session's scanner: user memory, read in
 * small chunks, a byte that needs a look or a whole stretch that needs none for each step. A call
 * of more than HTTP_STEPS_MAX steps loses the conversation. Says afterwards whether reads are still
 * wanted: until the answer's head is whole, and a few more, so that short bodies are passed by
 * their framing.
 */
#ifndef ROUTELENS_BPF_LIB_LIBRARY_HTTP_FEED_BPF_H
#define ROUTELENS_BPF_LIB_LIBRARY_HTTP_FEED_BPF_H

#include "bpf/lib/library_http_report.bpf.h"
#include "bpf/lib/scanners.bpf.h"

#define HTTP_CHUNK_BYTES 64
#define HTTP_STEPS_MAX 16384
#define HTTP_BODY_READS_MAX 16

struct http_feed {
  const struct rl_scope* scope;
  struct library_session* session;
  struct rl_conversation* conversation;
  __u64 ssl;
  __u64 at;
  __u64 left;
  __u64 chunk_start;
  __u64 chunk_end;
  __u32 direction;
  __u8 chunk[HTTP_CHUNK_BYTES];
};

/* Passes the stretch that needs no look; returns its length, 0 when there is none. */
__noinline __u32 http_skip(struct rl_conversation* c, __u32 direction, __u32 available) {
  __u8 dir = direction & 1;
  if (!c)
    return 0;
  __u32 n = rl_conversation_skippable(c, dir, available);
  if (n)
    rl_conversation_skip(c, dir, n);
  return n;
}

static long http_step(__u32 index, struct http_feed* feed) {
  struct rl_conversation* c = feed->conversation;
  __u32 direction = feed->direction;
  if (!feed->left || c->settled)
    return 1;
  __u32 available = feed->left > 0xffffffff ? 0xffffffff : (__u32)feed->left;
  __u32 skipped = http_skip(c, direction, available);
  if (skipped) {
    feed->at += skipped;
    feed->left -= skipped;
    return 0;
  }
  if (feed->at < feed->chunk_start || feed->at >= feed->chunk_end) {
    __u32 length = available < HTTP_CHUNK_BYTES ? available : HTTP_CHUNK_BYTES;
    /* The range by a mask: the verifier of 6.1 and before answers "invalid zero-sized read". */
    length = ((length - 1) & (HTTP_CHUNK_BYTES - 1)) + 1;
    if (bpf_probe_read_user(feed->chunk, length, (const void*)feed->at)) {
      emit_count_loss(feed->scope, RL_DROP_HELPER_FAILED);
      rl_lose(c);
      return 1;
    }
    feed->chunk_start = feed->at;
    feed->chunk_end = feed->at + length;
  }
  if (feed->session->request_held && direction == RL_EGRESS && http_next_request(c))
    http_release_request(feed->scope, feed->session, c, feed->ssl);
  __u32 into = (__u32)(feed->at - feed->chunk_start);
  __u32 events = scanners_byte(c, direction, feed->chunk[rl_masked(into, HTTP_CHUNK_BYTES)]);
  if (events)
    http_report(feed->scope, feed->session, c, feed->ssl, events);
  feed->at++;
  feed->left--;
  return 0;
}

/* Whether what is read next may tell something. */
static __always_inline __u8 http_wants_reads(const struct library_session* session,
                                             const struct rl_conversation* c) {
  const struct rl_scan_side* side = &c->side[RL_INGRESS];
  if (c->settled || c->protocol == RL_PROTOCOL_UNDECIDED)
    return 0;
  if (c->protocol != RL_PROTOCOL_HTTP1 || c->asked != c->answered)
    return 1;
  if (side->state == RL_HTTP_BODY_UNTIL_CLOSE)
    return 0;
  return !rl_http_in_data(side) || session->body_reads < HTTP_BODY_READS_MAX;
}

/* Inlined: a called function may not spill pointers into its caller's stack ("cannot spill pointers
 * to stack into stack frame of the caller"), where `feed` lies. */
static __always_inline void http_feed(struct http_feed* feed) {
  struct library_session* session = feed->session;
  struct rl_conversation* c = feed->conversation;
  bpf_loop(HTTP_STEPS_MAX, http_step, feed, 0);
  if (feed->left && !c->settled)
    rl_lose(c); /* more framing than we follow in one call */
  if (c->protocol != RL_PROTOCOL_HTTP1 && c->protocol != RL_PROTOCOL_H2 &&
      c->protocol != RL_PROTOCOL_UNDECIDED)
    rl_settle(c);
  if (c->settled)
    http_give_up(session);
  else
    session->reads_wanted = http_wants_reads(session, c);
}

#endif
