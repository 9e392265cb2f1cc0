// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/*
 * Which errors of OpenSSL 3 belong to which failed call?
 *
 *   ERR_vset_error, _set_error a reason of libssl (library 20), kept for the thread: it belongs to
 *                              the next SSL_get_error about a failed call, which is OpenSSL's own
 *                              contract for its error queue
 *   SSL_get_error              names that SSL*, the failed result, and on its failing ways out the
 *                              class: 1 SSL, 5 SYSCALL, 6 ZERO_RETURN
 *
 * Ways out of SSL_get_error with WANT_READ are not probed, because every non-blocking client takes
 * one for each record. So an error that was cleared by the program between two questions is known
 * by being asked about twice; it is dropped then. A shared error queue is searched oldest first,
 * and consequences (reason 407) come later: reasons are reported in that order.
 *
 * Can miss: what was pushed out of the maps of threads and sessions.
 */
#include "bpf/lib/library.bpf.h"

#define ERR_LIB_SSL 20
#define ERR_REASON_MASK 0x7fffff
#define SSL_ERROR_SSL 1
#define SSL_ERROR_SYSCALL 5
#define SSL_ERROR_ZERO_RETURN 6

SEC("uprobe")
int on_error_raised(struct user_registers* ctx) {
  if ((__u32)user_register(ctx, USER_ARG1) != ERR_LIB_SSL)
    return 0;
  struct rl_scope scope;
  if (!scope_find_current(&scope))
    return 0;
  __u32 reason = user_register(ctx, USER_ARG2) & ERR_REASON_MASK;
  struct library_thread* thread = library_thread_get(&scope);
  if (!thread || reason > 0xffff)
    return 0;
  if (thread->errors_asked)
    library_forget_errors(thread);
  __u32 count = thread->error_count;
  /* ERR_set_error calls ERR_vset_error where it is not inlined: the same error twice. */
  if (count > 0 && thread->errors[(count - 1) & (LIBRARY_ERRORS_MAX - 1)] == reason)
    return 0;
  if (count >= LIBRARY_ERRORS_MAX)
    return 0;
  thread->errors[count & (LIBRARY_ERRORS_MAX - 1)] = (__u16)reason;
  thread->error_count = (__u8)(count + 1);
  return 0;
}

SEC("uprobe")
int on_class_asked(struct user_registers* ctx) {
  __s32 result = (__s32)user_register(ctx, USER_ARG2);
  if (result > 0)
    return 0;
  __u64 ssl = user_register(ctx, USER_ARG1);
  struct library_session* session = library_session_of(ssl);
  struct rl_scope scope;
  if (!session || !scope_find_current(&scope))
    return 0;
  if (session->random_at)
    library_report_random(&scope, session, ssl);
  if (session->written) {
    session->unconfirmed = session->written;
    session->written = 0;
  }
  struct library_thread* thread = library_thread_get(&scope);
  if (!thread)
    return 0;
  if (thread->errors_asked)
    library_forget_errors(thread);
  else if (thread->error_count)
    thread->errors_asked = 1;
  thread->verifying = 0;
  thread->asked = ssl;
  thread->asked_result = result;
  return 0;
}

static __always_inline int library_class_told(struct user_registers* ctx) {
  __s32 class = (__s32)user_register(ctx, USER_RESULT);
  if (class != SSL_ERROR_SSL && class != SSL_ERROR_SYSCALL && class != SSL_ERROR_ZERO_RETURN)
    return 0;
  struct rl_scope scope;
  if (!scope_find_current(&scope))
    return 0;
  struct library_thread* thread = library_thread_known();
  if (!thread || !thread->asked)
    return 0;
  __u64 ssl = thread->asked;
  __u32 count = class == SSL_ERROR_SSL ? thread->error_count : 0;
  for (__u32 i = 0; i < LIBRARY_ERRORS_MAX; i++) {
    if (i < count)
      library_report(&scope, RL_LIB_ERROR, ssl, thread->errors[i], 0);
  }
  library_report(&scope, RL_LIB_RESULT, ssl, class, thread->asked_result);
  thread->asked = 0;
  library_forget_errors(thread);
  library_thread_put(thread);
  return 0;
}

SEC("uprobe")
int on_class_told(struct user_registers* ctx) {
  return library_class_told(ctx);
}

SEC("uprobe")
int on_class_told_if_equal(struct user_registers* ctx) {
  return user_register(ctx, USER_FLAGS) & USER_ZERO_FLAG ? library_class_told(ctx) : 0;
}

SEC("uprobe")
int on_class_told_if_unequal(struct user_registers* ctx) {
  return user_register(ctx, USER_FLAGS) & USER_ZERO_FLAG ? 0 : library_class_told(ctx);
}
