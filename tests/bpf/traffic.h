// SPDX-License-Identifier: Apache-2.0
//
// Small pieces of traffic for bodies that run inside a boundary (tests/bpf/scratch_boundary.h).
// Each returns 0, or a line number at which the world was not as expected: the child's exit status.
#pragma once

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "base/unique_fd.h"

namespace routelens {

// A network namespace of this process alone, with loopback up. Never call in the test's own
// process.
bool EnterOwnNetwork();

sockaddr_in V4(uint32_t host_order_address, uint16_t port);
sockaddr_in6 V6Loopback(uint16_t port);

// Listening on loopback, on a port of the kernel's choice; `port` gets it.
UniqueFd Listen(uint16_t* port, int backlog = 128);
UniqueFd ListenV6(uint16_t* port);
// A loopback port on which nobody listens.
uint16_t ClosedPort();

UniqueFd Tcp();
int Connect(int fd, const sockaddr_in& to);

bool Send(int fd, std::string_view bytes);
std::string Receive(int fd, size_t at_most = 65536);

// Two ends of one connection over loopback: `client` connected, `server` accepted.
struct Pair {
  UniqueFd client;
  UniqueFd server;
};

Pair ConnectedPair();

// One TLS record: type, version 0x0301, length, `fragment`.
std::string TlsRecord(uint8_t type, std::string_view fragment);

}  // namespace routelens

// In a body: ends it with the line as its status.
#define RL_EXPECT_IN_BODY(condition) \
  do {                               \
    if (!(condition))                \
      return (__LINE__ % 120) + 1;   \
  } while (false)
