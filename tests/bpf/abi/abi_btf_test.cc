// SPDX-License-Identifier: Apache-2.0
//
// The layout of everything that crosses the border, as clang's BPF target built it (read back from
// the objects' BTF) against this compiler's: sizes, and the offset of each member. A member that is
// in one and not in the other fails too.
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "bpf/abi/counters.h"
#include "bpf/abi/events.h"
#include "bpf/abi/flow.h"
#include "core.skel.h"
#include "core_floor.skel.h"
#include "gtest/gtest.h"

namespace {

using Members = std::map<std::string, size_t>;

struct Layout {
  const char* name;
  size_t size;
  Members members;
};

#define M(type, member) \
  { #member, offsetof(type, member) }
#define HEADER(type) M(type, header)

std::vector<Layout> HostLayouts() {
  return {
      {"rl_event_header",
       sizeof(rl_event_header),
       {M(rl_event_header, boot_ns), M(rl_event_header, seq), M(rl_event_header, dropped),
        M(rl_event_header, boundary), M(rl_event_header, kind), M(rl_event_header, size),
        M(rl_event_header, abi_version), M(rl_event_header, cpu), M(rl_event_header, role),
        M(rl_event_header, pad)}},
      {"rl_owner",
       sizeof(rl_owner),
       {M(rl_owner, start_boot_ns), M(rl_owner, cgroup_id), M(rl_owner, tgid), M(rl_owner, tid),
        M(rl_owner, comm)}},
      {"rl_address",
       sizeof(rl_address),
       {M(rl_address, addr), M(rl_address, port), M(rl_address, pad), M(rl_address, scope_id)}},
      {"rl_ev_connect",
       sizeof(rl_ev_connect),
       {HEADER(rl_ev_connect), M(rl_ev_connect, owner), M(rl_ev_connect, cookie),
        M(rl_ev_connect, netns_cookie), M(rl_ev_connect, remote), M(rl_ev_connect, flags),
        M(rl_ev_connect, protocol), M(rl_ev_connect, family), M(rl_ev_connect, pad)}},
      {"rl_ev_connect_error",
       sizeof(rl_ev_connect_error),
       {HEADER(rl_ev_connect_error), M(rl_ev_connect_error, cookie), M(rl_ev_connect_error, error),
        M(rl_ev_connect_error, via), M(rl_ev_connect_error, soft), M(rl_ev_connect_error, pad)}},
      {"rl_ev_established",
       sizeof(rl_ev_established),
       {HEADER(rl_ev_established), M(rl_ev_established, cookie), M(rl_ev_established, local),
        M(rl_ev_established, remote)}},
      {"rl_ev_peer_fin",
       sizeof(rl_ev_peer_fin),
       {HEADER(rl_ev_peer_fin), M(rl_ev_peer_fin, cookie)}},
      {"rl_ev_flow_end",
       sizeof(rl_ev_flow_end),
       {HEADER(rl_ev_flow_end), M(rl_ev_flow_end, cookie), M(rl_ev_flow_end, bytes_received),
        M(rl_ev_flow_end, bytes_acked), M(rl_ev_flow_end, last_receive_boot_ns),
        M(rl_ev_flow_end, retransmits), M(rl_ev_flow_end, flags), M(rl_ev_flow_end, error),
        M(rl_ev_flow_end, cause), M(rl_ev_flow_end, state), M(rl_ev_flow_end, pad)}},
      {"rl_ev_stream",
       sizeof(rl_ev_stream),
       {HEADER(rl_ev_stream), M(rl_ev_stream, cookie), M(rl_ev_stream, offset),
        M(rl_ev_stream, length), M(rl_ev_stream, direction), M(rl_ev_stream, protocol),
        M(rl_ev_stream, flags), M(rl_ev_stream, pad), M(rl_ev_stream, bytes)}},
      {"rl_ev_tls_record",
       sizeof(rl_ev_tls_record),
       {HEADER(rl_ev_tls_record), M(rl_ev_tls_record, cookie), M(rl_ev_tls_record, index),
        M(rl_ev_tls_record, length), M(rl_ev_tls_record, version), M(rl_ev_tls_record, direction),
        M(rl_ev_tls_record, content_type), M(rl_ev_tls_record, alert_level),
        M(rl_ev_tls_record, alert_description), M(rl_ev_tls_record, flags),
        M(rl_ev_tls_record, pad)}},
      {"rl_ev_http_request",
       sizeof(rl_ev_http_request),
       {HEADER(rl_ev_http_request), M(rl_ev_http_request, owner), M(rl_ev_http_request, key),
        M(rl_ev_http_request, request_index), M(rl_ev_http_request, path_length),
        M(rl_ev_http_request, host_length), M(rl_ev_http_request, flags),
        M(rl_ev_http_request, witness), M(rl_ev_http_request, method), M(rl_ev_http_request, form),
        M(rl_ev_http_request, pad), M(rl_ev_http_request, text)}},
      {"rl_ev_http_response",
       sizeof(rl_ev_http_response),
       {HEADER(rl_ev_http_response), M(rl_ev_http_response, owner), M(rl_ev_http_response, key),
        M(rl_ev_http_response, request_index), M(rl_ev_http_response, status),
        M(rl_ev_http_response, flags), M(rl_ev_http_response, witness),
        M(rl_ev_http_response, pad)}},
      {"rl_ev_dns",
       sizeof(rl_ev_dns),
       {HEADER(rl_ev_dns), M(rl_ev_dns, owner), M(rl_ev_dns, cookie), M(rl_ev_dns, netns_cookie),
        M(rl_ev_dns, remote), M(rl_ev_dns, local_port), M(rl_ev_dns, length),
        M(rl_ev_dns, wire_length), M(rl_ev_dns, direction), M(rl_ev_dns, pad),
        M(rl_ev_dns, bytes)}},
      {"rl_ev_library",
       sizeof(rl_ev_library),
       {HEADER(rl_ev_library), M(rl_ev_library, owner), M(rl_ev_library, ssl),
        M(rl_ev_library, value), M(rl_ev_library, detail), M(rl_ev_library, op),
        M(rl_ev_library, pad), M(rl_ev_library, data)}},
      {"rl_ev_resolver",
       sizeof(rl_ev_resolver),
       {HEADER(rl_ev_resolver), M(rl_ev_resolver, owner), M(rl_ev_resolver, started_boot_ns),
        M(rl_ev_resolver, result), M(rl_ev_resolver, name_length), M(rl_ev_resolver, address_count),
        M(rl_ev_resolver, truncated), M(rl_ev_resolver, addresses), M(rl_ev_resolver, name)}},
      {"rl_ev_process",
       sizeof(rl_ev_process),
       {HEADER(rl_ev_process), M(rl_ev_process, owner), M(rl_ev_process, parent_tgid),
        M(rl_ev_process, op), M(rl_ev_process, pad)}},
      {"rl_boundary_counters",
       sizeof(rl_boundary_counters),
       {M(rl_boundary_counters, sequence), M(rl_boundary_counters, emitted),
        M(rl_boundary_counters, dropped), M(rl_boundary_counters, by_cause),
        M(rl_boundary_counters, started), M(rl_boundary_counters, ended),
        M(rl_boundary_counters, egress_packets_seen), M(rl_boundary_counters, budget_window_ns),
        M(rl_boundary_counters, budget_used)}},
      {"rl_scope", sizeof(rl_scope), {M(rl_scope, boundary), M(rl_scope, role), M(rl_scope, pad)}},
      {"rl_process_key",
       sizeof(rl_process_key),
       {M(rl_process_key, start_boot_ns), M(rl_process_key, tgid), M(rl_process_key, pad)}},
      {"rl_settings",
       sizeof(rl_settings),
       {M(rl_settings, cgroup_level_mask), M(rl_settings, pid_scopes),
        M(rl_settings, budget_per_window), M(rl_settings, budget_when_crowded),
        M(rl_settings, connect_error_witness), M(rl_settings, pad)}},
      {"rl_flow",
       sizeof(rl_flow),
       {M(rl_flow, owner),
        M(rl_flow, cookie),
        M(rl_flow, netns_cookie),
        M(rl_flow, last_receive_boot_ns),
        M(rl_flow, connecting_thread),
        M(rl_flow, asked),
        M(rl_flow, scope),
        M(rl_flow, lock),
        M(rl_flow, phase),
        M(rl_flow, connect_flags),
        M(rl_flow, retransmits),
        M(rl_flow, next_seq),
        M(rl_flow, seq_known),
        M(rl_flow, busy),
        M(rl_flow, hole),
        M(rl_flow, protocol),
        M(rl_flow, family),
        M(rl_flow, settled),
        M(rl_flow, syn_seen),
        M(rl_flow, established),
        M(rl_flow, peer_fin),
        M(rl_flow, reset_received),
        M(rl_flow, reset_sent),
        M(rl_flow, scanned),
        M(rl_flow, answered),
        M(rl_flow, owner_fin),
        M(rl_flow, pad)}},
  };
}

struct ObjectCloser {
  void operator()(bpf_object* object) const { bpf_object__close(object); }
};

// Opens one of the built objects; nothing is loaded, so no privilege is needed.
std::unique_ptr<bpf_object, ObjectCloser> Open(bool floor) {
  size_t bytes = 0;
  const void* elf = floor ? core_floor__elf_bytes(&bytes) : core__elf_bytes(&bytes);
  return std::unique_ptr<bpf_object, ObjectCloser>(bpf_object__open_mem(elf, bytes, nullptr));
}

class AbiBtf : public testing::TestWithParam<bool> {};

TEST_P(AbiBtf, BpfAndHostAgreeOnEveryStruct) {
  const auto object = Open(GetParam());
  ASSERT_TRUE(object);
  const btf* types = bpf_object__btf(object.get());
  ASSERT_NE(types, nullptr);
  int compared = 0;
  for (const Layout& layout : HostLayouts()) {
    const int id = btf__find_by_name_kind(types, layout.name, BTF_KIND_STRUCT);
    ASSERT_GT(id, 0) << layout.name << " is in no program";
    const btf_type* type = btf__type_by_id(types, static_cast<uint32_t>(id));
    EXPECT_EQ(type->size, layout.size) << layout.name;
    Members built;
    for (uint32_t i = 0; i < btf_vlen(type); ++i)
      built[btf__name_by_offset(types, btf_members(type)[i].name_off)] =
          btf_member_bit_offset(type, i) / 8;
    EXPECT_EQ(built, layout.members) << layout.name;
    ++compared;
  }
  EXPECT_EQ(compared, 21);
}

INSTANTIATE_TEST_SUITE_P(Objects, AbiBtf, testing::Values(false, true),
                         [](const auto& object) { return object.param ? "Floor" : "Full"; });

// A build step that fails quietly would leave an object without its programs.
TEST(BuiltObjects, HoldTheProgramsOfTheLadder) {
  for (const bool floor : {false, true}) {
    const auto object = Open(floor);
    ASSERT_TRUE(object);
    for (const char* name :
         {"on_connect4", "on_connect6", "on_sendmsg4", "on_sendmsg6", "on_release", "on_tcp_state",
          "on_egress", "on_ingress", "on_fork", "on_exec", "on_exit", "on_receive_reset",
          "on_send_reset", "on_inet_connect", "on_syscall_exit", "on_libc_connect"})
      EXPECT_NE(bpf_object__find_program_by_name(object.get(), name), nullptr) << name;
  }
}

}  // namespace
