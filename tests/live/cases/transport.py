# SPDX-License-Identifier: Apache-2.0
"""Connections that fail, are given up, or are lost; and those that only look like it."""

from harness import clients
from harness.case import (ADDR, HOST, MCP, PLAIN, REACHABLE, REJECTED, TLS, TRANSPORT, UNKNOWN, Case,
                          Expect)
from servers.scripted import (Http, Https, Scripted, answer, close, request, reset, send, sleep)

URL = f"https://{HOST}/mcp"
CLEAR = f"http://{HOST}/mcp"

NO_LIBC = "without libc a failure at once has no witness of its cause on every kernel"

CLIENTS = {
    "curl": lambda w, t=10: clients.curl(w, URL, timeout=t),
    "urllib": lambda w, t=10: clients.python(w, URL, timeout=t),
    "asyncio": lambda w, t=10: clients.python(w, URL, library="streams", timeout=t),
    "node": lambda w, t=10: clients.node(w, URL, timeout=t),
    "go": lambda w, t=10: clients.go(w, URL, timeout=t),
    "java": lambda w, t=10: clients.java(w, URL, timeout=t),
}


def shell(line):
    """A step of set-up, in the place of a server."""
    return lambda world: world.sh(line)


UNREACHABLE_ROUTE = shell("ip route add unreachable 10.77.9.9/32")
INPUT_CHAIN = "nft 'add table inet t; add chain inet t in {type filter hook input priority 0;}'; "
ICMP_UNREACHABLE = shell(
    INPUT_CHAIN + "nft 'add rule inet t in ip daddr 127.0.1.1 tcp dport 443 "
    "reject with icmp type host-unreachable'")
V6_DROPPED = shell(INPUT_CHAIN + "nft 'add rule inet t in ip6 daddr ::1 tcp dport 443 drop'")
LATENCY = shell("ip link add a type veth peer name b && ip link set a up && ip link set b up")
BLACKHOLE = Scripted(((sleep(1),),), port=443, accept=False, backlog=0)


def _each():
    for client, build in CLIENTS.items():
        yield Case(f"transport.refused.{client}", build,
                   {MCP: Expect(TRANSPORT, rule="connect_refused", confidence="observed")},
                   exit=None, pitfalls=("A28",) if client in ("asyncio", "node") else ())
        # The network says so at once: no route, or an unreachable one.
        yield Case(f"transport.no_route.{client}", build,
                   {MCP: Expect(TRANSPORT, or_unknown=NO_LIBC if client == "go" else "")}, exit=None,
                   names={HOST: ("10.88.0.1",)})
        yield Case(f"transport.blackhole.{client}", lambda w, build=build: build(w, 4),
                   {MCP: Expect(TRANSPORT, exchanges=None)}, servers=(BLACKHOLE,), exit=None,
                   weight=6)
    for client in ("curl", "urllib", "node"):
        yield Case(f"transport.unreachable_route.{client}", CLIENTS[client], {MCP: TRANSPORT},
                   exit=None, names={HOST: ("10.77.9.9",)}, servers=(UNREACHABLE_ROUTE,))
        yield Case(f"transport.icmp_unreachable.{client}",
                   lambda w, build=CLIENTS[client]: build(w, 5), {MCP: TRANSPORT}, exit=None,
                   servers=(ICMP_UNREACHABLE,), weight=6)


def _happy_eyeballs():
    for client, build in CLIENTS.items():
        seen = client in clients.SEEN_LIBRARIES
        want = REACHABLE if seen else UNKNOWN
        yield Case(f"transport.dead_aaaa_refused.{client}", build, {MCP: want},
                   names={HOST: ("::1", ADDR)}, servers=(Https(answer(200)),), pitfalls=("A26",))
        if client in ("curl", "node", "go"):
            yield Case(f"transport.dead_aaaa_dropped.{client}", build, {MCP: want},
                       names={HOST: ("::1", ADDR)}, servers=(V6_DROPPED, Https(answer(200))),
                       pitfalls=("A26",))
        yield Case(f"transport.both_refused.{client}", build,
                   {MCP: Expect(TRANSPORT, exchanges=None if client == "java" else {TRANSPORT: 1})},
                   names={HOST: ("::1", ADDR)}, exit=None)


