# SPDX-License-Identifier: Apache-2.0
"""What a live case is: plain data. A case names the servers it starts, the client it runs in the
boundary, and what the report must say about each route. Everything else (name server, sibling
routes, losses, privacy, replay) is checked for every case by harness/verify.py."""

from dataclasses import dataclass
from typing import Callable, Mapping, Sequence, Union

# The address that servers listen on and that every name resolves to unless a case says otherwise.
ADDR = "127.0.1.1"
HOST = "mcp.routes.test"

# Routes are written "host:port/path", or "host:port,port/path".
MCP = f"{HOST}:443/mcp"
PLAIN = f"{HOST}:80/mcp"
SIBLING = "sibling.routes.test:443/mcp"

REACHABLE = "Reachable"
REJECTED = "UpstreamRejected"
TRANSPORT = "TransportFailed"
TLS = "TlsFailed"
POLICY = "PolicyDenied"
UNKNOWN = "NoObservedExchange"


@dataclass(frozen=True)
class Expect:
    """What the report must say about one route.

    `confidence` is the least that the deciding exchange may have. With `weak` the condition stays
    Unknown, and if an exchange is shown at all it has this reason at confidence weak."""

    reason: str
    rule: Union[str, Sequence[str], None] = None
    confidence: str = "inferred"
    hint: str = ""
    weak: bool = False
    or_unknown: str = ""  # why the condition may stay Unknown instead (never another failure)
    also: Sequence[str] = ()  # outcomes that other exchanges of the route may have
    weak_also: Sequence[str] = ()  # the same, if their confidence is weak
    exchanges: Mapping[str, int] = None  # outcome -> how many exchanges exactly
    at_most: int = 0  # when not 0: no more exchanges than this


@dataclass(frozen=True)
class Unattributed:
    """One unattributed record that must be there."""

    reason: str
    outcome: str = ""
    host: str = ""
    hint: str = ""
    may_be_absent: bool = False


@dataclass(frozen=True)
class Case:
    name: str
    # Gives the command: a list of arguments, made when the world is up.
    client: Callable
    expect: Mapping[str, Union[str, Expect]]
    servers: Sequence = ()
    # Host names and their addresses for the name server: "a.test": ("127.0.0.9", "::1").
    names: Mapping[str, Sequence[str]] = None
    # Lines added to /etc/hosts.
    hosts: Sequence[str] = ()
    resolv: str = ""  # the whole /etc/resolv.conf, when not the default
    name_server: bool = True  # start the default name server on 127.0.0.1
    endpoints: Sequence[Mapping] = ()  # more policy endpoints, as written
    routes: Sequence[str] = ()  # routes beyond those in `expect`; they must stay Unknown
    unattributed: Sequence[Unattributed] = ()
    exit: Union[int, Sequence[int], None] = 0
    says: str = ""  # regular expression for what the client prints
    timeout: float = 25.0
    # Called in the world instead of `routelens run`: attach and other shapes.
    driver: Callable = None
    # Called with (world, report) after the common checks; raises AssertionError.
    check: Callable = None
    lossless: bool = True
    alone: bool = False  # never in a batch (harness/batch.py)
    replay: bool = True
    report: bool = True  # False: Routelens is not to end with a report
    # What the host must have for the case; (ok, reason) or None.
    needs: Callable = None
    pitfalls: Sequence[str] = ()
    weight: float = 1.0  # seconds it takes about: long cases are started first


def expectation(value) -> Expect:
    return value if isinstance(value, Expect) else Expect(value)
