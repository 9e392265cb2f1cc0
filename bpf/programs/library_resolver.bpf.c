// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/*
 * What did getaddrinfo() say? Entry and return of the libc function, on whatever thread the program
 * calls it (curl, asyncio and Node use a helper thread). The result list is struct addrinfo of
 * <netdb.h>, whose layout is the public ABI.
 *
 * The name is read when the call returns: the caller must keep it valid until then. glibc lists
 * each address once for each socket type, one after the other; repeats are left out.
 *
 * Cannot see: c-ares, Go, static programs; a thread that is killed in the call (its entry is pushed
 * out of the LRU map).
 */
#include "bpf/lib/scope.bpf.h"
#include "bpf/lib/user_registers.bpf.h"

#include <bpf/bpf_endian.h>

#define ADDRINFO_NODES_MAX 32

struct user_addrinfo {
  __s32 flags, family, socket_type, protocol;
  __u32 address_length, pad;
  __u64 address;
  __u64 canonical_name;
  __u64 next;
};

struct resolving {
  __u64 name;
  __u64 list_at; /* where the caller wants the list's head */
  __u64 started_boot_ns;
};

/* Which look-up is this thread in? */
struct resolving_threads_map {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, 4096);
  __type(key, __u64); /* bpf_get_current_pid_tgid() */
  __type(value, struct resolving);
};
struct resolving_threads_map resolving_threads SEC(".maps");

SEC("uprobe")
int on_getaddrinfo_begin(struct user_registers* ctx) {
  struct rl_scope scope;
  if (!scope_find_current(&scope))
    return 0;
  struct resolving resolving = {
      .name = user_register(ctx, USER_ARG1),
      .list_at = user_register(ctx, USER_ARG4),
      .started_boot_ns = bpf_ktime_get_boot_ns(),
  };
  if (!resolving.name) /* asks for the local host's own addresses */
    return 0;
  __u64 thread = bpf_get_current_pid_tgid();
  if (bpf_map_update_elem(&resolving_threads, &thread, &resolving, BPF_ANY))
    emit_count_loss(&scope, RL_DROP_MAP_FULL);
  return 0;
}

/* One node's address as 16 bytes; 0 when it is of another family or cannot be read. */
static __always_inline int resolver_read_address(const struct user_addrinfo* node, __u64 out[2]) {
  const __u8* address = (const __u8*)node->address;
  __u32 v4 = 0;
  if (node->family == RL_AF_INET6)
    return bpf_probe_read_user(out, 16, address + 8) == 0;
  if (node->family != RL_AF_INET || bpf_probe_read_user(&v4, sizeof(v4), address + 4))
    return 0;
  __u32 mapped[4] = {0, 0, bpf_htonl(0xffff), v4};
  __builtin_memcpy(out, mapped, sizeof(mapped));
  return 1;
}

/* The count lives in the record: as a local variable the verifier would follow each of its values
 * through each turn ("BPF program is too large. Processed 1000001 insn"). */
static __always_inline int resolver_add(struct rl_ev_resolver* ev, const __u64 address[2]) {
  __u8 count = ev->address_count;
  if (count > 0) {
    const __u64* last = (const __u64*)ev->addresses[(count - 1) & (RL_RESOLVED_MAX - 1)];
    if (address[0] == last[0] && address[1] == last[1])
      return 1;
  }
  if (count >= RL_RESOLVED_MAX)
    return 0;
  __builtin_memcpy(ev->addresses[count & (RL_RESOLVED_MAX - 1)], address, 16);
  ev->address_count = count + 1;
  return 1;
}

static __always_inline void resolver_read_list(struct rl_ev_resolver* ev, __u64 at) {
  __u64 address[2] = {0, 0};
  for (int i = 0; i < ADDRINFO_NODES_MAX && at; i++) {
    struct user_addrinfo node;
    if (bpf_probe_read_user(&node, sizeof(node), (const void*)at))
      break;
    if (resolver_read_address(&node, address) && !resolver_add(ev, address))
      break;
    at = node.next;
  }
  ev->truncated |= at != 0;
}

SEC("uprobe")
int on_getaddrinfo_end(struct user_registers* ctx) {
  __u64 thread = bpf_get_current_pid_tgid();
  struct resolving* found = bpf_map_lookup_elem(&resolving_threads, &thread);
  if (!found)
    return 0;
  struct resolving resolving = *found;
  bpf_map_delete_elem(&resolving_threads, &thread);
  struct rl_scope scope;
  if (!scope_find_current(&scope))
    return 0;
  struct rl_ev_resolver* ev = emit_reserve_fixed(&scope, RL_EV_RESOLVER, struct rl_ev_resolver);
  if (!ev)
    return 0;
  owner_fill(&ev->owner);
  ev->started_boot_ns = resolving.started_boot_ns;
  ev->result = (__s32)user_register(ctx, USER_RESULT);
  long length = bpf_probe_read_user_str(ev->name, RL_NAME_MAX, (const void*)resolving.name);
  if (length <= 0) {
    emit_discard(ev, &scope);
    return 0;
  }
  ev->name_length = (__u16)(length - 1);
  ev->truncated = length == RL_NAME_MAX;
  __u64 list = 0;
  if (ev->result == 0 && !bpf_probe_read_user(&list, sizeof(list), (const void*)resolving.list_at))
    resolver_read_list(ev, list);
  emit_submit(ev);
  return 0;
}
