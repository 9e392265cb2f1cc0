# SPDX-License-Identifier: Apache-2.0
"""Name resolution that fails or takes a detour, asked directly and through a stub on 127.0.0.53."""

from harness import clients
from harness.case import ADDR, HOST, MCP, PLAIN, REACHABLE, REJECTED, TRANSPORT, UNKNOWN, Case, Expect
from servers.dns import NOERROR, NXDOMAIN, REFUSED, SERVFAIL, Names, Says
from servers.external import Dnsmasq, Unbound
from servers.scripted import Http, Https, answer

URL = f"https://{HOST}/mcp"
CLEAR = f"http://{HOST}/mcp"
STUB = "nameserver 127.0.0.53\noptions timeout:2 attempts:2\n"
ROUTES = {MCP: TRANSPORT}

FAILING = {
    "nxdomain": Says(rcode=NXDOMAIN),
    "servfail": Says(rcode=SERVFAIL),
    "refused": Says(rcode=REFUSED),
    "silent": Says(silent=True),
    "empty": Says(rcode=NOERROR),
}
DETOURS = {
    "truncated": Says(addresses=(ADDR,), truncated=True),
    "truncated_split": Says(addresses=(ADDR,), truncated=True, split=True),
    "late": Says(addresses=(ADDR,), delay=1.0),
    "cname": Says(addresses=(ADDR,), cname="behind.routes.test"),
    "aaaa_servfail": Says(addresses=(ADDR,), v6_rcode=SERVFAIL),
    "short_ttl": Says(addresses=(ADDR,), ttl=0),
}
PITFALLS = {"refused": ("B5",), "silent": ("B2", "B5"), "truncated_split": ("B16",)}

CLIENTS = {
    "curl": lambda w: clients.curl(w, URL),
    "urllib": lambda w: clients.python(w, URL),
    "asyncio": lambda w: clients.python(w, URL, library="streams"),
    "node": lambda w: clients.node(w, URL),
    "c_ares": lambda w: clients.node(w, URL, c_ares=True),
    "go": lambda w: clients.go(w, URL),
    "java": lambda w: clients.java(w, URL),
}


def _servers(says, through):
    if through == "stub":
        return (Names({HOST: says}, addr="127.0.0.2"), Dnsmasq("127.0.0.2"))
    return (Names({HOST: says}),)


def _failing():
    for label, says in FAILING.items():
        for through in ("direct", "stub"):
            for client, build in CLIENTS.items():
                if through == "stub" and client not in ("curl", "node", "go"):
                    continue
                extra = ("B11",) if through == "stub" and label == "nxdomain" else ()
                if label == "nxdomain" and client in ("c_ares", "go", "curl"):
                    extra = (*extra, "B10")
                yield Case(f"dns.{label}.{through}.{client}", build, ROUTES,
                           servers=_servers(says, through), name_server=False,
                           resolv=STUB if through == "stub" else "", exit=None,
                           pitfalls=(*PITFALLS.get(label, ()), *extra),
                           weight=6 if label == "silent" else 2)


def _detours():
    for label, says in DETOURS.items():
        for through in ("direct", "stub"):
            if through == "stub" and label == "truncated_split":
                continue
            for client in ("curl", "go") if label.startswith("truncated") else ("curl",):
                seen = client in clients.SEEN_LIBRARIES
                yield Case(f"dns.{label}.{through}.{client}", CLIENTS[client],
                           {MCP: REJECTED if seen else UNKNOWN},
                           servers=(*_servers(says, through), Https(answer(404))),
                           name_server=False, resolv=STUB if through == "stub" else "",
                           pitfalls=PITFALLS.get(label, ()))


