// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/help.h"

#include <utility>

namespace routelens {
namespace {

constexpr std::string_view kProgram =
    R"(routelens - what happened to the latest request on each MCP route

Usage: routelens COMMAND [OPTION]...

Commands:
  run             run a command in a boundary of its own and watch it
  attach          watch a process, a cgroup or a container that runs already
  watch           show the live lines of a session that runs elsewhere
  replay          judge a recording again, without root
  doctor          say what the sensor can see on this host
  subject         print the opaque subject of a route
  policy routes   list the MCP routes of a policy
  policy check    check a policy and warn of what cannot work
  completion      print a completion script for bash

Options:
  -h, --help      this page; `routelens COMMAND --help` has that of a command
      --version   print the version

Exit status:
  0    success
  1    the answer is no: a policy is wrong, the floor is not met
  2    the command line is wrong
  125  Routelens itself failed
  run has more, see its page.

Example:
  sudo routelens run --policy policy.yaml -- python3 agent.py
)";

constexpr std::string_view kRun =
    R"(routelens run - run a command in a boundary of its own and watch it

Usage: routelens run [OPTION]... -- COMMAND [ARGUMENT]...

Makes a cgroup, runs COMMAND in it, and watches from the kernel what becomes of
its requests. The command keeps its standard input, output and error, its
descriptors, environment, limits, working directory, process group, terminal
and exit status. Under sudo it runs as the user who called sudo, with that
user's groups. When it ends, the report is written to standard error.

Options:
  -p, --policy FILE          OpenShell policy; without one the report suggests
                             a policy from what was seen. "-" is standard input
      --credentialed SUBJECT this route needs a credential (may be repeated)
  -o, --output FILE          write the report as JSON to FILE, whole or not
                             at all
      --record FILE          record all events, for `routelens replay`
      --json                 without --output: JSON instead of text on standard
                             error
  -q, --quiet                no report for a person
      --watch                live lines on standard error
      --no-library-probes    no probes in TLS libraries and libc: less is known
                             of TLS, and no process pays for a probe
      --no-data-path-probes  no probes on SSL_read and SSL_write: HTTP status
                             behind TLS stays unknown
      --syscall-exit         where the kernel refuses fexit: see why a connect
                             of any program failed at once, also of Go and
                             static ones; slows every system call of the host
  -h, --help                 this page

Signals: what the terminal sends reaches the command directly. HUP, INT, QUIT,
TERM, USR1, USR2, ALRM, CONT and TSTP that are sent to Routelens alone are
passed on. When the command stops, Routelens stops with it. When Routelens is
killed the command lives on, and nothing stays attached.

Routelens ends half a second after the command. Processes that it left behind
keep the cgroup; the next start removes it when it is empty.

Exit status:
  that of COMMAND; 128 + N when signal N ended it
  2    the command line is wrong
  125  Routelens failed: before COMMAND was started, or it could not write the
       report of a COMMAND that ended with 0
  126  COMMAND cannot be executed
  127  there is no COMMAND

Environment:
  NO_COLOR            no colour in the report
  SUDO_UID, SUDO_GID  whom to run COMMAND as, when root runs Routelens
  XDG_RUNTIME_DIR     where the socket for `routelens watch` lies

Files:
  $XDG_RUNTIME_DIR/routelens/ID.sock, else /run/user/UID/routelens/ID.sock,
  /run/routelens/ID.sock (root) or /tmp/routelens-UID/ID.sock

Examples:
  sudo routelens run -p policy.yaml -- node agent.js
  sudo routelens run -p policy.yaml -o report.json -q -- pytest tests/mcp
)";

constexpr std::string_view kAttach =
    R"(routelens attach - watch something that runs already

Usage: routelens attach (--pid N | --cgroup PATH | --container NAME) [OPTION]...

Watches until it is interrupted, until --duration is over, or until nothing of
the boundary is left; then writes the report to standard output. Connections
that are older than Routelens are pre-existing: they give no verdict on connect
or TLS.

What to watch (exactly one):
      --pid N                the process and its descendants
      --cgroup PATH          a cgroup v2 directory, not the root, and all below
      --container NAME       a running podman container, by name or id

Options:
  -d, --duration SECONDS     end after this time
  -p, --policy FILE          OpenShell policy; without one the report suggests
                             a policy from what was seen. "-" is standard input
      --credentialed SUBJECT this route needs a credential (may be repeated)
  -o, --output FILE          write the report as JSON to FILE, whole or not
                             at all
      --record FILE          record all events, for `routelens replay`
      --json                 without --output: JSON instead of text
  -q, --quiet                no report for a person
      --watch                live lines on standard error
      --no-library-probes    no probes in TLS libraries and libc
      --no-data-path-probes  no probes on SSL_read and SSL_write
      --syscall-exit         why a connect of any program failed at once, see
                             `routelens run --help`
  -h, --help                 this page

Exit status:
  0    the report was written
  2    the command line is wrong
  125  Routelens failed

Environment:
  NO_COLOR            no colour in the report
  XDG_RUNTIME_DIR     where the socket for `routelens watch` lies

