// SPDX-License-Identifier: Apache-2.0
//
// `routelens run` without a sensor: parks, releases and waits for a command, passing signals on.
// With FAIL=1 in its environment it gives up before it releases the command.
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "userspace/boundary/command.h"
#include "userspace/boundary/invoking_user.h"
#include "userspace/boundary/signal_relay.h"

int main(int argc, char** argv) {
  auto user = routelens::FindInvokingUser();
  if (!user.ok())
    return 125;
  auto command =
      routelens::ParkedCommand::Park(std::vector<std::string>(argv + 1, argv + argc), *user);
  if (!command.ok())
    return 125;
  auto relay = routelens::SignalRelay::Start();
  if (!relay.ok())
    return 125;
  // As the real one does: things that the command must not see.
  const int leak = open("/dev/null", O_RDONLY | O_CLOEXEC);
  umask(0);
  setenv("ROUTELENS_LEAKED", "1", 1);
  if (leak < 0 || chdir("/") != 0)
    return 125;
  if (std::getenv("FAIL") != nullptr)
    return 125;
  const int error = command->Release();
  if (error != 0)
    return routelens::ExitStatusForFailedStart(error);
  for (;;) {
    pollfd waits[] = {{relay->fd(), POLLIN, 0}, {command->pidfd(), POLLIN, 0}};
    poll(waits, 2, -1);
    relay->Relay(*command);
    const routelens::CommandState state = command->Poll();
    if (state.kind == routelens::CommandState::Kind::kExited ||
        state.kind == routelens::CommandState::Kind::kKilled) {
      return routelens::ExitStatusOf(state);
    }
  }
}
