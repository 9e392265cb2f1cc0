# SPDX-License-Identifier: Apache-2.0
"""Connections that are kept, go stale, or carry what cannot be read; HTTP/2."""

from harness import clients
from harness.case import HOST, MCP, PLAIN, REACHABLE, REJECTED, TRANSPORT, UNKNOWN, Case, Expect
from servers.external import Nginx
from servers.scripted import (Http, Https, Scripted, answer, close, handshake, http, request, reset,
                              send)

URL = f"https://{HOST}/mcp"
CLEAR = f"http://{HOST}/mcp"
BOTH = f"{HOST}:443,8443/mcp"


def _stale(end, tls):
    """The first connection answers once and dies at the second request; then a fresh one."""
    first = [request(), send(answer(200)), request(), end]
    scripts = [first, [http(answer(503))]]
    if tls:
        scripts = [[handshake(), *script] for script in scripts]
    return Scripted(scripts, port=443 if tls else 80)


def _stales():
    want = Expect(REJECTED, also=(REACHABLE,), exchanges={REACHABLE: 1, REJECTED: 1})
    for label, end in (("reset", reset()), ("closed", close())):
        yield Case(f"reuse.stale_{label}.curl.clear",
                   lambda w: clients.curl(w, CLEAR, "-o", "/dev/null", CLEAR), {PLAIN: want},
                   servers=(_stale(end, False),))
        yield Case(f"reuse.stale_{label}.curl.tls",
                   lambda w: clients.curl(w, URL, "-o", "/dev/null", URL), {MCP: want},
                   servers=(_stale(end, True),))
        yield Case(f"reuse.stale_{label}.go.clear",
                   lambda w: clients.go(w, CLEAR, CLEAR, pause=0.2), {PLAIN: want},
                   servers=(_stale(end, False),))


def _withdrawn():
    """A refused connect, then good calls whose answers nobody can read."""
    for client, build in (("go", clients.go), ("java", clients.java)):
        yield Case(f"reuse.withdrawn.{client}",
                   lambda w, build=build: build(w, f"https://{HOST}:8443/mcp", URL, URL, pause=0.5),
                   {BOTH: Expect(UNKNOWN, also=(TRANSPORT,), hint="status not visible")},
                   servers=(Https(answer(200)),), exit=1)
        # A connection without a word withdraws nothing.
        yield Case(f"reuse.not_withdrawn_by_silence.{client}",
                   lambda w, build=build: clients.shell(" ; ".join((
                       clients.quoted(build(w, f"https://{HOST}:8443/mcp")),
                       clients.quoted(clients.sockets(w, f"connect:a:{HOST}:443", "sleep:0.3",
                                                      "close:a"))))),
                   {BOTH: TRANSPORT}, servers=(Https(answer(200)),), exit=None)
    for client, build in (("curl", clients.curl), ("node", clients.node)):
        yield Case(f"reuse.refused_then_read.{client}",
                   lambda w, build=build: clients.shell(" ; ".join(
                       clients.quoted(build(w, url))
                       for url in (f"https://{HOST}:8443/mcp", URL))),
                   {BOTH: Expect(REJECTED, also=(TRANSPORT,))}, servers=(Https(answer(503)),),
                   exit=None)


NGINX = Nginx(locations=(("/mcp", "return 200 'ok';"), ("/missing", "return 404;")))


def _http2():
    yield Case("reuse.http2_200.curl", lambda w: clients.curl(w, URL, "--http2"),
               {MCP: REACHABLE}, servers=(NGINX,))
    yield Case("reuse.http2_404.curl",
               lambda w: clients.curl(w, f"https://{HOST}/missing", "--http2"),
               {f"{HOST}:443": REJECTED}, servers=(NGINX,))
    yield Case("reuse.http2_streams.curl",
               lambda w: clients.curl(w, URL, "--http2", "-o", "/dev/null",
                                      f"https://{HOST}/missing"),
               {f"{HOST}:443": Expect(REACHABLE, also=(REJECTED,),
                                      exchanges={REACHABLE: 1, REJECTED: 1})}, servers=(NGINX,))
    yield Case("reuse.http2_unread.go", lambda w: clients.go(w, URL, h2=True), {MCP: UNKNOWN},
               servers=(NGINX,), says="status 200")
    yield Case("reuse.http2_unread.java", lambda w: clients.java(w, URL, h2=True), {MCP: UNKNOWN},
               servers=(NGINX,), says="status 200")
    yield Case("reuse.http2_prior_knowledge.curl",
               lambda w: clients.curl(w, f"http://{HOST}:8080/mcp", "--http2-prior-knowledge"),
               {f"{HOST}:8080/mcp": Expect(UNKNOWN, also=(REACHABLE,))}, exit=None,
               servers=(Http(answer(200), port=8080),))


CASES = [
    *_stales(), *_withdrawn(), *_http2(),
    Case("reuse.keep_alive_each_status.clear",
         lambda w: clients.python(w, CLEAR, methods="POST,POST,POST,POST"),
         {PLAIN: Expect(REACHABLE, also=(REJECTED,), exchanges={REACHABLE: 2, REJECTED: 2})},
         servers=(Http(answer(200), answer(404), answer(500), answer(202, b"x")),)),
    Case("reuse.keep_alive_each_status.tls",
         lambda w: clients.python(w, URL, methods="POST,POST,POST,POST"),
         {MCP: Expect(REJECTED, also=(REACHABLE,), exchanges={REACHABLE: 2, REJECTED: 2})},
         servers=(Https(answer(200), answer(404), answer(200), answer(500)),)),
    Case("reuse.keep_alive_each_status.node",
         lambda w: clients.node(w, URL, URL, URL, keep_alive=True, pause=0.1),
         {MCP: Expect(REACHABLE, also=(REJECTED,), exchanges={REACHABLE: 2, REJECTED: 1})},
         servers=(Https(answer(200), answer(404), answer(200)),)),
    Case("reuse.idle_end_after_answer.clear",
         lambda w: clients.sockets(w, f"connect:a:{HOST}:80", f"get:a:{HOST}:/mcp", "answer:a",
                                   "eof:a", "close:a"),
         {PLAIN: Expect(REJECTED, exchanges={REJECTED: 1})},
         servers=(Http(answer(404), close_after=1),)),
    Case("reuse.idle_reset_after_answer.clear",
         lambda w: clients.sockets(w, f"connect:a:{HOST}:80", f"get:a:{HOST}:/mcp", "answer:a",
                                   "eof:a", "close:a"),
         {PLAIN: Expect(REACHABLE, exchanges={REACHABLE: 1})},
         servers=(Scripted(((request(), send(answer(200)), reset()),)),), exit=(0, 1)),
]
