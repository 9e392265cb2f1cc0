// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/*
 * One program of each packet and connect type that does nothing: what the kernel charges for
 * calling a program at all. bench/run subtracts it from what Routelens's programs cost.
 */
#include "bpf/lib/kernel_types.bpf.h"

#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";

SEC("cgroup_skb/ingress")
int empty_ingress(struct __sk_buff* skb) {
  return 1;
}

SEC("cgroup_skb/egress")
int empty_egress(struct __sk_buff* skb) {
  return 1;
}

SEC("cgroup/connect4")
int empty_connect4(struct bpf_sock_addr* ctx) {
  return 1;
}

SEC("sockops")
int empty_sockops(struct bpf_sock_ops* ops) {
  return 1;
}

SEC("cgroup/sock_release")
int empty_release(struct bpf_sock* ctx) {
  return 1;
}
