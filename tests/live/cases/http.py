# SPDX-License-Identifier: Apache-2.0
"""What a server answers: statuses, heads, bodies, streams; in the clear and through TLS."""

from harness import clients
from harness.case import (HOST, MCP, PLAIN, REACHABLE, REJECTED, TRANSPORT, Case, Expect)
from servers.scripted import (Http, Https, Scripted, answer, close, http, request, reset, send,
                              sleep)

URL = f"https://{HOST}/mcp"
CLEAR = f"http://{HOST}/mcp"

# Name -> (answer to the request, outcome, what a client may exit with).
ERROR_BODY = (b'{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"HTTP/1.1 500 no"}}')
ANSWERS = {
    "401": (answer(401, fields=["WWW-Authenticate: Bearer"]),
            Expect(REJECTED, hint="the credential may have expired")),
    "403": (answer(403), REJECTED),
    "404": (answer(404), REJECTED),
    "429": (answer(429, fields=["Retry-After: 1"]), REJECTED),
    "500": (answer(500), REJECTED),
    "503": (answer(503), REJECTED),
    "600": (answer(600), REJECTED),
    "999": (answer(999), REJECTED),
    "200_error_inside": (answer(200, ERROR_BODY), REACHABLE),
    "202": (answer(202, b""), REACHABLE),
    "204": (answer(204), REACHABLE),
    "301": (answer(301, fields=["Location: /elsewhere"]), REACHABLE),
    "304": (answer(304), REACHABLE),
    "103_then_200": ([b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n", answer(200)], REACHABLE),
    "100_102_then_200": ([b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 102 Processing\r\n\r\n",
                          answer(200)], REACHABLE),
    "100_then_417": ([b"HTTP/1.1 100 Continue\r\n\r\n", answer(417)], REJECTED),
    "200_http10": (answer(200, version="HTTP/1.0"), REACHABLE),
    "no_reason": (b"HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nok", REACHABLE),
    "head_in_pieces": ([b"HT", b"TP/1.1 5", b"03 Busy\r", b"\nContent-Length: 0\r\n", b"\r\n"],
                       REJECTED),
    "large_head": (answer(404, fields=[f"X-Pad-{n}: {'p' * 500}" for n in range(20)]), REJECTED),
    "chunked": (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
                REACHABLE),
}
PITFALLS = {"103_then_200": ("G1",), "100_102_then_200": ("G1",), "100_then_417": ("G1",),
            "4294967496": ("G2",), "lone_cr": ("G2",)}

# What is no HTTP answer, or not a whole head: the rest of the connection's script.
MALFORMED = {
    "99": [send(b"HTTP/1.1 99 No\r\nContent-Length: 0\r\n\r\n"), sleep(0.05), close()],
    "20": [send(b"HTTP/1.1 20 No\r\nContent-Length: 0\r\n\r\n"), sleep(0.05), close()],
    "099": [send(b"HTTP/1.1 099 No\r\nContent-Length: 0\r\n\r\n"), sleep(0.05), close()],
    "4294967496": [send(b"HTTP/1.1 4294967496 OK\r\nContent-Length: 0\r\n\r\n"), sleep(0.05),
                   close()],
    "lone_cr": [send(b"HTTP/1.1 200 OK\rContent-Length: 0\r\r"), sleep(0.05), close()],
    "icy": [send(b"ICY 200 OK\r\nContent-Length: 0\r\n\r\n"), sleep(0.05), close()],
    "garbage": [send(b"\x00\x01\x02\x03 nothing\r\n\r\n"), sleep(0.05), close()],
    "head_cut": [send(b"HTTP/1.1 200 OK\r\nContent-Len"), sleep(0.05), close()],
    "status_line_cut": [send(b"HTTP/1.1 2"), sleep(0.05), close()],
    "head_reset": [send(b"HTTP/1.1 200 OK\r\nContent-Len"), sleep(0.05), reset()],
    "reset": [reset()],
    "closed": [close()],
    "100_then_close": [send(b"HTTP/1.1 100 Continue\r\n\r\n"), sleep(0.05), close()],
}

# Inside TLS the end of an answer's head is not read, and tickets look like data.
CUT_SHORT = ("head_cut", "head_reset", "reset", "closed", "status_line_cut", "100_then_close")
HIDDEN = "inside TLS only a whole status line is read"

# A whole head and then trouble: the status stands.
CUT_BODIES = {
    "200_body_cut": ([send(answer(200, b"half", length=4000)), sleep(0.05), close()], REACHABLE),
    "200_body_reset": ([send(answer(200, b"half", length=4000)), sleep(0.05), reset()], REACHABLE),
    "503_body_cut": ([send(answer(503, b"half", length=4000)), sleep(0.05), close()], REJECTED),
    "404_body_reset": ([send(answer(404, b"half", length=4000)), sleep(0.05), reset()], REJECTED),
}


def _server(steps, tls):
    # A client that tries again meets the same answer.
    return Scripted(((request(), *steps),), port=443 if tls else 80, tls="good" if tls else "")


def _client(name, tls):
    url = URL if tls else CLEAR
    if name == "curl":
        return lambda world: clients.curl(world, url)
    if name == "node":
        return lambda world: clients.node(world, url)
    library = {"asyncio": "streams"}.get(name, name)
    return lambda world: clients.python(world, url, library=library)


def _statuses():
    for label, (said, expect) in ANSWERS.items():
        runs = [("clear", "curl"), ("tls", "curl"), ("tls", "node"), ("tls", "urllib")]
        if label in ("200_error_inside", "404", "503", "head_in_pieces"):
            runs += [("clear", "urllib"), ("clear", "node"), ("tls", "asyncio"),
                     ("tls", "requests"), ("tls", "httpx"), ("tls", "aiohttp")]
        for how, client in runs:
            # Python takes a 103 for the final answer and reads no further.
            if client == "urllib" and label in ("103_then_200", "100_102_then_200"):
                continue
            tls = how == "tls"
            odd = label == "600" or label == "999"
            yield Case(f"http.{label}.{how}.{client}", _client(client, tls),
                       {MCP if tls else PLAIN: expect},
                       servers=(Http(said, port=443 if tls else 80, tls="good" if tls else ""),),
                       exit=None if odd else 0, pitfalls=PITFALLS.get(label, ()))


def _malformed():
    for label, steps in MALFORMED.items():
        for how, client in (("clear", "curl"), ("clear", "urllib"), ("tls", "urllib"),
                            ("tls", "node"), ("tls", "curl")):
            tls = how == "tls"
            hidden = HIDDEN if tls and label in CUT_SHORT else ""
            yield Case(f"http.{label}.{how}.{client}", _client(client, tls),
                       {MCP if tls else PLAIN: Expect(TRANSPORT, or_unknown=hidden)},
                       servers=(_server(steps, tls),),
                       exit=None, pitfalls=PITFALLS.get(label, ()))


def _cut_bodies():
    for label, (steps, outcome) in CUT_BODIES.items():
        for how, client in (("clear", "curl"), ("tls", "curl"), ("tls", "urllib")):
            tls = how == "tls"
            yield Case(f"http.{label}.{how}.{client}", _client(client, tls),
                       {MCP if tls else PLAIN: outcome}, servers=(_server(steps, tls),), exit=None)


def _methods(tls):
    """405 to GET and DELETE after a POST that was answered, as MCP servers without a stream do."""
    how = "tls" if tls else "clear"
    url, route = (URL, MCP) if tls else (CLEAR, PLAIN)
    serve = Https if tls else Http
    yield Case(f"http.405_get.{how}", lambda w: clients.python(w, url, methods="POST,GET"),
               {route: Expect(REJECTED, hint="no SSE stream", also=(REACHABLE,),
                              exchanges={REACHABLE: 1, REJECTED: 1})},
               servers=(serve(POST=(answer(200),), GET=(answer(405),)),))
    yield Case(f"http.405_delete.{how}",
               lambda w: clients.python(w, url, methods="POST,DELETE", session=True),
               {route: Expect(REJECTED, hint="405 to DELETE", also=(REACHABLE,),
                              exchanges={REACHABLE: 1, REJECTED: 1})},
               servers=(serve(POST=(answer(200),), DELETE=(answer(405),)),))
    yield Case(f"http.405_then_call.{how}",
               lambda w: clients.python(w, url, methods="POST,GET,POST"),
               {route: Expect(REACHABLE, also=(REJECTED,),
                              exchanges={REACHABLE: 2, REJECTED: 1})},
               servers=(serve(POST=(answer(200),), GET=(answer(405),)),))


STREAM_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
STREAM_EVENT = b"data: HTTP/1.1 500 Internal Server Error\r\n\r\nHTTP/1.1 503 Busy\r\n\r\n"


def _stream(name, seconds, tls):
    url, route = (URL, MCP) if tls else (CLEAR, PLAIN)
    step = http(send([STREAM_HEAD, *[STREAM_EVENT] * seconds], 1.0), close_after=1)
    return Case(name, lambda w: clients.curl(w, url, "-N", timeout=seconds + 20),
                {route: Expect(REACHABLE, exchanges={REACHABLE: 1})},
                servers=(Scripted(((step,),), port=443 if tls else 80, tls="good" if tls else ""),),
                timeout=seconds + 25, weight=seconds)


def _session_end(tls):
    """An event stream, then DELETE answered by 405 at its end."""
    url, route = (URL, MCP) if tls else (CLEAR, PLAIN)
    stream = send(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                  b"Transfer-Encoding: chunked\r\n\r\n6\r\ndata:\n\r\n0\r\n\r\n")
    return Case(f"http.stream_then_delete_405.{'tls' if tls else 'clear'}",
                lambda w: clients.python(w, url, methods="GET,DELETE", session=True),
                {route: Expect(REJECTED, hint="405 to DELETE", also=(REACHABLE,))},
                servers=((Https if tls else Http)(GET=(stream,), DELETE=(answer(405),)),))


UPGRADE = (b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n")

SPECIAL = [
    Case("http.101.clear",
         lambda w: clients.sockets(w, f"connect:a:{HOST}:80", f"get:a:{HOST}:/mcp", "answer:a",
                                   "send:a:HTTP/1.1 500 no\\r\\n\\r\\n", "sleep:0.2", "close:a"),
         {PLAIN: Expect(REACHABLE, exchanges={REACHABLE: 1})},
         servers=(Scripted(((request(), send(UPGRADE), sleep(0.1),
                             send(b"HTTP/1.1 500 no\r\n\r\n"), sleep(1)),)),),
         says="status 101"),
    Case("http.101.tls",
         lambda w: clients.sockets(w, f"connect:a:{HOST}:443", f"tls:a:{HOST}",
                                   f"get:a:{HOST}:/mcp", "answer:a", "sleep:0.2", "close:a"),
         {MCP: Expect(REACHABLE, exchanges={REACHABLE: 1})},
         servers=(Scripted(((request(), send(UPGRADE), sleep(0.1),
                             send(b"HTTP/1.1 500 no\r\n\r\n"), sleep(1)),), port=443, tls="good"),),
         says="status 101"),
    Case("http.401_then_200", lambda w: clients.python(w, URL, methods="POST,POST"),
         {MCP: Expect(REACHABLE, also=(REJECTED,), exchanges={REACHABLE: 1, REJECTED: 1})},
         servers=(Https(answer(401), answer(200)),)),
    Case("http.200_then_404_session", lambda w: clients.python(w, CLEAR, methods="POST,POST",
                                                               session=True),
         {PLAIN: Expect(REJECTED, also=(REACHABLE,))},
         servers=(Http(answer(200), answer(404)),)),
    Case("http.pipelined",
         lambda w: clients.sockets(w, f"connect:a:{HOST}:80", f"get:a:{HOST}:/mcp",
                                   f"get:a:{HOST}:/mcp", "answer:a", "answer:a", "close:a"),
         {PLAIN: Expect(REJECTED, also=(REACHABLE,), exchanges={REACHABLE: 1, REJECTED: 1})},
         servers=(Http(answer(200), answer(503)),)),
    Case("http.pipelined_then_closed",
         lambda w: clients.sockets(w, f"connect:a:{HOST}:80", f"get:a:{HOST}:/mcp",
                                   f"get:a:{HOST}:/mcp", "sleep:0.3", "close:a"),
         {PLAIN: "NoObservedExchange"},
         servers=(Scripted(((sleep(0.1), close()),)),), exit=(0, 1)),
    Case("http.request_in_pieces",
         lambda w: clients.sockets(w, f"connect:a:{HOST}:80", "send:a:GE", "sleep:0.05",
                                   "send:a:T /mc", "sleep:0.05", "send:a:p HTTP/1.1\\r\\nHo",
                                   "sleep:0.05", f"send:a:st: {HOST}\\r\\n\\r\\n", "answer:a",
                                   "close:a"),
         {PLAIN: REJECTED}, servers=(Http(answer(404)),)),
    Case("http.half_close_is_not_close",
         lambda w: clients.sockets(w, f"connect:a:{HOST}:80", f"get:a:{HOST}:/mcp", "shut:a",
                                   "answer:a", "close:a"),
         {PLAIN: REACHABLE},
         servers=(Scripted(((request(), sleep(0.3), send(answer(200)), close()),)),)),
    Case("http.no_answer_client_gives_up",
         lambda w: clients.curl(w, CLEAR, timeout=4),
         {PLAIN: "NoObservedExchange"},
         servers=(Scripted(((request(), sleep(8)),)),), exit=28, weight=5),
    Case("http.head_request", lambda w: clients.curl(w, CLEAR, method="HEAD"),
         {PLAIN: REACHABLE},
         servers=(Http(b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n"),)),
]

CASES = [*_statuses(), *_malformed(), *_cut_bodies(), *_methods(True), *_methods(False),
         _stream("http.event_stream.clear", 60, False), _stream("http.event_stream.tls", 8, True),
         _session_end(True), _session_end(False), *SPECIAL]
