# SPDX-License-Identifier: Apache-2.0
"""Two hundred requests at once on one thread, to a hundred servers, each with an outcome of its own."""

from harness import clients
from harness.case import REACHABLE, REJECTED, TLS, TRANSPORT, Case, Expect
from harness.clients import PYTHON, Command, program
from servers.scripted import (Scripted, answer, close, handshake, http, read_record, request, reset,
                              send, sleep)

SERVERS = 100
KINDS = (
    ("200", (handshake(), http(answer(200))), "good", REACHABLE),
    ("404", (handshake(), http(answer(404))), "good", REJECTED),
    ("untrusted", (handshake(), http(answer(200))), "untrusted", TLS),
    ("reset_in_hello", (read_record(), reset()), "good", TLS),
    ("refused", None, "", TRANSPORT),
    ("head_cut", (handshake(), request(), send(b"HTTP/1.1 200 OK\r\nX"), sleep(0.02), close()),
     "good", Expect(TRANSPORT, or_unknown="inside TLS the end of the head is not read")),
    ("expired", (handshake(), http(answer(200))), "expired", TLS),
    ("503_slow", (handshake(), request(), sleep(0.3), send(answer(503)), close()), "good",
     REJECTED),
    ("closed_in_hello", (read_record(), close()), "good", TLS),
    ("101", (handshake(), request(),
             send(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n"),
             sleep(0.02), close()), "good", REACHABLE),
)


def _host(number):
    return f"s{number:03}.routes.test"


def _address(number):
    return f"127.1.0.{number + 1}"


def _servers():
    for number in range(SERVERS):
        _, script, certificate, _ = KINDS[number % len(KINDS)]
        if script:
            yield Scripted((script,), port=443, addr=_address(number), certificate=certificate)


def _expect(times, skip=()):
    return {f"{_host(n)}:443/mcp": _outcome(n, times) for n in range(SERVERS)
            if KINDS[n % len(KINDS)][0] not in skip}


def _outcome(number, times):
    outcome = KINDS[number % len(KINDS)][3]
    return Expect(outcome, exchanges={outcome: times}) if isinstance(outcome, str) else outcome


def _urls(world, skip=()):
    hosts = [_host(n) for n in range(SERVERS) if KINDS[n % len(KINDS)][0] not in skip]
    return world.write("urls", "\n".join(f"https://{host}/mcp" for host in hosts * 2))


def _asyncio(world):
    return Command([PYTHON, program(world, "python", "many_client.py"), "--ca", world.pki.ca,
                    _urls(world)])


def _node(world):
    return Command([*clients.node(world).argv, "--timeout", "20", "--file", _urls(world, ("101",))])


NAMES = {_host(n): (_address(n),) for n in range(SERVERS)}

CASES = [
    Case("concurrency.asyncio", _asyncio, _expect(2), servers=tuple(_servers()), names=NAMES,
         timeout=60, weight=10, pitfalls=("C1", "C2")),
    # Node takes a 101 that it did not ask for as an error of its own.
    Case("concurrency.node", _node, _expect(2, ("101",)), servers=tuple(_servers()), names=NAMES,
         timeout=60, weight=10, pitfalls=("C1",)),
    Case("concurrency.threads_of_urllib",
         lambda w: Command(["sh", "-c", " & ".join(
             " ".join(clients.python(w, f"https://{_host(n)}/mcp").argv) for n in range(0, 20))
             + " & wait"]),
         {f"{_host(n)}:443/mcp": _outcome(n, 1) for n in range(0, 20)},
         servers=tuple(_servers()), names=NAMES, exit=None, timeout=60, weight=10),
]
