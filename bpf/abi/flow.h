/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * What the kernel side keeps with a socket for as long as it lives (socket-local storage). It never
 * crosses the ring. User space writes it once, for a connection that is older than the sensor: as
 * RL_FLOW_UNANNOUNCED, which the next hook that meets the socket turns into a CONNECT record.
 *
 * Life of a flow; `phase` changes only under `lock`, and only like this:
 *
 *   NONE, ENDED  --connect()-->       ASKED
 *   ASKED        --SYN goes out-->    CONNECTING
 *   CONNECTING   --handshake done-->  ESTABLISHED
 *   UNANNOUNCED  --any hook-->        CONNECTING or ESTABLISHED
 *   any but NONE --failed, released, or asked to connect again-->  ENDED (one FLOW_END)
 *
 * The other members have one writer each, as said beside them, so that no update is lost where the
 * kernel has no atomic OR (before 5.12).
 */
#ifndef ROUTELENS_BPF_ABI_FLOW_H
#define ROUTELENS_BPF_ABI_FLOW_H

#include <linux/bpf.h>

#include "bpf/abi/counters.h"
#include "bpf/abi/events.h"

enum rl_flow_phase {
  RL_FLOW_NONE = 0, /* a UDP socket that sends DNS without connect(), or nothing yet */
  RL_FLOW_ASKED = 1,
  RL_FLOW_CONNECTING = 2,
  RL_FLOW_ESTABLISHED = 3,
  RL_FLOW_ENDED = 4,
  RL_FLOW_UNANNOUNCED = 5,
};

struct rl_flow {
  struct rl_owner owner;      /* connect, sendmsg */
  __u64 cookie;               /* connect, sendmsg */
  __u64 netns_cookie;         /* connect, sendmsg */
  __u64 last_receive_boot_ns; /* ingress */
  __u64 connecting_thread;    /* connect, then sockops: key in connecting_threads, or 0 */
  struct rl_address asked;    /* connect, sendmsg */
  struct rl_scope scope;      /* connect, sendmsg */
  struct bpf_spin_lock lock;
  __u32 phase;         /* enum rl_flow_phase; under lock */
  __u32 connect_flags; /* enum rl_connect_flags; connect */
  __u32 retransmits;   /* sockops */
  __u32 next_seq[2];   /* of the direction's packets: next TCP sequence number in order */
  __u8 seq_known[2];   /* of the direction's packets */
  __u8 busy[2];        /* a CPU is scanning this direction; under lock */
  __u8 hole[2];        /* of the direction's packets: bytes were missed */
  __u8 protocol;       /* IPPROTO_TCP or IPPROTO_UDP; connect, sendmsg */
  __u8 family;         /* connect, sendmsg */
  __u8 settled;        /* only raised, until the next connect: no packet needs a look */
  __u8 syn_seen;       /* egress */
  __u8 established;    /* sockops */
  __u8 peer_fin;       /* sockops */
  __u8 reset_received; /* tracepoint */
  __u8 reset_sent;     /* tracepoint */
  __u8 scanned;        /* a conversation was made for this attempt; only raised */
  __u8 answered;       /* what the conversation knew when it was given up: RL_END_SERVED */
  __u8 owner_fin;      /* sockops: the owner closed its half before the peer did */
  __u8 pad[6];
};
RL_ABI_ASSERT(sizeof(struct rl_flow) == 152, "flow is 152 bytes");

#endif
