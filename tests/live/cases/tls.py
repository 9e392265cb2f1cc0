# SPDX-License-Identifier: Apache-2.0
"""TLS that fails, for each TLS client; and TLS that only looks like failing."""

from harness import clients
from harness.case import HOST, MCP, REACHABLE, TLS, UNKNOWN, Case, Expect
from servers.external import OpensslServer, Stunnel
from servers.scripted import (Http, Https, Scripted, answer, close, read_record, reset, send, sleep,
                              wait_close, handshake, http)

URL = f"https://{HOST}/mcp"
PLAIN_ANSWER = (b"HTTP/1.1 400 Bad Request\r\nContent-Length: 5\r\nConnection: close\r\n\r\nplain")

# Name -> (servers, how the client is told to speak, seconds until it gives up).
FAILURES = {
    "untrusted": ((Https(answer(200), tls="untrusted"),), {}),
    "expired": ((Https(answer(200), tls="expired"),), {}),
    "wrong_name": ((Https(answer(200), tls="wrong_name"),), {}),
    "client_cert_tls13": ((OpensslServer(("-Verify", "1", "-verify_return_error", "-CAfile",
                                          "@client_ca", "-tls1_3")),), {}),
    "client_cert_tls12": ((OpensslServer(("-Verify", "1", "-verify_return_error", "-CAfile",
                                          "@client_ca", "-tls1_2")),), {}),
    "version": ((OpensslServer(("-tls1_3",)),), {"max12": True}),
    "alpn": ((OpensslServer(("-alpn", "acme")),), {"alpn": "http/1.1"}),
    "plain_server": ((Scripted(((read_record(), send(PLAIN_ANSWER), sleep(0.1), close()),),
                               port=443),), {}),
    "closed_after_hello": ((Scripted(((read_record(), close()),), port=443),), {}),
    "reset_after_hello": ((Scripted(((read_record(), reset()),), port=443),), {}),
    "hang": ((Scripted(((read_record(), wait_close(20)),), port=443),), {"timeout": 4}),
}

# Where the certificate is found wrong after a handshake that the library calls good, nothing but
# "Finished, then close without a request" is there to be seen: weak.
WEAK = {("wrong_name", "curl"), ("wrong_name", "node"), ("wrong_name", "node_debian"),
        # No alert, no library witness: only the client's FIN inside the handshake.
        ("untrusted", "java_engine"), ("expired", "java_engine"), ("wrong_name", "java_engine")}

# Where a witness sees the cause; elsewhere the sequence must admit one reading.
OBSERVED_ON_WIRE = {"version", "alpn", "plain_server", "client_cert_tls12"}
OBSERVED_IN_LIBRARY = {"untrusted", "expired", "wrong_name", "client_cert_tls13"}

# Clients that try again by themselves.
RETRIES = ("java", "java_engine")

PITFALLS = {
    ("client_cert_tls13", "urllib"): ("C13",),
    ("closed_after_hello", "asyncio"): ("C14",),
    ("untrusted", "urllib"): ("C10",),
    ("untrusted", "java"): ("C32",),
    ("untrusted", "asyncio"): ("C14",),
    ("hang", "curl"): ("C20",),
}


def _confidence(failure, client):
    if failure in OBSERVED_ON_WIRE:
        return "observed"
    if failure in OBSERVED_IN_LIBRARY and client in clients.SEEN_LIBRARIES:
        return "observed"
    return "inferred"


def _needs(client):
    if client == "node_debian":
        return lambda programs: (not programs.debian_node_reason, programs.debian_node_reason)
    if client == "node":
        return lambda programs: (not programs.static_node_reason, programs.static_node_reason)
    return None


def _each_client():
    for failure, (servers, how) in FAILURES.items():
        for client, build in clients.TLS_CLIENTS.items():
            weak = (failure, client) in WEAK
            yield Case(f"tls.{failure}.{client}",
                       lambda w, build=build, how=how: build(w, URL, **how),
                       {MCP: Expect(TLS, weak=weak, confidence=_confidence(failure, client),
                                    exchanges=None if weak or client in RETRIES else {TLS: 1})},
                       servers=servers, exit=None, needs=_needs(client),
                       pitfalls=PITFALLS.get((failure, client), ()),
                       weight=6 if failure == "hang" else 2)


def _good():
    for client, build in clients.TLS_CLIENTS.items():
        seen = client in clients.SEEN_LIBRARIES
        yield Case(f"tls.good.{client}", lambda w, build=build: build(w, URL),
                   {MCP: REACHABLE if seen else UNKNOWN}, servers=(Https(answer(200)),), exit=None,
                   needs=_needs(client))


WARNING_112 = b"\x15\x03\x03\x00\x02\x01\x70"

