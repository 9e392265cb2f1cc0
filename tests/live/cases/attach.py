# SPDX-License-Identifier: Apache-2.0
"""`routelens attach` to what runs already, `watch` beside a run, and several runs at once."""

import json
import os
import signal
import subprocess
import time

from harness import clients
from harness.case import (HOST, MCP, PLAIN, REACHABLE, REJECTED, TLS, TRANSPORT, UNKNOWN, Case,
                          Expect)
from servers.scripted import Http, Https, answer

URL = f"https://{HOST}/mcp"
CLEAR = f"http://{HOST}/mcp"
SECONDS = 4


class Talker:
    """A client that goes on to its next step when it is told to."""

    def __init__(self, world, command):
        self.out = os.path.join(world.folder_path, "talker.stdout")
        with open(self.out, "wb") as out:
            self.process = world.keep(subprocess.Popen(
                command.argv, stdin=subprocess.PIPE, stdout=out, stderr=out,
                env=world.environment(), cwd=world.folder_path))

    def said(self):
        with open(self.out, encoding="utf-8", errors="replace") as file:
            return file.read()

    def wait_for(self, count, word="waiting"):
        deadline = time.monotonic() + 10
        while self.said().count(word) < count:
            if time.monotonic() > deadline or self.process.poll() is not None:
                raise RuntimeError(f"the client did not say {word!r}: {self.said()!r}")
            time.sleep(0.02)

    def go_on(self):
        self.process.stdin.write(b"\n")
        self.process.stdin.flush()


def own_cgroup(world):
    """A cgroup of the test's own for what is started before Routelens."""
    with open("/proc/self/mountinfo", encoding="utf-8") as file:
        mount = next(line.split()[4] for line in file if " - cgroup2 " in line)
    path = os.path.join(mount, f"live-{os.getpid()}")
    os.mkdir(path)
    world.notes["cgroup"] = path
    return path


def join(path, command):
    return clients.Command(["sh", "-c", f'echo 0 > "{path}/cgroup.procs"; exec "$@"', "sh",
                            *command.argv], command.stdin)


def attach(world, *target, seconds=SECONDS):
    process = world.begin([world.routelens, "attach", *target, "--duration", str(seconds),
                           "--policy", world.policy, "--output", world.output,
                           "--record", world.recording])
    _wait_ready(process)
    return process


