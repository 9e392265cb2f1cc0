// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/* The shared maps, defined once, and the licence the kernel asks for. */
#include "bpf/lib/maps.bpf.h"

#include "bpf/lib/library_maps.bpf.h"

struct rl_events_map events SEC(".maps");
struct rl_counters_map counters SEC(".maps");
struct rl_settings_map settings SEC(".maps");
struct rl_boundary_cgroups_map boundary_cgroups SEC(".maps");
struct rl_boundary_processes_map boundary_processes SEC(".maps");
struct rl_connecting_threads_map connecting_threads SEC(".maps");
struct rl_flows_map flows SEC(".maps");
struct rl_conversations_map conversations SEC(".maps");
struct library_sessions_map library_sessions SEC(".maps");
struct library_threads_map library_threads SEC(".maps");
struct library_conversations_map library_conversations SEC(".maps");

char rl_license[] SEC("license") = "GPL";