SPECIAL = [
    # stunnel resets right behind its alert: which of the two curl is told is a race.
    Case("tls.stunnel_client_cert.curl", lambda w: clients.curl(w, URL), {MCP: TLS},
         servers=(Http(answer(200), port=8080), Stunnel(8080)), exit=None),
    Case("tls.insecure.curl", lambda w: clients.curl(w, URL, "-k", ca=False),
         {MCP: REACHABLE}, servers=(Https(answer(200), tls="untrusted"),)),
    Case("tls.insecure.urllib", lambda w: clients.python(w, URL, insecure=True),
         {MCP: REACHABLE}, servers=(Https(answer(200), tls="expired"),)),
    Case("tls.insecure.asyncio",
         lambda w: clients.python(w, URL, insecure=True, library="streams"),
         {MCP: REACHABLE}, servers=(Https(answer(200), tls="wrong_name"),)),
    Case("tls.insecure.node", lambda w: clients.node(w, URL, insecure=True),
         {MCP: REACHABLE}, servers=(Https(answer(200), tls="untrusted"),)),
    Case("tls.resumed.tls13",
         lambda w: clients.sockets(
             w, f"connect:a:{HOST}:443", f"tls:a:{HOST}", f"get:a:{HOST}:/mcp", "answer:a",
             f"connect:b:{HOST}:443", f"tls-resume:b:{HOST}:a", f"get:b:{HOST}:/mcp", "answer:b",
             "close:a", "close:b"),
         {MCP: Expect(REACHABLE, exchanges={REACHABLE: 2})},
         servers=(Https(answer(200)),), says="\nresumed"),
    Case("tls.resumed.tls12",
         lambda w: clients.sockets(
             w, f"connect:a:{HOST}:443", f"tls:a:{HOST}", f"get:a:{HOST}:/mcp", "answer:a",
             f"connect:b:{HOST}:443", f"tls-resume:b:{HOST}:a", f"get:b:{HOST}:/mcp", "answer:b",
             "close:a", "close:b"),
         {MCP: Expect(REACHABLE, exchanges={REACHABLE: 2})},
         servers=(Https(answer(200), max_version="1.2"),), says="\nresumed"),
    # OpenSSL takes an unrecognized_name warning before the ServerHello of TLS 1.2 in its stride.
    Case("tls.warning_alert.curl", lambda w: clients.curl(w, URL, max12=True),
         {MCP: REACHABLE},
         servers=(Scripted(((handshake(after=WARNING_112), http(answer(200))),), port=443,
                           max_version="1.2"),),
         pitfalls=("C19",)),
    Case("tls.fatal_112.curl", lambda w: clients.curl(w, URL),
         {MCP: Expect(TLS, confidence="observed")}, exit=35, pitfalls=("C19",),
         servers=(Scripted(((read_record(), send(b"\x15\x03\x03\x00\x02\x02\x70"), sleep(0.05),
                             close()),), port=443),)),
    # Three bytes of a ClientHello and nothing more: no kind of failure yet.
    Case("tls.partial_hello",
         lambda w: clients.sockets(w, f"connect:a:{HOST}:443", "send:a:\\x16\\x03\\x01", "sleep:4",
                                   "close:a"),
         {MCP: Expect(TLS, weak=True)}, servers=(Scripted(((wait_close(20),),), port=443),),
         weight=5, pitfalls=("C20",)),
    # The server's alert comes after the client has gone: the client's refusal is the cause.
    Case("tls.untrusted_tls12.asyncio",
         lambda w: clients.python(w, URL, library="streams", max12=True),
         {MCP: Expect(TLS, confidence="observed",
                      rule=("tls_verify_failed", "tls_library_error"))},
         servers=(Https(answer(200), tls="untrusted"),), exit=1, pitfalls=("C31",)),
    Case("tls.untrusted_tls12.java", lambda w: clients.java(w, URL, max12=True),
         {MCP: Expect(TLS)}, servers=(Https(answer(200), tls="untrusted"),), exit=1),
    Case("tls.untrusted_tls12.go", lambda w: clients.go(w, URL, max12=True),
         {MCP: Expect(TLS)}, servers=(Https(answer(200), tls="untrusted"),), exit=1),
    Case("tls.idle_speculative",
         lambda w: clients.sockets(
             w, f"connect:a:{HOST}:443", f"tls:a:{HOST}", f"connect:b:{HOST}:443",
             f"tls:b:{HOST}", f"get:a:{HOST}:/mcp", "answer:a", "sleep:1", "close:a", "close:b"),
         {MCP: REACHABLE}, servers=(Https(answer(200)),)),
    Case("tls.idle_only",
         lambda w: clients.sockets(w, f"connect:a:{HOST}:443", f"tls:a:{HOST}", "sleep:2",
                                   "close:a"),
         {MCP: Expect(TLS, weak=True)}, servers=(Https(answer(200)),)),
    Case("tls.server_idle_close_after_good",
         lambda w: clients.python(w, URL),
         {MCP: REACHABLE}, servers=(Https(answer(200), close_after=1),)),
    Case("tls.failed_then_good",
         lambda w: clients.python(w, URL, URL, pause=0.3),
         {MCP: Expect(REACHABLE, also=(TLS,), exchanges={TLS: 1, REACHABLE: 1})},
         servers=(Scripted(((read_record(), reset()),
                            (handshake(), http(answer(200)))), port=443),), exit=1),
    Case("tls.good_then_failed",
         lambda w: clients.python(w, URL, URL, pause=0.3),
         {MCP: Expect(TLS, also=(REACHABLE,), exchanges={TLS: 1, REACHABLE: 1})},
         servers=(Scripted(((handshake(), http(answer(200))),
                            (read_record(), reset())), port=443),), exit=1),
]

CASES = [*_each_client(), *_good(), *SPECIAL]
