# SPDX-License-Identifier: Apache-2.0
"""The command of each client. Every builder takes the world and gives a Command; each client is
told the same things in its own words. All of them send canaries wherever they can."""

import os
from dataclasses import dataclass
from typing import Sequence

from servers.scripted import CANARY

PYTHON = "/usr/bin/python3"


@dataclass(frozen=True)
class Command:
    argv: Sequence[str]
    stdin: bytes = b""


def program(world, *parts):
    return os.path.join(world.programs.source, *parts)


def curl(world, url, *more, timeout=10, method="GET", max12=False, alpn=None, ca=True, out=True):
    argv = ["curl", "-sS", "--max-time", str(timeout), "-H", f"Authorization: Bearer {CANARY}-curl",
            "-b", f"id={CANARY}-curl"]
    if out:
        argv += ["-o", "/dev/null", "-w", "status %{http_code}\\n"]
    if ca:
        argv += ["--cacert", world.pki.ca]
    if method == "POST":
        argv += ["-d", f'{{"secret":"{CANARY}-curl"}}']
    elif method == "HEAD":
        argv += ["-I"]
    elif method != "GET":
        argv += ["-X", method]
    if max12:
        argv += ["--tls-max", "1.2"]
    argv += [] if alpn is None else ["--http1.1"]
    return Command([*argv, *more, f"{url}?token={CANARY}-curl"])


def python(world, *urls, library="urllib", timeout=10, methods="GET", max12=False, alpn=None,
           insecure=False, pause=0, session=False):
    argv = [PYTHON, program(world, "python", "http_client.py"), "--library", library,
            "--ca", world.pki.ca, "--timeout", str(timeout), "--methods", methods,
            "--pause", str(pause)]
    argv += ["--max-tls12"] if max12 else []
    argv += ["--alpn", alpn] if alpn else []
    argv += ["--insecure"] if insecure else []
    argv += ["--session"] if session else []
    return Command([*argv, *urls])


def sockets(world, *steps):
    return Command(["env", f"LIVE_CA={world.pki.ca}", PYTHON,
                    program(world, "python", "sockets.py"), *steps])


def node(world, *urls, timeout=10, method="GET", max12=False, alpn=None, insecure=False, pause=0,
         keep_alive=False, debian=False, c_ares=False):
    argv = world.programs.debian_node_command() if debian else ["node"]
    argv = [*argv, program(world, "node", "https_client.cjs"), "--ca", world.pki.ca,
            "--timeout", str(timeout), "--method", method, "--pause", str(pause)]
    argv += ["--max-tls12"] if max12 else []
    argv += ["--alpn", alpn] if alpn else []
    argv += ["--insecure"] if insecure else []
    argv += ["--keep-alive"] if keep_alive else []
    argv += ["--c-ares"] if c_ares else []
    return Command([*argv, *urls])


def go(world, *urls, timeout=10, method="GET", max12=False, pause=0, count=1, h2=False):
    argv = [world.programs.go, "-ca", world.pki.ca, "-timeout", str(timeout), "-method", method,
            "-pause", str(pause), "-count", str(count)]
    argv += ["-max-tls12"] if max12 else []
    argv += ["-h2"] if h2 else []
    return Command([*argv, *urls])


def java(world, *urls, timeout=10, method="GET", max12=False, pause=0, h2=False, engine=False):
    argv = ["java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto",
            "-cp", world.programs.java, "Client", "--ca", world.pki.ca, "--timeout", str(timeout),
            "--method", method, "--pause", str(pause)]
    argv += ["--max-tls12"] if max12 else []
    argv += ["--h2"] if h2 else []
    argv += ["--engine"] if engine or h2 else []
    return Command([*argv, *urls])


def _raw_get(host, path):
    return (f"GET {path}?token={CANARY}-raw HTTP/1.1\r\nHost: {host}\r\n"
            f"Authorization: Bearer {CANARY}-raw\r\nConnection: close\r\n\r\n").encode()


def _split(url):
    host, _, path = url.partition("://")[2].partition("/")
    name, _, port = host.partition(":")
    return name, port or "443", "/" + path


def s_client(world, url, timeout=0, max12=False, alpn=None):
    host, port, path = _split(url)
    argv = ["timeout", str(timeout)] if timeout else []
    argv += ["openssl", "s_client", "-connect", f"{host}:{port}", "-servername", host,
             "-CAfile", world.pki.ca, "-verify_return_error", "-verify_hostname", host, "-quiet"]
    argv += ["-tls1_2"] if max12 else []
    argv += ["-alpn", alpn] if alpn else []
    return Command(["sh", "-c", f'"$@" | sed s/{CANARY}/hidden/g', "sh", *argv],
                   _raw_get(host, path))


def gnutls(world, url, timeout=0, max12=False, alpn=None):
    host, port, path = _split(url)
    limit = f"timeout {timeout} " if timeout else ""
    line = f"(cat; sleep 1) | {limit}gnutls-cli --x509cafile {world.pki.ca} --port {port} "
    line += "--priority NORMAL:-VERS-TLS1.3 " if max12 else ""
    line += f"--alpn {alpn} " if alpn else ""
    line += f"{host} | sed s/{CANARY}/hidden/g"
    return Command(["sh", "-c", line], _raw_get(host, path))


def mcp(world, url, *more, limit=10):
    return Command(["env", f"NODE_EXTRA_CA_CERTS={world.pki.ca}", f"LIVE_LIMIT={limit}", "node",
                    os.path.join(world.programs.mcp, "client.mjs"), url, *more])


def shell(line, stdin=b"", args=None):
    """A line of shell; `args` is a Command that it finds in "$@"."""
    return Command(["sh", "-c", line, *(["sh", *args.argv] if args else [])], stdin)


def quoted(command):
    """A Command as a word list for a shell line."""
    return " ".join("'" + part.replace("'", "'\\''") + "'" for part in command.argv)


# "Each TLS client": name -> builder(world, url, timeout=, max12=, alpn=).
def _library(name):
    return lambda world, url, **how: python(world, url, library=name, **how)


TLS_CLIENTS = {
    "curl": curl,
    "urllib": _library("urllib"),
    "asyncio": _library("streams"),
    "node": node,
    "node_debian": lambda world, url, **how: node(world, url, debian=True, **how),
    "s_client": s_client,
    "gnutls": gnutls,
    "go": lambda world, url, alpn=None, **how: go(world, url, h2=alpn is not None, **how),
    "java": lambda world, url, alpn=None, **how: java(world, url, h2=alpn is not None, **how),
    # The same Java with its newer client, which ends a handshake without an alert.
    "java_engine": lambda world, url, alpn=None, **how: java(world, url, h2=alpn is not None,
                                                            engine=True, **how),
}

# Those whose library Routelens sees; the others are judged by the wire alone.
SEEN_LIBRARIES = ("curl", "urllib", "asyncio", "node", "node_debian", "s_client")
