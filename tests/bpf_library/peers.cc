// SPDX-License-Identifier: Apache-2.0
#include "tests/bpf_library/peers.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <system_error>

#include "base/status_util.h"

namespace routelens {

absl::StatusOr<std::unique_ptr<Peers>> Peers::Start() {
  std::unique_ptr<Peers> peers(new Peers);
  char folder[] = "/tmp/rl_peers_XXXXXX";
  if (::mkdtemp(folder) == nullptr)
    return ErrnoStatus(errno, "make a folder");
  peers->folder_ = folder;
  int input[2], output[2];
  if (::pipe2(input, O_CLOEXEC) != 0 || ::pipe2(output, O_CLOEXEC) != 0)
    return ErrnoStatus(errno, "pipe");
  peers->pid_ = ::fork();
  if (peers->pid_ == 0) {
    ::dup2(input[0], 0);
    ::dup2(output[1], 1);
    ::execl("/usr/bin/python3", "python3", PEERS_FOLDER "/peers.py", folder, nullptr);
    ::_exit(126);
  }
  ::close(input[0]);
  ::close(output[1]);
  peers->input_ = input[1];
  std::string text;
  char buffer[512];
  ssize_t got;
  while (text.find("ready\n") == std::string::npos &&
         (got = ::read(output[0], buffer, sizeof(buffer))) > 0)
    text.append(buffer, static_cast<size_t>(got));
  ::close(output[0]);
  if (text.find("ready\n") == std::string::npos)
    return absl::UnavailableError("peers.py did not start: " + text);
  std::istringstream in(text);
  std::string name, port;
  while (in >> name && name != "ready" && in >> port) peers->ports_[name] = port;
  return peers;
}

Peers::~Peers() {
  if (input_ >= 0)
    ::close(input_);
  if (pid_ > 0) {
    ::kill(pid_, SIGTERM);
    ::waitpid(pid_, nullptr, 0);
  }
  std::error_code ignored;
  if (!folder_.empty())
    std::filesystem::remove_all(folder_, ignored);
}

std::string Peers::FreePort() {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  ::bind(fd, reinterpret_cast<sockaddr*>(&address), length);
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length);
  ::close(fd);
  return std::to_string(ntohs(address.sin_port));
}

}  // namespace routelens
