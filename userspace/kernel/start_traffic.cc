// SPDX-License-Identifier: Apache-2.0
#include "userspace/kernel/start_traffic.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include "base/status_util.h"

namespace routelens {

namespace {

constexpr int kPatienceMs = 2000;
constexpr uint16_t kDnsPort = 53;

constexpr const char* kSteps[] = {"",
                                  "",
                                  "loopback usable",
                                  "a listener",
                                  "a connection",
                                  "an accept",
                                  "an HTTP exchange",
                                  "a DNS question"};

// The child's exit status: how far it came. kSteps names what failed.
enum Step : int {
  kDone,
  kDoneWithoutDns,
  kLoopback,
  kListener,
  kConnect,
  kAccept,
  kExchange,
  kQuestion,
};

bool RaiseLoopback() {
  const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  ifreq request = {};
  std::memcpy(request.ifr_name, "lo", 3);
  bool up = fd >= 0 && ioctl(fd, SIOCGIFFLAGS, &request) == 0;
  request.ifr_flags = static_cast<short>(request.ifr_flags | IFF_UP);
  up = up && ioctl(fd, SIOCSIFFLAGS, &request) == 0;
  close(fd);
  return up;
}

bool SendAll(int fd, std::string_view text) {
  return send(fd, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
}

bool Receive(int fd) {
  char buffer[256];
  return recv(fd, buffer, sizeof(buffer), 0) > 0;
}

// Makes the traffic; returns the step that failed. System calls only.
Step Speak() {
  const bool is_alone = unshare(CLONE_NEWNET) == 0;
  if (is_alone && !RaiseLoopback())
    return kLoopback;
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  socklen_t length = sizeof(address);

  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  if (bind(listener, generic, length) != 0 || listen(listener, 1) != 0 ||
      getsockname(listener, generic, &length) != 0)
    return kListener;
  const int client = socket(AF_INET, SOCK_STREAM, 0);
  if (connect(client, generic, length) != 0)
    return kConnect;
  const int server = accept(listener, nullptr, nullptr);
  if (server < 0)
    return kAccept;
  if (!SendAll(client, "GET /start HTTP/1.1\r\nHost: routelens.invalid\r\n\r\n") ||
      !Receive(server) || !SendAll(server, "HTTP/1.1 204 No Content\r\n\r\n") || !Receive(client))
    return kExchange;
  close(client);
  if (!is_alone)
    return kDoneWithoutDns;

  address.sin_port = htons(kDnsPort);
  // Identifier 1, recursion desired, one question: "." of type NS and class IN (RFC 1035 4.1).
  static constexpr char kDnsQuestion[] = {0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 1};
  const int asker = socket(AF_INET, SOCK_DGRAM, 0);
  if (sendto(asker, kDnsQuestion, sizeof(kDnsQuestion), 0, generic, length) < 0)
    return kQuestion;
  return kDone;
}

}  // namespace

absl::StatusOr<StartTraffic> StartTraffic::Fork() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    return ErrnoStatus(errno, "making a pipe for the start test");
  UniqueFd wait_end(ends[0]);
  StartTraffic traffic;
  traffic.go_.Reset(ends[1]);
  traffic.pid_ = fork();
  if (traffic.pid_ < 0)
    return ErrnoStatus(errno, "forking the start test");
  if (traffic.pid_ == 0) {
    close(ends[1]);
    char go = 0;
    if (read(ends[0], &go, 1) != 1)
      _exit(kDone);
    _exit(Speak());
  }
  return traffic;
}

StartTraffic::StartTraffic(StartTraffic&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), go_(std::move(other.go_)) {}

StartTraffic::~StartTraffic() {
  if (pid_ <= 0)
    return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

absl::StatusOr<StartTraffic::Done> StartTraffic::Go() {
  UniqueFd process(static_cast<int>(syscall(SYS_pidfd_open, pid_, 0)));
  if (!process || write(go_.get(), "g", 1) != 1)
    return ErrnoStatus(errno, "starting the start test");
  pollfd ended = {.fd = process.get(), .events = POLLIN, .revents = 0};
  int ready = 0;
  do {
    ready = poll(&ended, 1, kPatienceMs);
  } while (ready < 0 && errno == EINTR);
  if (ready != 1)
    return absl::DeadlineExceededError("the start test's process did not end within two seconds");
  int status = 0;
  waitpid(pid_, &status, 0);
  pid_ = -1;
  const int step = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  if (step == kDone || step == kDoneWithoutDns)
    return step == kDone ? Done::kAll : Done::kWithoutDns;
  const bool known = step > 0 && step < static_cast<int>(std::size(kSteps));
  return absl::UnavailableError(std::string("the start test could not make ") +
                                (known ? kSteps[step] : "its traffic"));
}

}  // namespace routelens
