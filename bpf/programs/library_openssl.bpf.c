// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/*
 * Why did a TLS handshake fail? From eight functions of OpenSSL 3 that are cold or rare, shared or
 * built into a program, without one offset into its structures: arguments and results only. Here
 * the handshake and the certificate; library_openssl_errors.bpf.c has the errors.
 *
 *   SSL_clear                  a handshake begins on this SSL*; on this thread the next 32 random
 *   RAND_bytes_ex(32)          bytes are its ClientHello's random: the join to the wire
 *   X509_STORE_CTX_set_ex_data verification of the peer begins for the SSL* in the third argument
 *   X509_STORE_CTX_get_error   its result
 *   SSL_get_verify_result      second witness for the certificate, asked by curl and Node
 *   SSL_free                   the end
 *
 * One probe never tells a call's success: SSL_connect and SSL_do_handshake leave by jumps, and Node
 * handshakes inside SSL_read. The wire does.
 *
 * On hot functions the session is looked for before the boundary: one look-up instead of three, and
 * only processes inside a boundary have sessions.
 *
 * Can miss: threads and sessions pushed out of the maps; a handshake that began before the probes;
 * the random when the process dies in the first read of a blocking handshake.
 */
#include "bpf/lib/library.bpf.h"

SEC("uprobe")
int on_ssl_clear(struct user_registers* ctx) {
  struct rl_scope scope;
  if (!scope_find_current(&scope))
    return 0;
  __u64 ssl = user_register(ctx, USER_ARG1);
  struct library_key key;
  struct library_session fresh = {};
  struct library_thread* thread = library_thread_get(&scope);
  if (!ssl || !thread)
    return 0;
  library_key_fill(&key, ssl);
  if (bpf_map_update_elem(&library_sessions, &key, &fresh, BPF_ANY)) {
    emit_count_loss(&scope, RL_DROP_MAP_FULL);
    return 0;
  }
  thread->starting = ssl;
  thread->verifying = 0;
  library_report(&scope, RL_LIB_START, ssl, 0, 0);
  return 0;
}

SEC("uprobe")
int on_random_bytes(struct user_registers* ctx) {
  if (user_register(ctx, USER_ARG3) != HELLO_RANDOM_BYTES)
    return 0;
  struct rl_scope scope;
  if (!scope_find_current(&scope))
    return 0;
  struct library_thread* thread = library_thread_known();
  if (!thread || !thread->starting)
    return 0;
  struct library_session* session = library_session_of(thread->starting);
  if (session)
    session->random_at = user_register(ctx, USER_ARG2);
  thread->starting = 0;
  library_thread_put(thread);
  return 0;
}

SEC("uprobe")
int on_verify_begin(struct user_registers* ctx) {
  struct rl_scope scope;
  if (!scope_find_current(&scope))
    return 0;
  __u64 ssl = user_register(ctx, USER_ARG3);
  struct library_session* session = library_session_of(ssl);
  if (!session) /* data of another kind */
    return 0;
  struct library_thread* thread = library_thread_get(&scope);
  if (!thread)
    return 0;
  thread->verifying = ssl;
  library_report_random(&scope, session, ssl);
  return 0;
}

/* Programs may ask in a callback before libssl does: the last answer counts. */
SEC("uprobe")
int on_verify_end(struct user_registers* ctx) {
  struct rl_scope scope;
  if (!scope_find_current(&scope))
    return 0;
  struct library_thread* thread = library_thread_known();
  if (thread && thread->verifying)
    library_report(&scope, RL_LIB_VERIFY, thread->verifying, (__s32)user_register(ctx, USER_RESULT),
                   0);
  return 0;
}

SEC("uprobe")
int on_verify_told(struct user_registers* ctx) {
  struct rl_scope scope;
  if (!scope_find_current(&scope))
    return 0;
  __u64 ssl = user_register(ctx, USER_ARG1);
  if (library_session_of(ssl))
    library_report(&scope, RL_LIB_VERIFY_ASKED, ssl, (__s64)user_register(ctx, USER_RESULT), 0);
  return 0;
}

SEC("uprobe")
int on_ssl_free(struct user_registers* ctx) {
  __u64 ssl = user_register(ctx, USER_ARG1);
  struct library_session* session = ssl ? library_session_of(ssl) : NULL;
  struct rl_scope scope;
  if (!session || !scope_find_current(&scope))
    return 0;
  library_report_random(&scope, session, ssl);
  library_report(&scope, RL_LIB_FREE, ssl, 0, 0);
  struct library_key key;
  library_key_fill(&key, ssl);
  bpf_map_delete_elem(&library_sessions, &key);
  bpf_map_delete_elem(&library_conversations, &key);
  struct library_thread* thread = library_thread_known();
  if (!thread)
    return 0;
  if (thread->starting == ssl)
    thread->starting = 0;
  if (thread->verifying == ssl)
    thread->verifying = 0;
  if (thread->asked == ssl)
    thread->asked = 0;
  if (!thread->asked)
    library_forget_errors(thread);
  library_thread_put(thread);
  return 0;
}