SPECIAL = [
    Case("dns.unbound_nxdomain.curl", CLIENTS["curl"], ROUTES, name_server=False, resolv=STUB,
         servers=(Unbound(zones=(("routes.test", "static"),)),), exit=6),
    Case("dns.unbound_refused.curl", CLIENTS["curl"], ROUTES, name_server=False, resolv=STUB,
         servers=(Unbound(zones=(("routes.test", "refuse"),)),), exit=6),
    Case("dns.unbound_deny.curl", CLIENTS["curl"], ROUTES, name_server=False, resolv=STUB,
         servers=(Unbound(zones=(("routes.test", "deny"),)),), exit=6, weight=4),
    Case("dns.unbound_good.curl", CLIENTS["curl"], {MCP: REACHABLE}, name_server=False,
         resolv=STUB, servers=(Unbound(zones=(("routes.test", "static"),),
                                       records=(f"{HOST}. A {ADDR}",)), Https(answer(200)))),
    Case("dns.no_server_listens.curl", CLIENTS["curl"], ROUTES, name_server=False, exit=6),
    # Two suffixes are tried before the name itself.
    Case("dns.search_list.good", lambda w: clients.curl(w, CLEAR), {PLAIN: REJECTED},
         resolv="nameserver 127.0.0.1\nsearch one.test two.test\n"
                "options ndots:4 timeout:2 attempts:2\n",
         servers=(Http(answer(404)),)),
    Case("dns.search_list.nxdomain", CLIENTS["curl"], ROUTES, name_server=False, exit=6,
         resolv="nameserver 127.0.0.1\nsearch one.test two.test\n"
                "options ndots:4 timeout:2 attempts:2\n",
         servers=(Names({HOST: Says(rcode=NXDOMAIN)}),)),
    Case("dns.second_server_answers", lambda w: clients.curl(w, CLEAR), {PLAIN: REACHABLE},
         resolv="nameserver 127.0.0.9\nnameserver 127.0.0.1\noptions timeout:1 attempts:1\n",
         servers=(Names(addr="127.0.0.9", default=Says(silent=True),
                        table={HOST: Says(silent=True)}), Http(answer(200)))),
    Case("dns.failed_then_good", lambda w: clients.shell(
        f"curl -sS -m 5 -o /dev/null {CLEAR}; sleep 0.7; curl -sS -m 5 -o /dev/null {CLEAR}"),
         {PLAIN: Expect(REACHABLE, also=(TRANSPORT,))}, name_server=False,
         servers=(Names({HOST: Says(addresses=(ADDR,), fail_first=2)}), Http(answer(200)))),
    Case("dns.hosts_file.curl", CLIENTS["curl"], {MCP: REJECTED}, hosts=(f"{ADDR} {HOST}",),
         name_server=False, servers=(Https(answer(404)),)),
    Case("dns.hosts_file.clear", lambda w: clients.python(w, CLEAR), {PLAIN: REACHABLE},
         hosts=(f"{ADDR} {HOST}",), name_server=False, servers=(Http(answer(200)),)),
    Case("dns.curl_resolve", lambda w: clients.curl(w, URL, "--resolve", f"{HOST}:443:{ADDR}"),
         {MCP: REACHABLE}, name_server=False, servers=(Https(answer(200)),)),
    Case("dns.ten_seconds_later",
         lambda w: clients.shell('sleep 10; exec "$@"', args=clients.curl(w, URL)), ROUTES,
         name_server=False, exit=6, servers=(Names({HOST: Says(silent=True)}),), weight=15,
         pitfalls=("B14",)),
    # A pointer that points to itself must harm nobody; the client sees a useless answer.
    Case("dns.pointer_loop.curl", CLIENTS["curl"], ROUTES, name_server=False, exit=6,
         servers=(Names({HOST: Says(raw=b"\x81\x80\0\1\0\1\0\0\0\0" + b"\3mcp\xc0\x10\0\1\0\1"
                                        + b"\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4\x7f\0\1\1")}),),
         pitfalls=("B7", "B8")),
]

CASES = [*_failing(), *_detours(), *SPECIAL]
