/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * What the TLS library programs remember between two probes, and how they report. All of it lies in
 * bounded LRU maps: SSL_free and the end of a call delete their entries; what a killed process left
 * behind is pushed out first. A session that was pushed out makes no further claim.
 *
 * A session is one SSL* of one process from SSL_clear on. An SSL* whose start was not seen is not
 * watched: without the random of its ClientHello nothing could be joined to it.
 */
#ifndef ROUTELENS_BPF_LIB_LIBRARY_MAPS_BPF_H
#define ROUTELENS_BPF_LIB_LIBRARY_MAPS_BPF_H

#include "bpf/pure/conversation_state.h"

#include <bpf/bpf_helpers.h>

#define LIBRARY_ERRORS_MAX 4

struct library_key {
  __u64 ssl;
  __u32 tgid;
  __u32 pad;
};

enum library_conversing {
  LIBRARY_SILENT = 0,     /* nothing was written yet */
  LIBRARY_CONVERSING = 1, /* a conversation was made */
  LIBRARY_DEAF = 2,       /* it was lost, or nothing more can be learnt */
};

struct library_session {
  __u64 random_at;     /* where the ClientHello's random will be, or is; 0 when reported */
  __u64 written;       /* bytes handed to the write that nothing was called after yet */
  __u64 unconfirmed;   /* bytes that will be handed over once more: their write failed */
  __u32 body_reads;    /* reads since an answer's head was whole */
  __u8 conversing;     /* enum library_conversing */
  __u8 reads_wanted;   /* what is read next may show a status */
  __u8 reads_skipped;  /* reads went by unseen: the place within the answers is not known */
  __u8 resynchronised; /* answers are placed by their request, not by counting every byte */
  __u8 request_held;   /* the conversation's request is to be reported once its write is through */
  __u8 pad[7];
};

struct library_sessions_map {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, 16384);
  __type(key, struct library_key);
  __type(value, struct library_session);
};
extern struct library_sessions_map library_sessions SEC(".maps");

/* How far has this session been read? Made at its first write. */
struct library_conversations_map {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, 4096);
  __type(key, struct library_key);
  __type(value, struct rl_conversation);
};
extern struct library_conversations_map library_conversations SEC(".maps");

/* What is this thread in the middle of? */
struct library_thread {
  __u64 starting;  /* SSL* of the last SSL_clear, until its random's place is known */
  __u64 verifying; /* SSL* whose peer's certificate is being verified */
  __u64 asked;     /* SSL* of the last SSL_get_error about a failed call */
  __s32 asked_result;
  __u16 errors[LIBRARY_ERRORS_MAX]; /* reasons, oldest first, that no SSL* has claimed yet */
  __u8 error_count;
  __u8 errors_asked; /* SSL_get_error was called since, and did not claim them */
  __u8 pad[2];
};

struct library_threads_map {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, 16384);
  __type(key, __u64); /* bpf_get_current_pid_tgid() */
  __type(value, struct library_thread);
};
extern struct library_threads_map library_threads SEC(".maps");

#endif
