/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * Types of the kernel that BPF programs need, without a vmlinux.h: what is stable comes from the
 * UAPI headers, the rest is declared here with just the members that are read. CO-RE relocates
 * each access at load, so the order and the padding of these structs mean nothing.
 *
 * A member that moved between kernels has a struct "flavour" (name___what) of its own; readers ask
 * bpf_core_field_exists() first. libbpf ignores everything after three underscores.
 */
#ifndef ROUTELENS_BPF_LIB_KERNEL_TYPES_BPF_H
#define ROUTELENS_BPF_LIB_KERNEL_TYPES_BPF_H

#include <linux/bpf.h>
#include <linux/types.h>

#define RL_AF_INET 2
#define RL_AF_INET6 10

/* include/net/tcp_states.h */
#define RL_TCP_ESTABLISHED 1
#define RL_TCP_SYN_SENT 2
#define RL_TCP_CLOSE 7
#define RL_TCP_CLOSE_WAIT 8

#define RL_DNS_PORT 53

/* include/uapi/linux/in.h, which needs headers that clang's BPF target does not find. */
#define IPPROTO_TCP 6
#define IPPROTO_UDP 17

/* include/uapi/asm-generic/errno.h, errno-base.h */
#define EPERM 1
#define EINTR 4
#define EPIPE 32
#define ECONNRESET 104
#define ECONNREFUSED 111
#define EINPROGRESS 115

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct kernfs_node {
  __u64 id; /* since 5.5: the inode number, which is the cgroup id */
};

struct cgroup {
  int level;
  struct kernfs_node* kn;
};

/* Before 6.1 (7f203bc89eb6) the ids of the ancestors, since then pointers to them. */
struct cgroup___ids {
  __u64 ancestor_ids[1];
};

struct cgroup___pointers {
  struct cgroup* ancestors[1];
};

struct css_set {
  struct cgroup* dfl_cgrp;
};

typedef struct {
  int counter;
} atomic_t;

typedef struct {
  __s64 counter;
} atomic64_t;

struct signal_struct {
  atomic_t live;
};

struct task_struct {
  int pid;
  int tgid;
  __u64 start_boottime;
  struct task_struct* group_leader;
  struct task_struct* real_parent;
  struct css_set* cgroups;
  struct signal_struct* signal;
  char comm[16];
};

struct sock_common {
  unsigned char skc_state;
  unsigned short skc_family;
  unsigned long skc_flags;
  atomic64_t skc_cookie;
};

struct sock {
  struct sock_common __sk_common;
  unsigned long sk_lingertime;
  int sk_err;
  int sk_err_soft;
};

struct inet_sock {
  struct sock sk;
};

struct inet_connection_sock {
  struct inet_sock icsk_inet;
};

struct tcp_sock {
  struct inet_connection_sock inet_conn;
  __u32 copied_seq;
  __u32 rcv_nxt;
  __u64 bytes_received;
  __u64 bytes_acked;
};

/* Not named pt_regs: its members belong to the architecture. */
struct pt_regs___x86 {
  unsigned long orig_ax;
};

struct pt_regs___arm64 {
  int syscallno;
};

enum sock_flags { SOCK_LINGER = 4 }; /* include/net/sock.h; relocated like the members */

#pragma clang attribute pop

#endif
