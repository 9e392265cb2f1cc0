/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * What is told of HTTP inside TLS, and when. A request is held until the next call shows that its
 * write was taken: Node writes its request before the handshake is through.
 *
 * Reads that went by unseen are made up for at the next request, since without pipelining its
 * answer is the next thing read. An answer placed like this never counts as malformed: if it does
 * not read as one, the conversation is lost.
 */
#ifndef ROUTELENS_BPF_LIB_LIBRARY_HTTP_REPORT_BPF_H
#define ROUTELENS_BPF_LIB_LIBRARY_HTTP_REPORT_BPF_H

#include "bpf/lib/http_records.bpf.h"
#include "bpf/lib/library.bpf.h"
#include "bpf/pure/conversation.h"

static __always_inline void http_give_up(struct library_session* session) {
  session->conversing = LIBRARY_DEAF;
  session->reads_wanted = 0;
}

__noinline int http_release_request(const struct rl_scope* scope, struct library_session* session,
                                    const struct rl_conversation* c, __u64 ssl) {
  if (!scope || !session || !c)
    return 0;
  session->request_held = 0;
  http_emit_request(scope, c, ssl, RL_HTTP_LIBRARY);
  return 0;
}

/* The next byte that is looked at begins another request: the one that is held is overwritten. */
static __always_inline int http_next_request(const struct rl_conversation* c) {
  return c->protocol == RL_PROTOCOL_H2 || c->side[RL_EGRESS].state == RL_HTTP_START;
}

/* Reads went by: the next thing that is read answers this request, if it is the only one open. */
static __always_inline void http_resynchronise(struct library_session* session,
                                               struct rl_conversation* c) {
  if (!session->reads_skipped)
    return;
  session->reads_skipped = 0;
  session->resynchronised = 1;
  if (c->asked - c->answered != 1)
    rl_lose(c);
  else
    __builtin_memset(&c->side[RL_INGRESS], 0, sizeof(c->side[RL_INGRESS]));
}

/* `events`: of enum rl_scan_event, what the byte before said. */
__noinline int http_report(const struct rl_scope* scope, struct library_session* session,
                           struct rl_conversation* c, __u64 ssl, __u32 events) {
  if (!scope || !session || !c)
    return 0;
  if (events & RL_SCAN_REQUEST) {
    http_resynchronise(session, c);
    session->request_held = 1;
  }
  if (events & RL_SCAN_RESPONSE) {
    session->body_reads = 0;
    if (session->resynchronised && (c->response.flags & RL_HTTP_MALFORMED))
      rl_lose(c);
    else
      http_emit_response(scope, c, ssl, RL_HTTP_LIBRARY);
  }
  return 0;
}

#endif
