# SPDX-License-Identifier: Apache-2.0
"""Connections that the host itself forbids: a policy program of the cgroup, or the packet filter
before the packet leaves."""

from harness import clients
from harness.case import HOST, MCP, POLICY, REACHABLE, UNKNOWN, Case, Expect, Unattributed
from harness.clients import Command
from servers.scripted import Https, answer

NAME_SERVER_DENIED = Unattributed("", POLICY)
URL = f"https://{HOST}/mcp"
OUTPUT = ("nft 'add table inet t; add chain inet t out {type filter hook output priority 0;}'; "
          "nft 'add rule inet t out ip daddr 127.0.1.1 tcp dport 443 %s'")

CLIENTS = {
    "curl": lambda w, t=10: clients.curl(w, URL, timeout=t),
    "urllib": lambda w, t=10: clients.python(w, URL, timeout=t),
    "node": lambda w, t=10: clients.node(w, URL, timeout=t),
    "go": lambda w, t=10: clients.go(w, URL, timeout=t),
    "java": lambda w, t=10: clients.java(w, URL, timeout=t),
}


def _denied(build, *options):
    def command(world):
        inner = build(world)
        return Command([world.programs.deny_connect, *options, *inner.argv], inner.stdin)
    return command


def _filter(verdict):
    return lambda world: world.sh(OUTPUT % verdict)


def _each():
    for client, build in CLIENTS.items():
        yield Case(f"policy_hook.eperm.{client}", _denied(build), {MCP: Expect(POLICY)}, exit=None,
                   servers=(Https(answer(200)),), pitfalls=("G4", "D19"))
        yield Case(f"policy_hook.reject.{client}", build,
                   {MCP: Expect(POLICY, hint="blocked before leaving")}, exit=None,
                   servers=(Https(answer(200)), _filter("reject with tcp reset")))
        yield Case(f"policy_hook.drop.{client}", lambda w, build=build: build(w, 4),
                   {MCP: Expect(POLICY, hint="blocked before leaving")}, exit=None,
                   servers=(Https(answer(200)), _filter("drop")), weight=6)


CASES = [
    *_each(),
    # The hook refuses the lookup too: the client says "could not resolve", the cause is the policy.
    Case("policy_hook.eperm_for_dns_too.curl", _denied(CLIENTS["curl"], "--all"), {MCP: POLICY},
         exit=6, servers=(Https(answer(200)),), unattributed=(NAME_SERVER_DENIED,),
         pitfalls=("G4",)),
    # Go resolves by itself: no question leaves it, so nobody can know which name it wanted.
    Case("policy_hook.eperm_for_dns_too.go", _denied(CLIENTS["go"], "--all"), {MCP: UNKNOWN},
         exit=1, servers=(Https(answer(200)),), unattributed=(NAME_SERVER_DENIED,),
         pitfalls=("G4",)),
    Case("policy_hook.reject_icmp.curl", CLIENTS["curl"],
         {MCP: Expect(POLICY, hint="blocked before leaving")}, exit=None,
         servers=(Https(answer(200)), _filter("reject with icmpx type admin-prohibited"))),
    # The rule is about another port: nothing is blocked here.
    Case("policy_hook.other_port_blocked.curl", CLIENTS["curl"], {MCP: REACHABLE},
         servers=(Https(answer(200)),
                  lambda w: w.sh((OUTPUT % "drop").replace("443", "444")))),
]
