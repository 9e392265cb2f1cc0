# SPDX-License-Identifier: Apache-2.0
"""Which route an exchange belongs to, and when it belongs to none."""

from harness import clients
from harness.case import (HOST, MCP, PLAIN, REACHABLE, REJECTED, TLS, TRANSPORT, Case,
                          Expect, Unattributed)
from servers.scripted import (Http, Https, Scripted, answer, by_target, read_record, reset)

URL = f"https://{HOST}/mcp"
CLEAR = f"http://{HOST}/mcp"
OTHER = "other.routes.test"
TWO_TLS = (f"{HOST}:443/a", f"{HOST}:443/b")
TWO_CLEAR = (f"{HOST}:80/a", f"{HOST}:80/b")

WILDCARD = {"host": "*.routes.test", "port": 443, "protocol": "rest", "access": "full"}


def rest(host, port, path=""):
    return {"host": host, "port": port, "protocol": "rest", "path": path, "enforcement": "enforce",
            "access": "full"}


CASES = [
    Case("routing.two_paths.refused", lambda w: clients.curl(w, f"https://{HOST}/a"), {},
         routes=TWO_TLS, exit=7, unattributed=(Unattributed("path_unknown", TRANSPORT, HOST),)),
    Case("routing.two_paths.tls_failed", lambda w: clients.curl(w, f"https://{HOST}/a"), {},
         routes=TWO_TLS, exit=35, unattributed=(Unattributed("path_unknown", TLS, HOST),),
         servers=(Scripted(((read_record(), reset()),), port=443),)),
    # The library shows the path; a client whose library is not seen shows none, and no status.
    Case("routing.two_paths.status_in_tls", lambda w: clients.curl(w, f"https://{HOST}/a"),
         {f"{HOST}:443/a": REJECTED}, routes=(f"{HOST}:443/b",), servers=(Https(answer(404)),)),
    Case("routing.two_paths.status_in_tls_unseen", lambda w: clients.go(w, f"https://{HOST}/a"), {},
         routes=TWO_TLS, servers=(Https(answer(404)),)),
    Case("routing.two_paths.clear", lambda w: clients.curl(w, f"http://{HOST}/a"),
         {f"{HOST}:80/a": REJECTED}, routes=(f"{HOST}:80/b",), servers=(Http(answer(404)),)),
    Case("routing.two_paths.clear_closed", lambda w: clients.curl(w, f"http://{HOST}/b"),
         {f"{HOST}:80/b": TRANSPORT}, routes=(f"{HOST}:80/a",),
         servers=(Http(reset()),), exit=None),
    Case("routing.two_paths.each_its_own",
         lambda w: clients.python(w, f"http://{HOST}/a", f"http://{HOST}/b", f"http://{HOST}/a"),
         {f"{HOST}:80/a": Expect(REACHABLE, exchanges={REACHABLE: 2}),
          f"{HOST}:80/b": Expect(REJECTED, exchanges={REJECTED: 1})},
         servers=(Scripted(((by_target({"/a": answer(200)}, answer(404)),),)),)),
    Case("routing.two_paths.neither", lambda w: clients.curl(w, f"http://{HOST}/c"), {},
         routes=TWO_CLEAR, unattributed=(Unattributed("path_matches_none", REACHABLE, HOST),),
         servers=(Http(answer(200)),)),
    Case("routing.two_names.tls",
         lambda w: clients.shell(" ; ".join(
             clients.quoted(clients.curl(w, f"https://{host}/mcp"))
             for host in (HOST, OTHER))),
         {MCP: REACHABLE, f"{OTHER}:443/mcp": REJECTED},
         servers=(Scripted((Https(answer(200)).connections[0], Https(answer(503)).connections[0]),
                           port=443, tls="good"),)),
    Case("routing.two_names.clear",
         lambda w: clients.python(w, CLEAR, f"http://{OTHER}/mcp"),
         {PLAIN: REACHABLE, f"{OTHER}:80/mcp": REJECTED},
         servers=(Scripted((Http(answer(200)).connections[0], Http(answer(503)).connections[0])),)),
    Case("routing.two_names.refused", lambda w: clients.curl(w, f"https://{OTHER}/mcp"),
         {f"{OTHER}:443/mcp": TRANSPORT}, routes=(MCP,), exit=7),
    Case("routing.other_port", lambda w: clients.curl(w, f"http://{HOST}:8080/mcp"), {},
         routes=(PLAIN,), servers=(Http(answer(200), port=8080),),
         unattributed=(Unattributed("port_mismatch", REACHABLE, HOST, "another port"),)),
    Case("routing.other_port_refused", lambda w: clients.curl(w, f"http://{HOST}:8080/mcp"), {},
         routes=(PLAIN,), exit=7,
         unattributed=(Unattributed("port_mismatch", TRANSPORT, HOST, "another port"),)),
    Case("routing.no_route", lambda w: clients.curl(w, f"http://{OTHER}/mcp"), {}, routes=(PLAIN,),
         names={OTHER: ("127.0.1.1",)}, servers=(Http(answer(200)),),
         unattributed=(Unattributed("no_route", REACHABLE, OTHER),)),
    Case("routing.no_route_same_address_tls", lambda w: clients.curl(w, f"https://{OTHER}/mcp"), {},
         routes=(MCP,), names={OTHER: ("127.0.1.1",)}, servers=(Https(answer(404)),),
         unattributed=(Unattributed("no_route", REJECTED, OTHER),)),
    Case("routing.near_miss_path", lambda w: clients.curl(w, f"http://{HOST}/mcp2"), {},
         routes=(PLAIN,), servers=(Http(answer(404)),),
         unattributed=(Unattributed("path_matches_none", REJECTED, HOST, "its path is another"),)),
    # Every endpoint counts, not only routes: a REST endpoint beside the route makes it ambiguous
    # while no path is known.
    Case("routing.rest_beside_route.tls", lambda w: clients.curl(w, URL), {MCP: REJECTED},
         endpoints=(rest(HOST, 443, "/api"),), servers=(Https(answer(404)),)),
    Case("routing.rest_beside_route.tls_failed", lambda w: clients.curl(w, URL), {}, routes=(MCP,),
         exit=35, endpoints=(rest(HOST, 443, "/api"),),
         servers=(Scripted(((read_record(), reset()),), port=443),),
         unattributed=(Unattributed("path_unknown", TLS, HOST),)),
    Case("routing.rest_beside_route.clear", lambda w: clients.curl(w, CLEAR), {PLAIN: REJECTED},
         endpoints=(rest(HOST, 80, "/api"),), servers=(Http(answer(404)),)),
    Case("routing.dns_of_two_endpoints", lambda w: clients.curl(w, URL), {}, routes=(MCP, PLAIN),
         names={HOST: ()}, exit=6,
         unattributed=(Unattributed("", TRANSPORT, HOST),)),
    Case("routing.escaped_path", lambda w: clients.curl(w, f"http://{HOST}/%6dcp", "--path-as-is"),
         {PLAIN: REACHABLE}, servers=(Http(answer(200)),)),
    Case("routing.dot_segments",
         lambda w: clients.curl(w, f"http://{HOST}/x/../mcp", "--path-as-is"),
         {PLAIN: REACHABLE}, servers=(Http(answer(200)),)),
    Case("routing.subtree", lambda w: clients.curl(w, f"http://{HOST}/v1/mcp/deep"),
         {f"{HOST}:80/v1/**": REJECTED}, routes=(f"{HOST}:80/v2/**",), servers=(Http(answer(404)),)),
    Case("routing.upper_case_host", lambda w: clients.curl(w, "http://MCP.Routes.TEST/mcp"),
         {PLAIN: REACHABLE}, servers=(Http(answer(200)),), alone=True),
    Case("routing.trailing_dot.clear", lambda w: clients.curl(w, f"http://{HOST}./mcp"),
         {PLAIN: REACHABLE}, servers=(Http(answer(200)),)),
    Case("routing.trailing_dot.tls", lambda w: clients.curl(w, f"https://{HOST}./mcp"),
         {MCP: REJECTED}, servers=(Https(answer(404)),)),
    Case("routing.host_field_decides",
         lambda w: clients.curl(w, f"http://{OTHER}/mcp", "-H", f"Host: {HOST}"),
         {PLAIN: REACHABLE}, routes=(f"{OTHER}:80/mcp",), servers=(Http(answer(200)),)),
    Case("routing.absolute_form", lambda w: clients.sockets(
        w, f"connect:a:{HOST}:80",
        f"send:a:GET http\\x3a//{HOST}/mcp HTTP/1.1\\r\\nHost\\x3a {HOST}\\r\\n\\r\\n", "answer:a",
        "close:a"), {PLAIN: REACHABLE}, servers=(Http(answer(200)),)),
    Case("routing.no_policy_name_seen", lambda w: clients.curl(w, "http://127.0.1.1/mcp"), {},
         routes=(PLAIN,), servers=(Http(answer(200)),),
         unattributed=(Unattributed("", REACHABLE),)),
    Case("routing.long_names.sni",
         lambda w: clients.curl(w, f"https://{'a' * 60}.{'b' * 60}.{'c' * 60}.routes.test/mcp", "-k"),
         {f"{'a' * 60}.{'b' * 60}.{'c' * 60}.routes.test:443/mcp": REACHABLE},
         servers=(Https(answer(200)),), pitfalls=("C17",)),
    Case("routing.wildcard_beside_route.tls", lambda w: clients.curl(w, URL), {MCP: REACHABLE},
         endpoints=(WILDCARD,), servers=(Https(answer(200)),)),
    Case("routing.wildcard_beside_route.refused", lambda w: clients.curl(w, URL), {}, routes=(MCP,),
         exit=7, endpoints=(WILDCARD,),
         unattributed=(Unattributed("path_unknown", TRANSPORT, HOST),)),
]
