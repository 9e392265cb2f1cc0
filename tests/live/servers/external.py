# SPDX-License-Identifier: Apache-2.0
"""Real servers as processes of their own: nginx, openssl s_server, stunnel, dnsmasq, unbound and
the MCP server-everything. Each is ready when start() returns."""

import os
from dataclasses import dataclass
from typing import Sequence

from harness.case import ADDR
from harness.sandbox import wait_listening


@dataclass(frozen=True)
class OpensslServer:
    """`openssl s_server -www` with more arguments; "@client_ca" stands for a path of the PKI."""

    arguments: Sequence[str] = ()
    port: int = 443
    addr: str = ADDR
    certificate: str = "good"

    def start(self, world):
        more = [getattr(world.pki, a[1:]) if a.startswith("@") else a for a in self.arguments]
        pem = getattr(world.pki, self.certificate)
        process = world.spawn(["openssl", "s_server", "-accept", f"{self.addr}:{self.port}",
                               "-cert", pem, "-key", pem, "-www", "-quiet", *more])
        wait_listening(self.port, process=process)


@dataclass(frozen=True)
class Stunnel:
    """TLS that demands a client certificate, in front of a plain server on 127.0.0.1."""

    to_port: int
    port: int = 443
    addr: str = ADDR
    require_client: bool = True

    def start(self, world):
        path = world.write("stunnel.conf", "\n".join([
            "foreground = yes", "syslog = no", "debug = 3", "pid =", "[mcp]",
            f"accept = {self.addr}:{self.port}", f"connect = {ADDR}:{self.to_port}",
            f"cert = {world.pki.good}",
            *((f"CAfile = {world.pki.client_ca}", "verifyChain = yes", "requireCert = yes")
              if self.require_client else ()), ""]))
        process = world.spawn(["stunnel4", path])
        wait_listening(self.port, process=process)


@dataclass(frozen=True)
class Nginx:
    """nginx with TLS and HTTP/2 on 443 and plain HTTP on 80. `locations` maps a path to a line of
    configuration; `upstream` is a local port for /mcp."""

    upstream: int = 0
    port: int = 443
    plain_port: int = 80
    addr: str = ADDR
    http2: bool = True
    locations: Sequence[Sequence[str]] = ()
    certificate: str = "good"

    def start(self, world):
        places = "".join(f"location = {path} {{ {line} }}\n" for path, line in self.locations)
        if self.upstream:
            places += (f"location /mcp {{ proxy_pass http://127.0.0.1:{self.upstream}; "
                       "proxy_http_version 1.1; proxy_set_header Host $host; "
                       "proxy_set_header Connection ''; proxy_buffering off; "
                       "proxy_read_timeout 300s; }\n")
        folder = world.folder("nginx")
        pem = getattr(world.pki, self.certificate)
        config = world.write("nginx.conf", f"""
daemon off;
worker_processes 1;
user root;
pid {folder}/pid;
error_log {folder}/error.log;
events {{ worker_connections 256; }}
http {{
  access_log off;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  server {{
    listen {self.addr}:{self.port} ssl{" http2" if self.http2 else ""};
    listen {self.addr}:{self.plain_port};
    ssl_certificate {pem};
    ssl_certificate_key {pem};
    {places}
    location / {{ return 404; }}
  }}
}}
""")
        process = world.spawn(["nginx", "-p", folder, "-e", f"{folder}/error.log", "-c", config])
        wait_listening(self.port, process=process)


@dataclass(frozen=True)
class McpEverything:
    """@modelcontextprotocol/server-everything over streamable HTTP, on all local addresses."""

    port: int = 3001

    def start(self, world):
        entry = os.path.join(world.programs.mcp, "node_modules", "@modelcontextprotocol",
                             "server-everything", "dist", "index.js")
        process = world.spawn(["node", entry, "streamableHttp"], env={"PORT": str(self.port)})
        wait_listening(self.port, process=process, timeout=45)


@dataclass(frozen=True)
class Dnsmasq:
    """A stub resolver at 127.0.0.53 that asks `upstream`."""

    upstream: str = "127.0.0.2"
    addr: str = "127.0.0.53"

    def start(self, world):
        process = world.spawn([
            "dnsmasq", "--keep-in-foreground", "--conf-file=/dev/null", "--no-resolv", "--no-hosts",
            f"--listen-address={self.addr}", "--bind-interfaces", f"--server={self.upstream}",
            "--user=root", "--pid-file=", "--cache-size=0", "--log-facility=-"])
        wait_listening(53, process=process)


@dataclass(frozen=True)
class Unbound:
    """A validating-free recursive resolver with local data only."""

    records: Sequence[str] = ()
    zones: Sequence[Sequence[str]] = ()  # (name, type): ("refused.test", "refuse")
    addr: str = "127.0.0.53"

    def start(self, world):
        lines = [f'  local-zone: "{name}." {kind}' for name, kind in self.zones]
        lines += [f'  local-data: "{record}"' for record in self.records]
        path = world.write("unbound.conf", "\n".join([
            "server:", "  do-daemonize: no", '  username: ""', '  chroot: ""', '  pidfile: ""',
            f"  interface: {self.addr}", "  access-control: 127.0.0.0/8 allow",
            '  module-config: "iterator"', "  use-syslog: no", "  verbosity: 0",
            "  do-ip6: no", "  do-not-query-localhost: yes", *lines,
            "remote-control:", "  control-enable: no", ""]))
        process = world.spawn(["unbound", "-d", "-c", path])
        wait_listening(53, process=process)
