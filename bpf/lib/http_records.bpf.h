/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * HTTP_REQUEST and HTTP_RESPONSE records out of a conversation, for both witnesses. `key` is the
 * socket's cookie on the wire and the SSL* in the library. Only the library names who called: it
 * runs in the caller's context, a packet does not. `witness` must be a constant.
 */
#ifndef ROUTELENS_BPF_LIB_HTTP_RECORDS_BPF_H
#define ROUTELENS_BPF_LIB_HTTP_RECORDS_BPF_H

#include "bpf/lib/emit.bpf.h"
#include "bpf/lib/owner.bpf.h"

/* A macro, because the verifier must see that the lengths it compared are the ones it copies. */
#define http_emit_request_within(scope, c, ssl_or_cookie, who, path, host, room)    \
  do {                                                                              \
    struct rl_ev_http_request* ev =                                                 \
        emit_reserve(scope, RL_EV_HTTP_REQUEST, sizeof(*ev) + (room), sizeof(*ev)); \
    if (!ev)                                                                        \
      break;                                                                        \
    if (bpf_probe_read_kernel(ev->text, path, (c)->request.path) ||                 \
        bpf_probe_read_kernel(ev->text + (path), host, (c)->request.host)) {        \
      emit_discard(ev, scope);                                                      \
      break;                                                                        \
    }                                                                               \
    if ((who) == RL_HTTP_LIBRARY)                                                   \
      owner_fill(&ev->owner);                                                       \
    ev->key = ssl_or_cookie;                                                        \
    ev->request_index = (c)->request.index;                                         \
    ev->path_length = (__u16)(path);                                                \
    ev->host_length = (__u16)(host);                                                \
    ev->flags = (c)->request.flags;                                                 \
    ev->witness = (who);                                                            \
    ev->method = (c)->request.method;                                               \
    ev->form = (c)->request.form;                                                   \
    ev->header.size = (__u16)(sizeof(*ev) + (path) + (host));                       \
    emit_submit(ev);                                                                \
  } while (0)

static __always_inline void http_emit_request(const struct rl_scope* scope,
                                              const struct rl_conversation* c, __u64 key,
                                              enum rl_http_witness witness) {
  __u32 path = c->request.path_length;
  __u32 host = c->request.host_length;
  if (path <= 64 && host <= 64) {
    http_emit_request_within(scope, c, key, witness, path, host, 128);
    return;
  }
  if (path > RL_PATH_MAX || host > RL_HOST_MAX)
    return;
  http_emit_request_within(scope, c, key, witness, path, host, RL_PATH_MAX + RL_HOST_MAX);
}

static __always_inline void http_emit_response(const struct rl_scope* scope,
                                               const struct rl_conversation* c, __u64 key,
                                               enum rl_http_witness witness) {
  struct rl_ev_http_response* ev =
      emit_reserve_fixed(scope, RL_EV_HTTP_RESPONSE, struct rl_ev_http_response);
  if (!ev)
    return;
  if (witness == RL_HTTP_LIBRARY)
    owner_fill(&ev->owner);
  ev->key = key;
  ev->request_index = c->response.request_index;
  ev->status = c->response.status;
  ev->flags = c->response.flags;
  ev->witness = witness;
  emit_submit(ev);
}

#endif