Examples:
  sudo routelens attach --pid 4711 --policy policy.yaml --duration 60
  sudo routelens attach --container agent --json | jq .conditions
)";

constexpr std::string_view kWatch =
    R"(routelens watch - show the live lines of a session that runs elsewhere

Usage: routelens watch [OPTION]... [ID]

Connects to a running `routelens run` or `routelens attach` and prints a line
whenever an exchange ends or a condition changes. Without ID it takes the only
session there is. A reader that is too slow loses lines, and is told how many;
it never slows the session.

Options:
      --all    also every event of the kernel side
      --json   JSON lines instead of text
  -h, --help   this page

Exit status:
  0    the session ended
  2    the command line is wrong, or several sessions run and none was named
  125  there is no such session

Environment:
  XDG_RUNTIME_DIR  where to look for sessions first

Files:
  as in `routelens run --help`

Example:
  routelens watch --json | jq 'select(.event == "condition")'
)";

constexpr std::string_view kReplay = R"(routelens replay - judge a recording again

Usage: routelens replay [OPTION]... FILE

Reads what `run --record` or `attach --record` wrote and reports what the
session reported: the same conditions and exchanges, on any machine, without
privilege.

Options:
      --json             JSON instead of text
  -o, --output FILE      write the report as JSON to FILE, whole or not at all
      --watch            also print the lines that `routelens watch` showed
  -h, --help             this page

Exit status:
  0    the whole recording was read
  1    it is no recording, of another version, or cut; what was whole is
       reported
  2    the command line is wrong
  125  Routelens failed

Example:
  routelens replay --json incident.rlrec | jq .conditions
)";

constexpr std::string_view kDoctor = R"(routelens doctor - what the sensor can see on this host

Usage: routelens doctor [OPTION]...

Loads and tries everything once, and says for each capability whether it is
there and by which means, why not, what is not known without it, and how to get
it. Nothing stays loaded.

Options:
      --json   JSON instead of text
  -h, --help   this page

Exit status:
  0    the floor is met: `routelens run` works here
  1    it is not
  2    the command line is wrong

Example:
  sudo routelens doctor
)";

constexpr std::string_view kSubject = R"(routelens subject - print the opaque subject of a route

Usage: routelens subject --host HOST --port PORT[,PORT]... [OPTION]...

Options:
      --host HOST         host of the endpoint, as in the policy
      --port PORT[,PORT]  its effective ports, 1 to 65535
      --path PATH         its path; without one the whole host
      --json              JSON, with the endpoint id and the canonical parts
  -h, --help              this page

Exit status:
  0    success
  2    the command line is wrong

Example:
  routelens subject --host mcp.example.com --port 443 --path /mcp
)";

constexpr std::string_view kPolicy = R"(routelens policy - look at a policy

Usage: routelens policy routes [OPTION]... FILE
       routelens policy check [OPTION]... FILE

Options:
  -h, --help   this page; the two have pages of their own

Example:
  routelens policy check policy.yaml
)";

constexpr std::string_view kPolicyRoutes =
    R"(routelens policy routes - list the MCP routes of a policy

Usage: routelens policy routes [OPTION]... FILE

Options:
      --credentialed SUBJECT  this route needs a credential (may be repeated)
      --json                  JSON instead of text
  -h, --help                  this page

FILE is an OpenShell policy; "-" is standard input.

Exit status:
  0    success
  1    the policy is wrong
  2    the command line is wrong

Example:
  routelens policy routes policy.yaml
)";

constexpr std::string_view kPolicyCheck =
    R"(routelens policy check - check a policy and warn of what cannot work

Usage: routelens policy check [OPTION]... FILE

Options:
      --strict   warnings count as errors
      --json     JSON instead of text
  -h, --help     this page

FILE is an OpenShell policy; "-" is standard input.

Exit status:
  0    the policy is good, perhaps with warnings
  1    the policy is wrong, or has warnings and --strict was given
  2    the command line is wrong

Example:
  routelens policy check --strict policy.yaml
)";

constexpr std::string_view kCompletion =
    R"(routelens completion - print a completion script for bash

Usage: routelens completion bash

Options:
  -h, --help   this page

Exit status:
  0    success
  2    the command line is wrong

Example:
  source <(routelens completion bash)
)";

constexpr std::pair<std::string_view, std::string_view> kPages[] = {
    {"", kProgram},
    {"run", kRun},
    {"attach", kAttach},
    {"watch", kWatch},
    {"replay", kReplay},
    {"doctor", kDoctor},
    {"subject", kSubject},
    {"policy", kPolicy},
    {"policy routes", kPolicyRoutes},
    {"policy check", kPolicyCheck},
    {"completion", kCompletion},
};

}  // namespace

std::string_view HelpPage(std::string_view command) {
  for (const auto& [name, page] : kPages) {
    if (name == command)
      return page;
  }
  return "";
}

std::vector<std::string_view> HelpTopics() {
  std::vector<std::string_view> topics;
  for (const auto& [name, page] : kPages) topics.push_back(name);
  return topics;
}

}  // namespace routelens
