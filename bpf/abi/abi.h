/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * What the border between kernel and user space has in common: fixed-width types for both
 * compilers, the layout assertion, the version and the limits.
 *
 * Rules for every struct in this folder: widest member first, explicit padding, no pointer, no
 * bool, no enum-typed member, no bit-field. Numbers are in host byte order, ports too.
 * Addresses are 16 bytes; IPv4 is v4-mapped (::ffff:a.b.c.d, RFC 4291 section 2.5.5.2).
 * Times are CLOCK_BOOTTIME in nanoseconds. A record from another RL_ABI_VERSION is refused.
 */
#ifndef ROUTELENS_BPF_ABI_ABI_H
#define ROUTELENS_BPF_ABI_ABI_H

#if defined(__BPF__) || defined(__bpf__)
#include "bpf/lib/kernel_types.bpf.h"
#else
#include <linux/types.h>
#endif

#ifdef __cplusplus
#define RL_ABI_ASSERT(cond, why) static_assert(cond, why)
#else
#define RL_ABI_ASSERT(cond, why) _Static_assert(cond, why)
#endif

#define RL_ABI_VERSION 1

/* Limits that both sides rely on. */
#define RL_MAX_BOUNDARIES 1024  /* boundary indices are 0 .. RL_MAX_BOUNDARIES - 1 */
#define RL_MAX_CGROUP_LEVELS 8  /* ancestor levels at which a boundary's cgroup may lie */
#define RL_COMM_BYTES 16        /* TASK_COMM_LEN, include/linux/sched.h */
#define RL_PATH_MAX 256         /* request target kept, up to '?' ; longer is "truncated" */
#define RL_HOST_MAX 256         /* Host value or authority kept */
#define RL_NAME_MAX 256         /* name given to getaddrinfo */
#define RL_FLIGHT_MAX 4096      /* TLS handshake bytes taken per direction */
#define RL_DNS_STREAM_MAX 16384 /* DNS over TCP bytes taken per direction */
#define RL_DATA_MAX 4096        /* bytes in one data event */
#define RL_DNS_MAX 4096         /* one UDP DNS message; longer is marked truncated */
#define RL_TLS_RECORDS_MAX 24   /* records described per direction before a flow is settled */
#define RL_RESOLVED_MAX 8       /* addresses of one getaddrinfo result */

#endif
