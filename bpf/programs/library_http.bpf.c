// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/*
 * HTTP inside TLS: request line up to '?' and Host out of what is written, the status code out of
 * what is read, by the same scanner as on the wire (bpf/pure/conversation.h). Nothing else of the
 * plaintext is kept or leaves the kernel.
 *
 * A write is seen whole at its entry. One that failed is followed by SSL_get_error, and its bytes
 * come once more: they are not scanned twice (session->unconfirmed).
 *
 * A read is seen when it returns, in one of three ways, the cheapest that is safe here:
 *   on_ssl_read(_ex)         one program for entry and return; it asks for the return call by call,
 *                            so that reads nobody wants cost the entry alone (uprobe session, 6.13)
 *   on_ssl_read(_ex)_begin   and a return probe
 *   on_ssl_read(_ex)_begin   and probes at the ways out
 *
 * What becomes of the bytes: library_http_feed.bpf.h; of what they say: library_http_report.bpf.h.
 * In a long body reads are let go, until the next request.
 *
 * Not in the floor object: it needs bpf_loop() (5.17).
 *
 * Can miss: a conversation that was pushed out of its map (no claim is made any more); writes in
 * part (SSL_MODE_ENABLE_PARTIAL_WRITE) of more than one record; SSL_sendfile, SSL_peek. A server
 * reads before it writes: its connections are let go at the first write.
 */
#ifndef RL_FLOOR

#include "bpf/lib/library_http_feed.bpf.h"

/* A conversation's start: never written. Too large for the stack. */
struct fresh_conversations_map {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct rl_conversation);
};
struct fresh_conversations_map fresh_conversations SEC(".maps");

/* Which read is this thread in? */
struct open_read {
  __u64 ssl;
  __u64 buffer;
  __u64 count_at; /* SSL_read_ex: where the number of bytes will be */
};
struct open_reads_map {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, 4096);
  __type(key, __u64); /* bpf_get_current_pid_tgid() */
  __type(value, struct open_read);
};
struct open_reads_map open_reads SEC(".maps");

static __always_inline struct rl_conversation* http_conversation_of(__u64 ssl) {
  struct library_key key;
  library_key_fill(&key, ssl);
  return bpf_map_lookup_elem(&library_conversations, &key);
}

static __always_inline struct rl_conversation* http_conversation_make(__u64 ssl) {
  struct library_key key;
  __u32 zero = 0;
  library_key_fill(&key, ssl);
  struct rl_conversation* fresh = bpf_map_lookup_elem(&fresh_conversations, &zero);
  if (!fresh || bpf_map_update_elem(&library_conversations, &key, fresh, BPF_ANY))
    return NULL;
  return bpf_map_lookup_elem(&library_conversations, &key);
}

SEC("uprobe")
int on_ssl_write(struct user_registers* ctx) {
  __u64 ssl = user_register(ctx, USER_ARG1);
  struct library_session* session = library_session_of(ssl);
  struct rl_scope scope;
  if (!session || !scope_find_current(&scope))
    return 0;
  if (session->random_at)
    library_report_random(&scope, session, ssl);
  if (session->conversing == LIBRARY_DEAF)
    return 0;
  struct rl_conversation* c = session->conversing == LIBRARY_CONVERSING
                                  ? http_conversation_of(ssl)
                                  : http_conversation_make(ssl);
  if (!c) {
    emit_count_loss(&scope, RL_DROP_MAP_FULL);
    http_give_up(session);
    return 0;
  }
  session->conversing = LIBRARY_CONVERSING;
  /* SSL_write takes an int, SSL_write_ex a size_t: what both can mean. */
  __u64 length = user_register(ctx, USER_ARG3) & 0x7fffffff;
  if (session->request_held && !session->unconfirmed)
    http_release_request(&scope, session, c, ssl);
  __u64 again = session->unconfirmed < length ? session->unconfirmed : length;
  session->unconfirmed = 0;
  session->written = length;
  struct http_feed feed = {
      .scope = &scope,
      .session = session,
      .conversation = c,
      .ssl = ssl,
      .at = user_register(ctx, USER_ARG2) + again,
      .left = length - again,
      .direction = RL_EGRESS,
  };
  http_feed(&feed);
  return 0;
}

