/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * The maps that several programs share, as one readable list. Defined once, in
 * bpf/programs/maps.bpf.c; declared here as extern, so that the linked object has one of each.
 */
#ifndef ROUTELENS_BPF_LIB_MAPS_BPF_H
#define ROUTELENS_BPF_LIB_MAPS_BPF_H

#include "bpf/abi/abi.h"
#include "bpf/abi/counters.h"
#include "bpf/abi/flow.h"
#include "bpf/pure/conversation_state.h"

#include <bpf/bpf_helpers.h>

/* Everything that leaves the kernel. The loader sets its size. */
struct rl_events_map {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, 1 << 24);
};
extern struct rl_events_map events SEC(".maps");

/* What was made and lost, by boundary index. User space maps it and only reads. */
struct rl_counters_map {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, BPF_F_MMAPABLE);
  __uint(max_entries, RL_MAX_BOUNDARIES);
  __type(key, __u32);
  __type(value, struct rl_boundary_counters);
};
extern struct rl_counters_map counters SEC(".maps");

/* Run-time switches, one entry. */
struct rl_settings_map {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct rl_settings);
};
extern struct rl_settings_map settings SEC(".maps");

/* To which boundary does a cgroup belong? Key: cgroup id. */
struct rl_boundary_cgroups_map {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 4096);
  __type(key, __u64);
  __type(value, struct rl_scope);
};
extern struct rl_boundary_cgroups_map boundary_cgroups SEC(".maps");

/* To which boundary does a process belong, where cgroups cannot tell? The start time in the key
 * is floored to RL_START_TICK_NS: /proc tells it no finer. Children inherit at fork. */
struct rl_boundary_processes_map {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 16384);
  __type(key, struct rl_process_key);
  __type(value, struct rl_scope);
};
extern struct rl_boundary_processes_map boundary_processes SEC(".maps");

/* Which socket is this thread connecting now? Filled in the connect hook, marked when TCP sends its
 * SYN. The witness of connect()'s return removes it, else the handshake's or the socket's end. */
struct rl_connecting {
  __u64 cookie;
  __u64 sk; /* struct sock*, to be read only while its cookie is this one */
  struct rl_scope scope;
  __u8 syn_sent;
  __u8 pad[7];
};
struct rl_connecting_threads_map {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 8192);
  __type(key, __u64); /* bpf_get_current_pid_tgid() */
  __type(value, struct rl_connecting);
};
extern struct rl_connecting_threads_map connecting_threads SEC(".maps");

/* A conversation, and for each direction the run of bytes of the packet in hand that will leave as
 * one STREAM record. */
struct rl_scan {
  struct rl_conversation conversation;
  __u32 run_start[2];
  __u32 run_length[2];
};

/* What is known of this socket's connection? Lives and dies with the socket. A socket without an
 * entry is not watched: outside every boundary, accepted, or not asking for DNS. */
struct rl_flows_map {
  __uint(type, BPF_MAP_TYPE_SK_STORAGE);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __type(key, int);
  __type(value, struct rl_flow);
};
extern struct rl_flows_map flows SEC(".maps");

/* How far has this connection been read? Made when it is established, given up when nothing more
 * can be learnt: a settled connection keeps only its small entry in `flows`. */
struct rl_conversations_map {
  __uint(type, BPF_MAP_TYPE_SK_STORAGE);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __type(key, int);
  __type(value, struct rl_scan);
};
extern struct rl_conversations_map conversations SEC(".maps");

#endif
