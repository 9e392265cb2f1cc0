// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/*
 * Makes the object's type information hold every struct that crosses the border, so that a test can
 * compare layouts (tests/bpf/abi). Programs alone leave out what they only point to. The function
 * is called by nobody and never loaded.
 */
#include "bpf/abi/counters.h"
#include "bpf/abi/events.h"
#include "bpf/abi/flow.h"

union rl_abi {
  struct rl_ev_connect connect;
  struct rl_ev_connect_error connect_error;
  struct rl_ev_established established;
  struct rl_ev_peer_fin peer_fin;
  struct rl_ev_flow_end flow_end;
  struct rl_ev_stream stream;
  struct rl_ev_tls_record tls_record;
  struct rl_ev_http_request http_request;
  struct rl_ev_http_response http_response;
  struct rl_ev_dns dns;
  struct rl_ev_library library;
  struct rl_ev_resolver resolver;
  struct rl_ev_process process;
  struct rl_boundary_counters counters;
  struct rl_process_key process_key;
  struct rl_settings settings;
  struct rl_flow flow;
};

int rl_abi_anchor(const union rl_abi* any) {
  return any != 0;
}
