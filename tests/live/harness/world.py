# SPDX-License-Identifier: Apache-2.0
"""What surrounds the client of one case: names, servers, policy, and the run of Routelens."""

import json
import os
import re
import signal
import subprocess
import time
from dataclasses import dataclass

from harness import sandbox
from harness.case import ADDR, SIBLING
from harness.clients import Command
from servers.dns import Names
from servers.scripted import CANARY

# What Routelens itself may take on a busy machine; clients have their own, shorter limits.
SLACK = 45

_ROUTE = re.compile(r"^(\[[^\]]+\]|[^:/]+):([0-9,]+)(/.*)?$")


def parse_route(text):
    """"host:443/mcp" -> (host, [443], "/mcp")."""
    found = _ROUTE.match(text)
    if not found:
        raise ValueError(f"not a route: {text}")
    host, ports, path = found.groups()
    return host.strip("[]"), sorted(int(port) for port in ports.split(",")), path or ""


def is_address(host):
    return ":" in host or re.fullmatch(r"[0-9.]+", host) is not None


@dataclass
class Run:
    """What came of one command under Routelens (or alone, when dry)."""

    status: int = 0
    seconds: float = 0
    timed_out: bool = False
    stdout: str = ""
    stderr: str = ""


class World:
    def __init__(self, case, folder, pki, programs, routelens, dry):
        self.case = case
        self.folder_path = folder
        self.pki = pki
        self.programs = programs
        self.routelens = routelens
        self.dry = dry
        self.output = os.path.join(folder, "report.json")
        self.recording = os.path.join(folder, "run.rlrec")
        self.policy = os.path.join(folder, "policy.yaml")
        self.runtime = os.path.join(folder, "runtime")
        os.makedirs(self.runtime, 0o700, exist_ok=True)
        self.notes = {}  # for a case's own check
        self.extra_outputs = []  # files that the privacy check reads too
        self._kept = []
        self.routes = [parse_route(r) for r in (*case.expect, *case.routes, SIBLING)]
        self.addresses = {host: (ADDR,) for host, _, _ in self.routes if not is_address(host)}
        self.addresses.update(case.names or {})

    # --- for servers -----------------------------------------------------------------------

    def keep(self, thing):
        self._kept.append(thing)
        return thing

    def folder(self, name):
        path = os.path.join(self.folder_path, name)
        os.makedirs(path, exist_ok=True)
        return path

    def write(self, name, text):
        path = os.path.join(self.folder_path, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def spawn(self, argv, env=None, stdin=subprocess.DEVNULL, log=None):
        name = log or os.path.basename(argv[0])
        with open(os.path.join(self.folder_path, f"{name}.log"), "ab") as file:
            return self.keep(subprocess.Popen(argv, stdin=stdin, stdout=file, stderr=file,
                                              env={**self.environment(), **(env or {})}))

    def sh(self, line):
        """A command of the case's own set-up (addresses, packet filter)."""
        result = subprocess.run(["sh", "-ec", line], capture_output=True, text=True)
        if result.returncode != 0:
            raise RuntimeError(f"set-up failed: {line}\n{result.stderr}")

    # --- life ------------------------------------------------------------------------------

    def environment(self):
        kept = {k: v for k, v in os.environ.items() if "proxy" not in k.lower()}
        kept["PATH"] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        kept["LIVE_SECRET"] = f"{CANARY}-environment"
        kept["LC_ALL"] = "C"
        kept["XDG_RUNTIME_DIR"] = self.runtime
        return kept

    def start(self):
        resolv = self.case.resolv or "nameserver 127.0.0.1\noptions timeout:2 attempts:2\n"
        hosts = "127.0.0.1 localhost\n" + "".join(line + "\n" for line in self.case.hosts)
        for name, text in (("resolv.conf", resolv), ("hosts", hosts)):
            sandbox.bind(self.write(name, text), f"/etc/{name}")
        self.write_policy()
        if self.case.name_server:
            Names().start(self)
        for server in self.case.servers:
            if callable(server) and not hasattr(server, "start"):
                server(self)
            else:
                server.start(self)

    def write_policy(self):
        rules = {}
        endpoints = [
            {"host": host, "ports": ports, "protocol": "mcp", "enforcement": "enforce",
             **({"path": path} if path else {})}
            for host, ports, path in self.routes]
        for number, endpoint in enumerate([*endpoints, *self.case.endpoints]):
            rules[f"rule{number}"] = {"name": f"rule{number}", "endpoints": [endpoint],
                                      "binaries": [{"path": "/**"}]}
        # JSON is YAML.
        self.write("policy.yaml", json.dumps({"version": 1, "network_policies": rules}, indent=1))

    def run(self, command=None, options=()):
        """Runs the client, under `routelens run` unless dry."""
        command = command or self.case.client(self)
        if not isinstance(command, Command):
            command = Command(command)
        argv = list(command.argv)
        if not self.dry:
            argv = [self.routelens, "run", "--policy", self.policy, "--output", self.output,
                    "--record", self.recording, *options, "--", *argv]
        return self.finish(self.begin(argv, command.stdin))

    def begin(self, argv, stdin=b"", name="client"):
        path = os.path.join(self.folder_path, f"{name}.stdin")
        with open(path, "wb") as file:
            file.write(stdin)
        self.notes["command"] = argv
        out = os.path.join(self.folder_path, f"{name}.stdout")
        err = os.path.join(self.folder_path, f"{name}.stderr")
        with open(path, "rb") as source, open(out, "wb") as to, open(err, "wb") as errors:
            process = subprocess.Popen(argv, stdin=source, stdout=to, stderr=errors,
                                       env=self.environment(), cwd=self.folder_path)
        process.started = time.monotonic()
        process.files = (out, err)
        return process

    def finish(self, process, timeout=None):
        run = Run()
        try:
            run.status = process.wait(timeout or self.case.timeout + SLACK)
        except subprocess.TimeoutExpired:
            run.timed_out = True
            process.send_signal(signal.SIGTERM)
            try:
                run.status = process.wait(3)
            except subprocess.TimeoutExpired:
                process.kill()
                run.status = process.wait()
        run.seconds = time.monotonic() - process.started
        texts = []
        for path in process.files:
            with open(path, "rb") as file:
                texts.append(file.read().decode("utf-8", "replace"))
        run.stdout, run.stderr = texts
        return run

    def report(self):
        with open(self.output, encoding="utf-8") as file:
            return json.load(file)
