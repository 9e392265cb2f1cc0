# SPDX-License-Identifier: Apache-2.0
"""Several cases in one boundary. Loading the sensor costs more than most cases do, so cases that
need nothing of the world but scripted servers and names share one run: each gets a host name and an
address of its own in the place of the usual ones, and is judged by the records of its own host. A
case that disturbs another's route fails that other, so that the whole batch is one more test of
attribution. `run.py --alone` runs each by itself."""

import dataclasses
import json
import os

from harness.case import ADDR, HOST, Expect, expectation
from harness.clients import PYTHON, Command, program
from harness.world import Run, parse_route
from servers.dns import Names
from servers.external import OpensslServer
from servers.scripted import Scripted

SIZE = 24
AT_ONCE = 4


def _only_this_host(names):
    return (names.addr, names.port) == ("127.0.0.1", 53) and set(names.table or {}) <= {HOST} and \
        names.default == Names().default


def eligible(case):
    if case.driver or case.check or case.hosts or case.resolv or case.endpoints or \
            case.unattributed or case.alone or not case.replay or not case.lossless:
        return False
    if set(case.names or {}) - {HOST} or any(":" in a or not a.startswith("127.0.1.")
                                              for a in (case.names or {}).get(HOST, ())):
        return False
    if any(parse_route(route)[0] != HOST for route in (*case.expect, *case.routes)):
        return False
    for server in case.servers:
        if isinstance(server, Names):
            if not _only_this_host(server):
                return False
        elif not isinstance(server, (Scripted, OpensslServer)) or server.addr != ADDR:
            return False
    return case.name_server or any(isinstance(server, Names) for server in case.servers)


class Member:
    """One case as a part of a batch."""

    def __init__(self, case, number):
        self.host = f"c{number:03}.routes.test"
        self.address = f"127.2.{number // 200}.{number % 200 + 1}"
        self.original = case
        servers, self.names = [], {self.host: (self.address,)}
        if HOST in (case.names or {}):
            self.names[self.host] = case.names[HOST]
        for server in case.servers:
            if isinstance(server, Names):
                for says in (server.table or {}).values():
                    if dataclasses.is_dataclass(says):
                        says = dataclasses.replace(says, addresses=tuple(
                            self.address if a == ADDR else a for a in says.addresses))
                    self.names[self.host] = says
            else:
                servers.append(dataclasses.replace(server, addr=self.address))
        self.servers = servers
        self.expect = {self.rename(route): value for route, value in case.expect.items()}
        self.routes = tuple(self.rename(route) for route in case.routes)

    def rename(self, text):
        return text.replace(HOST, self.host).replace(ADDR, self.address)

    def command(self, world):
        command = self.original.client(world)
        if not isinstance(command, Command):
            command = Command(command)
        return {"name": self.original.name, "argv": [self.rename(part) for part in command.argv],
                "stdin": self.rename(command.stdin.decode("latin1")),
                "timeout": self.original.timeout}

    def judge(self, report):
        """The part of `report` that is about this case."""
        mine = [c for c in report["conditions"] if c["route"]["host"] == self.host]
        subjects = {c["subject"] for c in mine}
        return {
            "conditions": mine,
            "exchanges": [e for e in report["exchanges"] if e["route"] in subjects],
            "unattributed": [r for r in report["unattributed"]
                             if r["host"] in (self.host, self.host + ".", self.address)],
            "loss": {},
        }

    def as_case(self):
        return dataclasses.replace(self.original, expect=self.expect, routes=self.routes)


def plan(cases):
    """Splits `cases` into batches (lists) and the rest."""
    fit = [case for case in cases if eligible(case)]
    rest = [case for case in cases if not eligible(case)]
    # Long clients are spread over the batches: they wait side by side.
    fit.sort(key=lambda case: -case.weight)
    count = max(1, -(-len(fit) // SIZE)) if fit else 0
    batches = [fit[start::count] for start in range(count)]
    return batches, rest


def combined(members, name):
    """The world's case for a whole batch."""
    from harness.case import Case
    expect, names, routes, servers = {}, {}, [], []
    for member in members:
        expect.update({route: expectation(value) for route, value in member.expect.items()})
        routes += member.routes
        servers += member.servers
        names.update(member.names)

    def client(world):
        items = [member.command(world) for member in members]
        path = world.write("plan.json", json.dumps(items))
        return Command([PYTHON, program(world, "python", "batch.py"), path, str(AT_ONCE)])

    seconds = sum(member.original.weight for member in members)
    return Case(name, client, {route: value if isinstance(value, Expect) else Expect(value)
                               for route, value in expect.items()},
                servers=tuple(servers), names=names, routes=tuple(routes),
                timeout=60 + 3 * seconds, weight=seconds)


def results(world):
    """{name: Run} of what batch.py ran."""
    path = os.path.join(world.folder_path, "results.json")
    if not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8") as file:
        found = json.load(file)
    runs = {}
    for name, result in found.items():
        run = Run(result["status"], result["seconds"], result["timed_out"])
        for kind in ("stdout", "stderr"):
            with open(os.path.join(world.folder_path, f"{name}.{kind}"), "rb") as file:
                setattr(run, kind, file.read().decode("utf-8", "replace"))
        runs[name] = run
    return runs
