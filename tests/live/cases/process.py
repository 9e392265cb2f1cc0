# SPDX-License-Identifier: Apache-2.0
"""Processes: forks, reused descriptors and pids, threads, namespaces, short lives, strangers."""

import os
import shutil

from harness import clients
from harness.case import (ADDR, HOST, MCP, PLAIN, REACHABLE, REJECTED, TLS, TRANSPORT, UNKNOWN, Case,
                          Expect)
from harness.clients import Command, quoted
from servers.scripted import Http, Https, Scripted, answer, by_target, reset

URL = f"https://{HOST}/mcp"
CLEAR = f"http://{HOST}/mcp"


# Fifty short curls, each to a route of its own.
STATUSES = (200, 404, 503, 202, 401)
SHORT = {f"t{n:02}.routes.test": STATUSES[n % len(STATUSES)] for n in range(50)}


def _outcome(status):
    return REACHABLE if status < 400 else REJECTED


def _by_status(port, tls):
    targets = {f"/{status}": answer(status, b"x") for status in STATUSES}
    return Scripted(((by_target(targets, answer(500)),),), port=port, tls=tls)


def _short(world, scheme, parallel):
    parts = [quoted(clients.curl(world, f"{scheme}://{host}/{status}"))
             for host, status in SHORT.items()]
    return clients.shell(" & ".join(parts) + " & wait" if parallel else " ; ".join(parts))


def _outside(world):
    """A process that is not in the boundary asks the same for ten seconds."""
    line = quoted(clients.curl(world, URL)) + " >/dev/null 2>&1"
    world.spawn(["sh", "-c", f"for i in $(seq 50); do {line}; sleep 0.2; done"], log="outside")


def _own_libraries(world):
    """Copies of the TLS libraries that nobody has seen before."""
    folder = world.folder("lib")
    for name in ("libssl.so.3", "libcrypto.so.3"):
        shutil.copy(os.path.join("/usr/lib/x86_64-linux-gnu", name), folder)
    return folder


def _pid_reuse(world):
    """The second curl gets the pid of the first, as near as the kernel lets us."""
    one = quoted(clients.curl(world, f"https://{HOST}:8443/mcp"))
    two = quoted(clients.curl(world, URL))
    return clients.shell(
        f"{one} & first=$!; wait $first; i=0; while [ $i -lt 200 ]; do i=$((i + 1)); "
        "echo $((first - 1)) > /proc/sys/kernel/ns_last_pid; "
        f"( exec {two} ) & second=$!; if [ $second = $first ]; then wait $second; echo reused; "
        "exit 0; fi; kill $second 2>/dev/null; wait $second; done; exit 1")


def _overlays(world, count):
    """Shell functions: inN CMD... runs CMD with an overlay of the root as its root."""
    lines = ["set -e"]
    for number in range(count):
        home = world.folder(f"overlay{number}")
        place = f"{home}/root"
        lines += [
            # An overlay whose layers lie in each other is refused.
            f"mount -t tmpfs tmpfs {home} && mkdir {home}/empty {place}",
            f"mount -t overlay overlay -o lowerdir={home}/empty:/ {place}",
            f"for p in /proc /dev /sys /tmp; do mount --rbind $p {place}$p; done",
            f"for f in resolv.conf hosts; do mount --bind /etc/$f {place}/etc/$f; done",
            f'in{number}() {{ chroot {place} "$@"; }}']
    return "\n".join(lines + ["set +e", ""])


def _in_namespace(world, count, line):
    script = world.write("inside.sh", _overlays(world, count) + line + "\n")
    return Command(["unshare", "-m", "sh", script])


def _replaced_library(world):
    """The library of the second program lies where the first one's lay, and is another file."""
    folder = _own_libraries(world)
    one = quoted(Command(["env", f"LD_LIBRARY_PATH={folder}", *clients.curl(world, URL).argv]))
    return clients.shell(
        f"{one}; cp {folder}/libssl.so.3 {folder}/new && mv {folder}/new {folder}/libssl.so.3; "
        f"{one}")


