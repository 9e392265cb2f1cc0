// SPDX-License-Identifier: Apache-2.0
//
// A load of TCP connects and nothing else, and the server it needs. Loopback only.
//
//   connect_load serve                       listens on a free port of 127.0.0.1, prints it,
//   accepts
//                                            and closes until its standard input ends
//   connect_load connect PORT SECONDS RATE THREADS
//                                            connects and resets; RATE per second in all threads
//                                            together, 0 for as many as can be; prints one JSON
//                                            object. A refused connect counts as a connect: towards
//                                            a closed port it is the cheapest one there is.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <thread>
#include <vector>

#include "base/unique_fd.h"

namespace routelens::bench {
namespace {

using Clock = std::chrono::steady_clock;

struct Tally {
  uint64_t accepted = 0;
  uint64_t refused = 0;
  uint64_t reset = 0;  // accepted, and reset by the server before connect() had returned
  uint64_t other = 0;
};

sockaddr_in Loopback(uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

const sockaddr* AsSockaddr(const sockaddr_in& address) {
  return reinterpret_cast<const sockaddr*>(&address);
}

void ResetOnClose(int fd) {
  const linger reset{.l_onoff = 1, .l_linger = 0};  // no TIME_WAIT: ports would run out in a second
  setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
}

int Serve() {
  const UniqueFd listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_in address = Loopback(0);
  socklen_t length = sizeof address;
  if (bind(listener.get(), AsSockaddr(address), length) != 0 || listen(listener.get(), 4096) != 0 ||
      getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &length) != 0) {
    std::perror("connect_load: listen");
    return 1;
  }
  std::printf("%d\n", ntohs(address.sin_port));
  std::fflush(stdout);
  pollfd wait[] = {{.fd = listener.get(), .events = POLLIN, .revents = 0},
                   {.fd = STDIN_FILENO, .events = POLLIN, .revents = 0}};
  while (true) {
    poll(wait, 2, -1);
    if (wait[1].revents != 0)
      return 0;
    while (true) {
      const UniqueFd peer(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!peer)
        break;
      ResetOnClose(peer.get());
    }
  }
}

void ConnectOnce(const sockaddr_in& to, Tally& tally) {
  const UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd) {
    ++tally.other;
    return;
  }
  ResetOnClose(fd.get());
  if (connect(fd.get(), AsSockaddr(to), sizeof to) == 0)
    ++tally.accepted;
  else if (errno == ECONNREFUSED)
    ++tally.refused;
  else if (errno == ECONNRESET)
    ++tally.reset;
  else
    ++tally.other;
}

// A thread that falls behind its rate catches up rather than skip: the total is rate * seconds
// unless the machine cannot do it.
void Run(const sockaddr_in& to, Clock::time_point begin, double seconds, double rate,
         Tally& tally) {
  uint64_t made = 0;
  while (true) {
    const std::chrono::duration<double> elapsed = Clock::now() - begin;
    if (elapsed.count() >= seconds)
      return;
    const auto due = rate > 0 ? static_cast<uint64_t>(elapsed.count() * rate) : made + 64;
    if (made >= due) {
      std::this_thread::sleep_for(std::chrono::microseconds(200));
      continue;
    }
    for (; made < due; ++made) ConnectOnce(to, tally);
  }
}

int Connect(uint16_t port, double seconds, double rate, size_t threads) {
  const sockaddr_in to = Loopback(port);
  std::vector<Tally> tallies(threads);
  std::vector<std::thread> workers;
  const Clock::time_point begin = Clock::now();
  for (Tally& tally : tallies) {
    workers.emplace_back([&, share = rate / static_cast<double>(threads)] {
      Run(to, begin, seconds, share, tally);
    });
  }
  for (std::thread& worker : workers) worker.join();
  const std::chrono::duration<double> took = Clock::now() - begin;
  Tally total;
  for (const Tally& tally : tallies) {
    total.accepted += tally.accepted;
    total.refused += tally.refused;
    total.reset += tally.reset;
    total.other += tally.other;
  }
  const uint64_t all = total.accepted + total.refused + total.reset + total.other;
  std::printf(
      "{\"connects\": %llu, \"accepted\": %llu, \"refused\": %llu, \"reset\": %llu, \"other\": "
      "%llu, "
      "\"seconds\": %.3f, \"per_second\": %.0f}\n",
      static_cast<unsigned long long>(all), static_cast<unsigned long long>(total.accepted),
      static_cast<unsigned long long>(total.refused), static_cast<unsigned long long>(total.reset),
      static_cast<unsigned long long>(total.other), took.count(),
      static_cast<double>(all) / took.count());
  return total.other == 0 ? 0 : 1;
}

}  // namespace
}  // namespace routelens::bench

int main(int argc, char** argv) {
  const std::string_view command = argc > 1 ? argv[1] : "";
  if (command == "serve" && argc == 2)
    return routelens::bench::Serve();
  if (command == "connect" && argc == 6) {
    const auto port = static_cast<uint16_t>(std::atoi(argv[2]));
    const int threads = std::atoi(argv[5]);
    if (port != 0 && threads > 0) {
      return routelens::bench::Connect(port, std::atof(argv[3]), std::atof(argv[4]),
                                       static_cast<size_t>(threads));
    }
  }
  std::fprintf(stderr,
               "usage: connect_load serve | connect_load connect PORT SECONDS RATE THREADS\n");
  return 2;
}
