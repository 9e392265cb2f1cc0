// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/*
 * Who reset a connection: refines the end record, whose error alone does not tell a reset we sent
 * from one we received after the owner was gone.
 *
 * tcp_receive_reset runs before the socket's state changes, so the flag is there in time.
 * tcp_send_reset runs after a release whose reset was foreseen (release.bpf.c); it adds the resets
 * TCP sends by itself while the owner still holds the socket. Its socket may be NULL: a reset in
 * answer to a packet for nobody. On loopback both run in the peer's context: the current process
 * means nothing here.
 *
 * Not on 5.10, where tracing programs may not use socket storage.
 */
#include "bpf/lib/flow.bpf.h"

#include <bpf/bpf_tracing.h>

SEC("tp_btf/tcp_receive_reset")
int BPF_PROG(on_receive_reset, struct sock* sk) {
  struct rl_flow* flow = sk ? bpf_sk_storage_get(&flows, sk, NULL, 0) : NULL;
  if (flow)
    flow->reset_received = 1;
  return 0;
}

SEC("tp_btf/tcp_send_reset")
int BPF_PROG(on_send_reset, struct sock* sk) {
  struct rl_flow* flow = sk ? bpf_sk_storage_get(&flows, sk, NULL, 0) : NULL;
  if (flow)
    flow->reset_sent = 1;
  return 0;
}