CASES = [
    Case("process.rootfs",
         lambda w: _in_namespace(w, 1, "in0 " + quoted(clients.curl(w, URL))),
         {MCP: Expect(TLS, confidence="observed")}, servers=(Https(answer(200), tls="untrusted"),),
         exit=60, alone=True, pitfalls=("C5", "D7")),
    Case("process.two_overlays",
         lambda w: _in_namespace(w, 2, "in0 " + quoted(clients.curl(w, URL)) + "; in1 " +
                                 quoted(clients.curl(w, "https://other.routes.test/mcp"))),
         {MCP: Expect(TLS, exchanges={TLS: 1}),
          "other.routes.test:443/mcp": Expect(TLS, exchanges={TLS: 1})},
         servers=(Https(answer(200), tls="expired"),), exit=60, alone=True, pitfalls=("D1", "D2")),
    Case("process.replaced_libssl", _replaced_library,
         {MCP: Expect(TLS, exchanges={TLS: 2})}, servers=(Https(answer(200), tls="untrusted"),),
         exit=60, alone=True, pitfalls=("D8",)),
    Case("process.many_threads",
         lambda w: clients.shell(f"{w.programs.connects} threads 10.77.0.1 8443 1 500"),
         {"10.77.0.1:8443/mcp": Expect(TRANSPORT)},
         servers=(lambda w: w.sh("ip addr add 10.77.0.1/32 dev lo"),), says="attempts 500",
         pitfalls=("A10",)),
    Case("process.killed_storm",
         lambda w: clients.shell(
             "for i in $(seq 40); do sleep 20 & kill -9 $!; done; wait; " + quoted(
                 clients.curl(w, URL))),
         {MCP: REJECTED}, servers=(Https(answer(404)),), alone=True, pitfalls=("C28",)),
    Case("process.fork_inherits",
         lambda w: clients.sockets(w, f"connect:a:{HOST}:80", "fork-close:a", f"get:a:{HOST}:/mcp",
                                   "answer:a", "sleep:0.5", "close:a"),
         {PLAIN: Expect(REJECTED, exchanges={REJECTED: 1})}, servers=(Http(answer(404)),),
         pitfalls=("F8",)),
    Case("process.dup2_over_live",
         lambda w: clients.sockets(
             w, f"connect:a:{HOST}:80", "connect:b:other.routes.test:8080", "dup:a:b",
             f"get:b:{HOST}:/mcp", "answer:b", "close:a", "close:b"),
         {PLAIN: Expect(REJECTED, exchanges={REJECTED: 1}), "other.routes.test:8080/mcp": UNKNOWN},
         servers=(Http(answer(404)), Http(answer(200), port=8080)), pitfalls=("F8",)),
    Case("process.threads_refused",
         lambda w: clients.shell(f"{w.programs.connects} threads 10.77.0.1 8443 50 8"),
         {"10.77.0.1:8443/mcp": Expect(TRANSPORT, exchanges=None)},
         servers=(lambda w: w.sh("ip addr add 10.77.0.1/32 dev lo"),), says="attempts 400"),
    Case("process.forks_refused",
         lambda w: clients.shell(f"{w.programs.connects} fork 10.77.0.1 8443 20"),
         {"10.77.0.1:8443/mcp": Expect(TRANSPORT)},
         servers=(lambda w: w.sh("ip addr add 10.77.0.1/32 dev lo"),)),
    Case("process.short_curls.tls", lambda w: _short(w, "https", False),
         {f"{host}:443": Expect(_outcome(status), exchanges={_outcome(status): 1})
          for host, status in SHORT.items()},
         servers=(_by_status(443, "good"),), timeout=60, weight=6, pitfalls=("D5",)),
    Case("process.short_curls.clear_parallel", lambda w: _short(w, "http", True),
         {f"{host}:80": Expect(_outcome(status), exchanges={_outcome(status): 1})
          for host, status in SHORT.items()},
         servers=(_by_status(80, ""),), timeout=60, weight=6, pitfalls=("D5",)),
    Case("process.pid_reuse", _pid_reuse,
         {f"{HOST}:8443/mcp": TRANSPORT, MCP: Expect(REJECTED, also=(UNKNOWN,))},
         alone=True, servers=(Https(answer(404)),), says="reused", pitfalls=("F7",), timeout=40, exit=None,
         lossless=True),
    Case("process.outside_is_invisible", lambda w: clients.shell("sleep 3"),
         {MCP: Expect(UNKNOWN, at_most=0)}, servers=(Https(answer(404)), _outside), weight=4,
         check=lambda w, report: _nothing(report)),
    Case("process.outside_beside_inside", lambda w: clients.python(w, URL, URL, pause=1),
         {MCP: Expect(REACHABLE, exchanges={REACHABLE: 2})},
         servers=(Https(answer(200)), _outside), weight=4),
    Case("process.killed", lambda w: clients.shell(quoted(clients.curl(w, URL)) + "; kill -9 $$"),
         {MCP: REJECTED}, alone=True, servers=(Https(answer(503)),), exit=137),
    Case("process.exit_status", lambda w: clients.shell(quoted(clients.curl(w, URL)) + "; exit 42"),
         {MCP: REJECTED}, alone=True, servers=(Https(answer(503)),), exit=42),
    Case("process.daemon_child",
         lambda w: clients.shell(f"(sleep 0.2; exec {quoted(clients.curl(w, CLEAR))}) & exit 0"),
         {PLAIN: REJECTED}, alone=True, servers=(Http(answer(404)),)),
    Case("process.pid_namespace",
         lambda w: Command(["unshare", "-pf", "--mount-proc", *clients.curl(w, URL).argv]),
         {MCP: REJECTED}, servers=(Https(answer(404)),), pitfalls=("D4",)),
    Case("process.bubblewrap",
         lambda w: Command(["bwrap", "--dev-bind", "/", "/", "--unshare-pid", "--unshare-ipc",
                            "--proc", "/proc", *clients.python(w, URL).argv]),
         {MCP: Expect(TLS, confidence="observed")}, servers=(Https(answer(200), tls="untrusted"),),
         exit=1, pitfalls=("D4",)),
    Case("process.own_libssl",
         lambda w: Command(["env", f"LD_LIBRARY_PATH={_own_libraries(w)}",
                            *clients.curl(w, URL).argv]),
         {MCP: Expect(TLS)}, servers=(Https(answer(200), tls="expired"),), exit=60,
         pitfalls=("D7", "D8")),
    Case("process.own_libssl_status",
         lambda w: Command(["env", f"LD_LIBRARY_PATH={_own_libraries(w)}",
                            *clients.python(w, URL, URL, pause=0.5).argv]),
         {MCP: Expect(REJECTED, also=(UNKNOWN,))}, servers=(Https(answer(404)),),
         pitfalls=("D7", "D8")),
    Case("process.nested_cgroup",
         lambda w: clients.shell(
             'mount=$(awk \'/ - cgroup2 /{print $5; exit}\' /proc/self/mountinfo); '
             'own=$mount$(sed -n "s/^0:://p" /proc/self/cgroup); mkdir -p "$own/a/b" && '
             '(echo 0 > "$own/a/b/cgroup.procs" && ' + quoted(clients.curl(w, URL)) + '); '
             'rmdir "$own/a/b" "$own/a"'),
         {MCP: REJECTED}, alone=True, servers=(Https(answer(404)),), pitfalls=("D20",)),
    Case("process.two_network_namespaces",
         lambda w: clients.shell(
             quoted(clients.python(w, f"http://{ADDR}/mcp")) + "; unshare -n sh -c 'ip link set lo "
             "up; exec \"$@\"' sh " + quoted(clients.python(w, f"http://{ADDR}/mcp"))),
         {f"{ADDR}:80/mcp": Expect(TRANSPORT, also=(REACHABLE,),
                                   exchanges={TRANSPORT: 1, REACHABLE: 1})},
         servers=(Http(answer(200)),), exit=None, pitfalls=("A20",)),
    Case("process.reset_by_server_is_not_ours",
         lambda w: clients.python(w, CLEAR), {PLAIN: TRANSPORT}, servers=(Http(reset()),), exit=1),
]


def _nothing(report):
    assert not report["exchanges"], f"exchanges of a stranger: {report['exchanges']}"
    assert not report["unattributed"], f"records of a stranger: {report['unattributed']}"