/* 1: the read's return is wanted. The session is looked for first, since only processes inside a
 * boundary have one: this is the hottest point of all, for every user of the library on the host.
 */
static __always_inline int http_read_begins(struct user_registers* ctx, __u64 count_at) {
  __u64 ssl = user_register(ctx, USER_ARG1);
  struct library_session* session = library_session_of(ssl);
  if (!session)
    return 0;
  session->written = 0; /* a question about a failed call is about this read */
  if (!session->reads_wanted) {
    if (session->conversing == LIBRARY_CONVERSING)
      session->reads_skipped = 1;
    return 0;
  }
  struct rl_scope scope;
  if (!scope_find_current(&scope))
    return 0;
  if (session->request_held && !session->unconfirmed) {
    struct rl_conversation* c = http_conversation_of(ssl);
    if (c)
      http_release_request(&scope, session, c, ssl);
  }
  struct open_read open = {
      .ssl = ssl,
      .buffer = user_register(ctx, USER_ARG2),
      .count_at = count_at,
  };
  __u64 thread = bpf_get_current_pid_tgid();
  if (bpf_map_update_elem(&open_reads, &thread, &open, BPF_ANY)) {
    emit_count_loss(&scope, RL_DROP_MAP_FULL);
    http_give_up(session);
    return 0;
  }
  return 1;
}

static __always_inline int http_read_ends(struct user_registers* ctx) {
  __u64 thread = bpf_get_current_pid_tgid();
  struct open_read* found = bpf_map_lookup_elem(&open_reads, &thread);
  if (!found)
    return 0;
  struct open_read open = *found;
  bpf_map_delete_elem(&open_reads, &thread);
  __s32 result = (__s32)user_register(ctx, USER_RESULT);
  if (result <= 0)
    return 0;
  struct rl_scope scope;
  if (!scope_find_current(&scope))
    return 0;
  struct library_session* session = library_session_of(open.ssl);
  struct rl_conversation* c = http_conversation_of(open.ssl);
  if (!session)
    return 0;
  struct http_feed feed = {
      .scope = &scope,
      .session = session,
      .conversation = c,
      .ssl = open.ssl,
      .at = open.buffer,
      .left = (__u64)result,
      .direction = RL_INGRESS,
  };
  if (!c || (open.count_at &&
             bpf_probe_read_user(&feed.left, sizeof(feed.left), (const void*)open.count_at))) {
    emit_count_loss(&scope, c ? RL_DROP_HELPER_FAILED : RL_DROP_MAP_FULL);
    http_give_up(session);
    return 0;
  }
  session->body_reads++;
  http_feed(&feed);
  return 0;
}

/* Where entry and return run the same program: at the return the probed address is behind us. */
static __always_inline int is_return(struct user_registers* ctx) {
  return bpf_get_func_ip(ctx) != user_register(ctx, USER_IP);
}

SEC("uprobe")
int on_ssl_read(struct user_registers* ctx) {
  return is_return(ctx) ? http_read_ends(ctx) : !http_read_begins(ctx, 0);
}

SEC("uprobe")
int on_ssl_read_ex(struct user_registers* ctx) {
  return is_return(ctx) ? http_read_ends(ctx)
                        : !http_read_begins(ctx, user_register(ctx, USER_ARG4));
}

SEC("uprobe")
int on_ssl_read_begin(struct user_registers* ctx) {
  http_read_begins(ctx, 0);
  return 0;
}

SEC("uprobe")
int on_ssl_read_ex_begin(struct user_registers* ctx) {
  http_read_begins(ctx, user_register(ctx, USER_ARG4));
  return 0;
}

SEC("uprobe")
int on_ssl_read_end(struct user_registers* ctx) {
  return http_read_ends(ctx);
}

SEC("uprobe")
int on_ssl_read_ex_end(struct user_registers* ctx) {
  return http_read_ends(ctx);
}

#endif