def _wait_ready(process, word="watching "):
    """Until Routelens says on standard error that the sensor is on."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and process.poll() is None:
        with open(process.files[1], encoding="utf-8", errors="replace") as file:
            if word in file.read():
                return
        time.sleep(0.02)
    raise RuntimeError(f"Routelens did not say {word!r}")


def _wait_for_file(path, process):
    deadline = time.monotonic() + 30
    while not os.path.exists(path):
        if time.monotonic() > deadline or process.poll() is not None:
            raise RuntimeError("the client did not start")
        time.sleep(0.02)


def _finish(world, process, talker):
    run = world.finish(process)
    try:
        talker.process.wait(5)
    except subprocess.TimeoutExpired:
        talker.process.kill()
        talker.process.wait()
    run.stdout += talker.said()
    if "cgroup" in world.notes:
        for _ in range(50):
            try:
                os.rmdir(world.notes["cgroup"])
                break
            except OSError:
                time.sleep(0.02)
    return run


def _attached(steps, by_cgroup, rounds=1):
    """Starts the client, waits for its first "line" step, attaches, lets it go on."""
    def driver(world):
        command = clients.sockets(world, *steps)
        if by_cgroup:
            command = join(own_cgroup(world), command)
        talker = Talker(world, command)
        talker.wait_for(1)
        target = (("--cgroup", world.notes["cgroup"]) if by_cgroup
                  else ("--pid", str(talker.process.pid)))
        process = attach(world, *target)
        for number in range(rounds):
            talker.wait_for(number + 1)
            talker.go_on()
        return _finish(world, process, talker)
    return driver


def _watched(world):
    """`watch --json` in a second terminal while a run goes on."""
    client = clients.python(world, URL, URL, URL, pause=0.3)
    started = os.path.join(world.folder_path, "started")
    ready = os.path.join(world.folder_path, "ready")
    process = world.begin([world.routelens, "run", "--policy", world.policy, "--output",
                           world.output, "--record", world.recording, "--", "sh", "-c",
                           f"touch {started}; until [ -e {ready} ]; do sleep 0.05; done; "
                           "exec \"$@\"", "sh", *client.argv])
    _wait_for_file(started, process)
    sockets = [name for _, _, names in os.walk(world.runtime) for name in names
               if name.endswith(".sock")]
    if len(sockets) != 1:
        raise RuntimeError(f"expected one socket for watch, found {sockets}")
    watch = world.begin([world.routelens, "watch", "--all", "--json", sockets[0][:-len(".sock")]],
                        name="watch")
    time.sleep(0.5)
    with open(ready, "w", encoding="ascii"):
        pass
    run = world.finish(process)
    seen = world.finish(watch, timeout=5)
    world.notes["watched"] = seen.stdout
    run.timed_out = run.timed_out or seen.timed_out
    return run


def _check_watched(world, report):
    lines = world.notes["watched"].splitlines()
    ends = [line for line in lines if '"UpstreamRejected"' in line]
    assert len(ends) >= 1, f"watch showed no exchange: {lines[:5]}"


def _two_runs(world):
    """Two boundaries at the same time, to the same servers: each sees its own."""
    first = world.begin([world.routelens, "run", "--policy", world.policy, "--output",
                         world.output, "--record", world.recording, "--",
                         *clients.python(world, URL, URL, pause=1).argv])
    other = os.path.join(world.folder_path, "other.json")
    world.extra_outputs.append(other)
    second = world.begin([world.routelens, "run", "--policy", world.policy, "--output", other,
                          "--", *clients.curl(world, f"http://{HOST}/mcp").argv], name="second")
    run = world.finish(first)
    world.finish(second)
    with open(other, encoding="utf-8") as file:
        world.notes["other"] = json.load(file)
    return run


def _check_two_runs(world, report):
    found = {(c["route"]["host"], c["route"]["ports"][0]): c["reason"]
             for c in world.notes["other"]["conditions"]}
    assert found[(HOST, 80)] == REJECTED, f"the second run says {found}"
    assert found[(HOST, 443)] == UNKNOWN, f"the second run saw the first: {found}"


def _signal(number):
    """Routelens is ended in the middle; the command lives on."""
    def driver(world):
        marker = os.path.join(world.folder_path, "finished")
        asked = os.path.join(world.folder_path, "asked")
        client = clients.curl(world, URL)
        process = world.begin([world.routelens, "run", "--policy", world.policy, "--output",
                               world.output, "--record", world.recording, "--", "sh", "-c",
                               f'"$@"; touch {asked}; sleep 3; touch {marker}', "sh", *client.argv])
        _wait_for_file(asked, process)
        time.sleep(0.3)
        process.send_signal(number)
        run = world.finish(process, timeout=10)
        deadline = time.monotonic() + 6
        while not os.path.exists(marker) and time.monotonic() < deadline:
            time.sleep(0.05)
        if number == signal.SIGKILL and not os.path.exists(marker):
            raise RuntimeError("the command did not live on")
        return run
    return driver


CASES = [
    Case("attach.keep_alive_clear", None, {PLAIN: REJECTED},
         servers=(Http(answer(200), answer(404)),), exit=0, weight=6, pitfalls=("A22",),
         driver=_attached((f"connect:a:{HOST}:80", f"get:a:{HOST}:/mcp", "answer:a", "line",
                           f"get:a:{HOST}:/mcp", "answer:a", "close:a"), True)),
    Case("attach.keep_alive_clear.pid", None, {PLAIN: REJECTED},
         servers=(Http(answer(200), answer(404)),), exit=0, weight=6, pitfalls=("A22",),
         driver=_attached((f"connect:a:{HOST}:80", f"get:a:{HOST}:/mcp", "answer:a", "line",
                           f"get:a:{HOST}:/mcp", "answer:a", "close:a"), False)),
    # The name of an older TLS connection was never seen.
    Case("attach.keep_alive_tls", None, {MCP: Expect(UNKNOWN)},
         servers=(Https(answer(200), answer(404)),), exit=0, weight=6, pitfalls=("A22",),
         driver=_attached((f"connect:a:{HOST}:443", f"tls:a:{HOST}", f"get:a:{HOST}:/mcp",
                           "answer:a", "line", f"get:a:{HOST}:/mcp", "answer:a", "close:a"), True)),
    Case("attach.old_connections_are_no_connects", None, {PLAIN: UNKNOWN, MCP: UNKNOWN},
         servers=(Http(answer(200)), Https(answer(200))), exit=0, weight=6, pitfalls=("A16", "A22"),
         driver=_attached((f"connect:a:{HOST}:80", f"connect:b:{HOST}:443", "line", "close:a",
                           "close:b"), True)),
    Case("attach.new_request_clear", None, {PLAIN: REJECTED}, servers=(Http(answer(503)),),
         weight=6, driver=_attached(("line", f"connect:a:{HOST}:80", f"get:a:{HOST}:/mcp",
                                     "answer:a", "close:a"), True)),
    Case("attach.new_request_tls.pid", None, {MCP: REJECTED}, servers=(Https(answer(503)),),
         weight=6, driver=_attached(("line", f"connect:a:{HOST}:443", f"tls:a:{HOST}",
                                     f"get:a:{HOST}:/mcp", "answer:a", "close:a"), False)),
    Case("attach.new_tls_failure", None, {MCP: Expect(TLS, confidence="observed")},
         servers=(Https(answer(503), tls="untrusted"),), weight=6,
         driver=_attached(("line", f"connect:a:{HOST}:443", f"tls:a:{HOST}", "close:a"), True)),
    Case("attach.new_refused.pid", None, {MCP: TRANSPORT}, weight=6,
         driver=_attached(("line", f"connect:a:{HOST}:443"), False)),
    Case("attach.watch_beside_run", None, {MCP: REJECTED}, servers=(Https(answer(503)),),
         driver=_watched, check=_check_watched, weight=6),
    Case("attach.two_runs", None, {MCP: REACHABLE, PLAIN: UNKNOWN},
         servers=(Https(answer(200)), Http(answer(404))), driver=_two_runs, check=_check_two_runs,
         weight=4),
    # Signals to end are passed on to the command, which decides; its report is whole.
    Case("attach.sigint_in_the_middle", None, {MCP: REJECTED}, servers=(Https(answer(404)),),
         driver=_signal(signal.SIGINT), exit=None, weight=6),
    Case("attach.sigterm_in_the_middle", None, {MCP: REJECTED}, servers=(Https(answer(404)),),
         driver=_signal(signal.SIGTERM), exit=None, weight=6),
    # Killed: no report, and the command lives on.
    Case("attach.sigkill_in_the_middle", None, {}, servers=(Https(answer(404)),),
         driver=_signal(signal.SIGKILL), exit=None, weight=6, report=False),
]
