// SPDX-License-Identifier: Apache-2.0
#include "userspace/kernel/feature_table.h"

#include <algorithm>
#include <initializer_list>

#include "bpf/abi/library_probes.h"

namespace routelens {

namespace {

constexpr std::string_view kLibcConnect = "on_libc_connect";

// Programs of these groups of bpf/abi/library_probes.h, each once; those that watch connect() serve
// another capability.
std::vector<std::string_view> ProgramsOf(std::initializer_list<rl_probe_group> groups) {
  std::vector<std::string_view> programs;
  const auto add = [&](std::string_view program, rl_probe_group group) {
    if (program != kLibcConnect && std::find(groups.begin(), groups.end(), group) != groups.end() &&
        std::find(programs.begin(), programs.end(), program) == programs.end())
      programs.push_back(program);
  };
#define RL_ADD(program, symbol, place, arguments, group) add(#program, group);
  RL_LIBRARY_PROBES(RL_ADD)
#undef RL_ADD
  return programs;
}

}  // namespace

std::span<const Feature> FeatureTable() {
  static const auto* const table = new std::vector<Feature>{
      {.name = "boundary_cgroup",
       .floor = true,
       .costs = "nothing can be watched",
       .remedy = "mount cgroup2 and run with CAP_BPF and CAP_NET_ADMIN, or as root"},
      {.name = "connect",
       .floor = true,
       .costs = "connection attempts and their owners are unknown",
       .remedy = "a kernel from 5.10 with CONFIG_CGROUP_BPF",
       .rungs = {{.via = "cgroup/connect4,6 with the verdict of earlier programs",
                  .programs = {"on_connect4_denial", "on_connect6_denial"},
                  .condition = Rung::kFullObject},
                 {.via = "cgroup/connect4,6", .programs = {"on_connect4", "on_connect6"}}}},
      {.name = "connect_result",
       .floor = true,
       .costs = "whether a connection was established, refused or timed out is unknown",
       .remedy = "a kernel from 5.10 with CONFIG_CGROUP_BPF",
       .rungs = {{.via = "sockops", .programs = {"on_tcp_state"}}}},
      {.name = "connect_error",
       .costs =
           "a connect() that fails at once is seen, but not why: a denial by policy looks like "
           "a missing route",
       .remedy = "a kernel that permits BPF trampolines (lockdown off), a libc with symbols, or "
                 "the option --syscall-exit, which slows every system call of the host",
       .rungs = {{.via = "fexit/inet_stream_connect", .programs = {"on_inet_connect"}},
                 {.via = "tp_btf/sys_exit",
                  .programs = {"on_syscall_exit"},
                  .condition = Rung::kOnDemand},
                 {.via = "uprobe in libc connect",
                  .programs = {kLibcConnect},
                  .condition = Rung::kUprobes}}},
      {.name = "cancel",
       .floor = true,
       .costs = "a connect that its owner gave up looks like one that failed",
       .remedy = "a kernel from 5.10 with CONFIG_CGROUP_BPF",
       .rungs = {{.via = "cgroup/sock_release", .programs = {"on_release"}}}},
      {.name = "udp_dns",
       .floor = true,
       .costs = "DNS over UDP is invisible, so names are unknown",
       .remedy = "a kernel from 5.10 with CONFIG_CGROUP_BPF",
       .rungs = {{.via = "cgroup/sendmsg4,6", .programs = {"on_sendmsg4", "on_sendmsg6"}}}},
      {.name = "packets",
       .floor = true,
       .costs = "TLS, HTTP and DNS on the wire are invisible",
       .remedy = "a kernel from 5.10 with CONFIG_CGROUP_BPF",
       .rungs = {{.via = "cgroup_skb", .programs = {"on_egress", "on_ingress"}}}},
      {.name = "reset_cause",
       .costs = "a reset is known by the socket's error only, not by who sent it",
       .remedy = "a kernel from 5.11 with CONFIG_DEBUG_INFO_BTF",
       .rungs = {{.via = "tp_btf/tcp_receive_reset, tcp_send_reset",
                  .programs = {"on_receive_reset", "on_send_reset"}}}},
      {.name = "preexisting_flows",
       .costs = "connections older than the sensor stay invisible",
       .remedy = "CAP_SYS_PTRACE and a kernel from 5.6 (pidfd_getfd)"},
      {.name = "process_events",
       .costs = "new processes and their images are found late",
       .remedy = "a kernel with CONFIG_DEBUG_INFO_BTF",
       .rungs = {{.via = "tp_btf/sched_process_fork, exec, exit",
                  .programs = {"on_fork", "on_exec", "on_exit"}}}},
      {.name = "boundary_by_process",
       .costs = "a sandbox whose processes sit in the root cgroup cannot be watched",
       .remedy = "give the sandbox a cgroup, or a kernel with CONFIG_DEBUG_INFO_BTF"},
      {.name = "library_openssl",
       .costs = "why a TLS handshake failed, and answers inside TLS, are known from the wire only",
       .remedy = "a kernel with CONFIG_UPROBE_EVENTS, and CAP_PERFMON",
       .rungs = {{.via = "uprobes on handshakes and answers",
                  .programs = ProgramsOf({RL_GROUP_HANDSHAKE, RL_GROUP_DATA}),
                  .condition = Rung::kDataPath},
                 {.via = "uprobes on handshakes",
                  .programs = ProgramsOf({RL_GROUP_HANDSHAKE}),
                  .condition = Rung::kUprobes}}},
      {.name = "resolver_libc",
       .costs = "the result of getaddrinfo is unknown; DNS is known from the wire only",
       .remedy = "a kernel with CONFIG_UPROBE_EVENTS, and CAP_PERFMON",
       .rungs = {{.via = "uprobes on getaddrinfo",
                  .programs = ProgramsOf({RL_GROUP_LIBC}),
                  .condition = Rung::kUprobes}}},
      {.name = "sequence_numbers",
       .costs = "losses are known by a counter, not by gaps",
       .remedy = "a kernel from 5.17"},
  };
  return *table;
}

}  // namespace routelens
