# SPDX-License-Identifier: Apache-2.0
"""The main job: the official MCP client, the official test server, nginx with TLS between them."""

from harness import clients
from harness.case import (ADDR, HOST, MCP, PLAIN, REACHABLE, REJECTED, TLS, TRANSPORT, Case, Expect)
from servers.external import McpEverything, Nginx
from servers.scripted import Http, Https, Scripted, answer, close, read_record, request, reset, send

URL = f"https://{HOST}/mcp"
CLEAR = f"http://{HOST}/mcp"
REAL = (McpEverything(), Nginx(upstream=3001))


CASES = [
    Case("mcp.everything.tls", lambda w: clients.mcp(w, URL), {MCP: Expect(REACHABLE)},
         servers=REAL, says="call answered", weight=4),
    Case("mcp.everything.clear", lambda w: clients.mcp(w, CLEAR), {PLAIN: Expect(REACHABLE)},
         servers=REAL, says="call answered", weight=4),
    Case("mcp.everything.direct", lambda w: clients.mcp(w, f"http://{HOST}:3001/mcp"),
         {f"{HOST}:3001/mcp": REACHABLE}, servers=(McpEverything(),), says="call answered",
         weight=4),
    Case("mcp.everything.end_session", lambda w: clients.mcp(w, URL, "--end-session"),
         {MCP: REACHABLE}, servers=REAL, says="call answered", weight=4),
    Case("mcp.untrusted", lambda w: clients.mcp(w, URL), {MCP: Expect(TLS, confidence="observed")},
         servers=(Https(answer(200), tls="untrusted"),), exit=1),
    Case("mcp.expired", lambda w: clients.mcp(w, URL), {MCP: Expect(TLS, confidence="observed")},
         servers=(Https(answer(200), tls="expired"),), exit=1),
    Case("mcp.reset_in_handshake", lambda w: clients.mcp(w, URL), {MCP: TLS},
         servers=(Scripted(((read_record(), reset()),), port=443),), exit=1),
    Case("mcp.refused", lambda w: clients.mcp(w, URL), {MCP: TRANSPORT}, exit=1),
    Case("mcp.nxdomain", lambda w: clients.mcp(w, URL), {MCP: TRANSPORT}, names={HOST: ()}, exit=1),
    Case("mcp.401", lambda w: clients.mcp(w, URL), {MCP: Expect(REJECTED, hint="credential")},
         servers=(Https(answer(401)),), exit=1),
    Case("mcp.404", lambda w: clients.mcp(w, URL), {MCP: REJECTED}, servers=(Https(answer(404)),),
         exit=1),
    Case("mcp.503", lambda w: clients.mcp(w, CLEAR), {PLAIN: REJECTED},
         servers=(Http(answer(503)),), exit=1),
    Case("mcp.head_cut", lambda w: clients.mcp(w, URL), 
         {MCP: Expect(TRANSPORT, or_unknown="inside TLS the end of the head is not read")},
         servers=(Scripted(((request(), send(b"HTTP/1.1 200 OK\r\nCon"), close()),), port=443,
                           tls="good"),), exit=1),
    Case("mcp.nginx_502", lambda w: clients.mcp(w, URL), {MCP: REJECTED},
         servers=(Nginx(upstream=3001),), exit=1),
    # undici opens more connections than it uses, and closes them after the handshake.
    Case("mcp.dead_aaaa", lambda w: clients.mcp(w, URL),
         {MCP: Expect(REACHABLE, weak_also=(TLS,))}, servers=REAL,
         names={HOST: ("::1", ADDR)}, says="call answered", weight=4, pitfalls=("A26",)),
]