SPECIAL = [
    Case("transport.reset_after_connect.clear", lambda w: clients.curl(w, CLEAR),
         {PLAIN: TRANSPORT}, servers=(Scripted(((sleep(0.05), reset()),)),), exit=56),
    Case("transport.reset_after_connect.tls", lambda w: clients.curl(w, URL),
         {MCP: TLS}, servers=(Scripted(((sleep(0.05), reset()),), port=443),), exit=35),
    Case("transport.reset_before_request.clear",
         lambda w: clients.sockets(w, f"connect:a:{HOST}:80", "sleep:0.3", f"get:a:{HOST}:/mcp",
                                   "answer:a"),
         {PLAIN: Expect(TRANSPORT)}, servers=(Scripted(((sleep(0.1), reset()),)),), exit=1),
    # The caller's own doing is nobody's failure.
    Case("transport.cancelled_after_50ms",
         lambda w: clients.sockets(w, f"begin:a:{HOST}:443", "sleep:0.05", "close:a"),
         {MCP: UNKNOWN}, servers=(BLACKHOLE,), pitfalls=("A5",)),
    Case("transport.cancelled_after_1s",
         lambda w: clients.sockets(w, f"begin:a:{HOST}:443", "sleep:1.5", "close:a"),
         {MCP: UNKNOWN}, servers=(BLACKHOLE,), pitfalls=("A11",)),
    Case("transport.silent_connection",
         lambda w: clients.sockets(w, f"connect:a:{HOST}:443", "close:a", f"connect:b:{HOST}:443",
                                   "sleep:2", "close:b"),
         {MCP: UNKNOWN}, servers=(Https(answer(200)),), pitfalls=("A2",)),
    Case("transport.silent_then_speaking",
         lambda w: clients.sockets(w, f"connect:a:{HOST}:80", f"connect:b:{HOST}:80",
                                   f"get:b:{HOST}:/mcp", "answer:b", "close:a", "close:b"),
         {PLAIN: Expect(REJECTED, exchanges={REJECTED: 1})}, servers=(Http(answer(404)),)),
    Case("transport.peer_closes_at_once",
         lambda w: clients.shell(f"{w.programs.connects} nonblock {ADDR} 443 20"),
         {MCP: UNKNOWN}, servers=(Scripted(((close(),),), port=443),), pitfalls=("A1",),
         says="connected"),
    Case("transport.client_closes_at_once",
         lambda w: clients.shell(f"{w.programs.connects} early-close {ADDR} 443 20"),
         {MCP: UNKNOWN}, servers=(Https(answer(200)),), pitfalls=("A1",), says="connected"),
    Case("transport.speculative_second",
         lambda w: clients.sockets(w, f"connect:a:{HOST}:443", f"tls:a:{HOST}",
                                   f"begin:b:{HOST}:443", f"get:a:{HOST}:/mcp", "answer:a",
                                   "close:b", "close:a"),
         {MCP: Expect(REACHABLE, exchanges={REACHABLE: 1})}, servers=(Https(answer(200)),)),
    Case("transport.uring_refused",
         lambda w: clients.shell(f"{w.programs.connects} uring 10.77.0.1 8443 3"),
         {"10.77.0.1:8443/mcp": Expect(TRANSPORT, rule="connect_refused")},
         servers=(shell("ip addr add 10.77.0.1/32 dev lo"),), says="refused", pitfalls=("A23",)),
    Case("transport.uring_accepted",
         lambda w: clients.shell(f"{w.programs.connects} uring 10.77.0.1 8443 3"),
         {"10.77.0.1:8443/mcp": UNKNOWN},
         servers=(shell("ip addr add 10.77.0.1/32 dev lo"),
                  Https(answer(200), addr="10.77.0.1", port=8443)), says="connected", pitfalls=("A23",)),
    Case("transport.nonblocking_refused",
         lambda w: clients.shell(f"{w.programs.connects} nonblock 10.77.0.1 8443 3"),
         {"10.77.0.1:8443/mcp": Expect(TRANSPORT, rule="connect_refused")},
         servers=(shell("ip addr add 10.77.0.1/32 dev lo"),), says="refused", pitfalls=("A28",)),
    Case("transport.refused_then_good", lambda w: clients.shell(
        clients.quoted(clients.curl(w, f"https://{HOST}:8443/mcp")) + " ; " +
        clients.quoted(clients.curl(w, URL))),
         {f"{HOST}:443,8443/mcp": Expect(REACHABLE, also=(TRANSPORT,),
                                         exchanges={TRANSPORT: 1, REACHABLE: 1})},
         servers=(Https(answer(200)),), exit=None),
    Case("transport.good_then_refused",
         lambda w: clients.python(w, URL, f"https://{HOST}:8443/mcp"),
         {f"{HOST}:443,8443/mcp": Expect(TRANSPORT, also=(REACHABLE,),
                                         exchanges={TRANSPORT: 1, REACHABLE: 1})},
         servers=(Https(answer(200)),), exit=1),
    Case("transport.literal_v4.tls", lambda w: clients.curl(w, "https://10.77.0.1:8443/mcp"),
         {"10.77.0.1:8443/mcp": REJECTED},
         servers=(shell("ip addr add 10.77.0.1/32 dev lo"),
                  Https(answer(503), addr="10.77.0.1", port=8443))),
    Case("transport.literal_v6.clear", lambda w: clients.python(w, "http://[::1]/mcp"),
         {"[::1]:80/mcp": REACHABLE}, servers=(Http(answer(200), addr="::1"),), pitfalls=("A13",)),
    Case("transport.literal_v6.tls", lambda w: clients.curl(w, "https://[::1]:8443/mcp"),
         {"[::1]:8443/mcp": REJECTED}, servers=(Https(answer(404), addr="::1", port=8443),), pitfalls=("A13",)),
    Case("transport.literal_v4.refused", lambda w: clients.python(w, "http://10.77.0.1/mcp"),
         {"10.77.0.1:80/mcp": TRANSPORT},
         servers=(shell("ip addr add 10.77.0.1/32 dev lo"),), exit=1),
    # The first SYN is lost; the connection comes up with the second.
    Case("transport.slow_connect",
         lambda w: clients.shell(
             "(sleep 0.4; nft flush chain inet t in) & exec \"$@\"", args=clients.curl(w, CLEAR)),
         {PLAIN: Expect(REJECTED, exchanges={REJECTED: 1})},
         servers=(shell(INPUT_CHAIN + "nft 'add rule inet t in ip daddr 127.0.1.1 tcp dport 80 "
                        "drop'"), Http(answer(404))), pitfalls=("A4",)),
    Case("transport.answer_pieces_then_reset",
         lambda w: clients.curl(w, CLEAR), {PLAIN: TRANSPORT}, exit=None,
         servers=(Scripted(((request(), send([b"HT", b"TP/1.1 200 OK\r\nX: y\r\n"], 0.05),
                             sleep(0.1), reset()),)),)),
]

CASES = [*_each(), *_happy_eyeballs(), *SPECIAL]
