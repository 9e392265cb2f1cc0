// SPDX-License-Identifier: Apache-2.0
#include "tests/bpf/traffic.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>

#include <cstring>

namespace routelens {

namespace {

template <typename Address>
UniqueFd ListenOn(int family, Address address, uint16_t* port, int backlog) {
  UniqueFd fd(socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  socklen_t length = sizeof(address);
  if (!fd || bind(fd.get(), generic, length) != 0 || listen(fd.get(), backlog) != 0 ||
      getsockname(fd.get(), generic, &length) != 0)
    return UniqueFd();
  if constexpr (sizeof(Address) == sizeof(sockaddr_in))
    *port = ntohs(address.sin_port);
  else
    *port = ntohs(address.sin6_port);
  return fd;
}

}  // namespace

bool EnterOwnNetwork() {
  if (unshare(CLONE_NEWNET) != 0)
    return false;
  UniqueFd fd(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request = {};
  std::memcpy(request.ifr_name, "lo", 3);
  if (ioctl(fd.get(), SIOCGIFFLAGS, &request) != 0)
    return false;
  request.ifr_flags = static_cast<short>(request.ifr_flags | IFF_UP);
  return ioctl(fd.get(), SIOCSIFFLAGS, &request) == 0;
}

sockaddr_in V4(uint32_t host_order_address, uint16_t port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(host_order_address);
  address.sin_port = htons(port);
  return address;
}

sockaddr_in6 V6Loopback(uint16_t port) {
  sockaddr_in6 address = {};
  address.sin6_family = AF_INET6;
  address.sin6_addr = in6addr_loopback;
  address.sin6_port = htons(port);
  return address;
}

UniqueFd Listen(uint16_t* port, int backlog) {
  return ListenOn(AF_INET, V4(INADDR_LOOPBACK, 0), port, backlog);
}

UniqueFd ListenV6(uint16_t* port) {
  return ListenOn(AF_INET6, V6Loopback(0), port, 128);
}

uint16_t ClosedPort() {
  uint16_t port = 0;
  UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = V4(INADDR_LOOPBACK, 0);
  socklen_t length = sizeof(address);
  if (bind(fd.get(), reinterpret_cast<sockaddr*>(&address), length) == 0 &&
      getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &length) == 0)
    port = ntohs(address.sin_port);
  return port;
}

UniqueFd Tcp() {
  return UniqueFd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
}

int Connect(int fd, const sockaddr_in& to) {
  return connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof(to));
}

bool Send(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0)
      return false;
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

std::string Receive(int fd, size_t at_most) {
  std::string bytes(at_most, '\0');
  const ssize_t got = recv(fd, bytes.data(), bytes.size(), 0);
  bytes.resize(got > 0 ? static_cast<size_t>(got) : 0);
  return bytes;
}

Pair ConnectedPair() {
  uint16_t port = 0;
  UniqueFd listener = Listen(&port);
  Pair pair;
  pair.client = Tcp();
  if (Connect(pair.client.get(), V4(INADDR_LOOPBACK, port)) != 0)
    return Pair{};
  pair.server.Reset(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  return pair;
}

std::string TlsRecord(uint8_t type, std::string_view fragment) {
  std::string record;
  record.push_back(static_cast<char>(type));
  record.append("\x03\x01", 2);
  record.push_back(static_cast<char>(fragment.size() >> 8));
  record.push_back(static_cast<char>(fragment.size() & 0xff));
  record.append(fragment);
  return record;
}

}  // namespace routelens
