#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A socket program by script: each argument is one step. For what no HTTP library does: cancelled
connects, silent connections, reused descriptors, half-closes, requests cut in pieces.

  connect:NAME:HOST:PORT    non-blocking connect, waited for at most 5 s
  begin:NAME:HOST:PORT      the same, not waited for
  tls:NAME:HOST             handshake with certificate check (CA in $LIVE_CA)
  tls-insecure:NAME:HOST    without the check
  tls-resume:NAME:HOST:OLD  with the session of connection OLD
  get:NAME:HOST:PATH        one request; post:, delete: likewise
  send:NAME:TEXT            bytes, with \\r \\n escapes
  answer:NAME               reads one answer, prints its status
  eof:NAME                  reads to the end
  shut:NAME  close:NAME  reset:NAME  sleep:SECONDS  dup:NAME:OTHER (dup2 over OTHER's descriptor)
  fork-close:NAME           a child inherits the connection, uses nothing, ends after 0.3 s
  line                      waits for a line on standard input
"""

import os
import select
import socket
import ssl
import struct
import sys
import time

SECRET = os.environ.get("LIVE_SECRET", "none")
CONNECTIONS = {}
LEFT_OVER = {}  # what came with an answer and belongs to the next


def begin(name, host, port, wait):
    family, kind, protocol, _, address = socket.getaddrinfo(host, int(port),
                                                            type=socket.SOCK_STREAM)[0]
    sock = socket.socket(family, kind, protocol)
    sock.setblocking(False)
    CONNECTIONS[name] = sock
    result = sock.connect_ex(address)
    if wait:
        if result not in (0, 115):
            raise OSError(result, os.strerror(result))
        if not select.select([], [sock], [], 5)[1]:
            raise TimeoutError("connect took more than 5 s")
        result = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if result:
            raise OSError(result, os.strerror(result))
        sock.settimeout(10)


def secure(name, host, check, old=None):
    context = ssl.create_default_context(cafile=os.environ.get("LIVE_CA"))
    session = None
    if old is not None:
        context, session = CONNECTIONS[old].context, CONNECTIONS[old].session
    elif not check:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    CONNECTIONS[name] = context.wrap_socket(CONNECTIONS[name], server_hostname=host,
                                            session=session)
    if session is not None:
        print("resumed" if CONNECTIONS[name].session_reused else "not resumed", flush=True)


def ask(method, name, host, path):
    content = ('{"secret":"%s"}' % SECRET).encode() if method == "POST" else b""
    head = (f"{method} {path}?token={SECRET} HTTP/1.1\r\nHost: {host}\r\n"
            f"Authorization: Bearer {SECRET}\r\nContent-Length: {len(content)}\r\n\r\n")
    CONNECTIONS[name].sendall(head.encode() + content)


def answer(name):
    sock, data = CONNECTIONS[name], LEFT_OVER.pop(name, b"")
    while b"\r\n\r\n" not in data:
        more = sock.recv(4096)
        if not more:
            print("end", flush=True)
            return
        data += more
    head, _, rest = data.partition(b"\r\n\r\n")
    length = 0
    for line in head.split(b"\r\n")[1:]:
        if line.lower().startswith(b"content-length:"):
            length = int(line.split(b":")[1])
    while len(rest) < length:
        more = sock.recv(4096)
        if not more:
            break
        rest += more
    LEFT_OVER[name] = rest[length:]
    print("status", head.split()[1].decode("latin1"), flush=True)


def step(text):
    what, *rest = text.split(":")
    if what in ("connect", "begin"):
        begin(rest[0], ":".join(rest[1:-1]), rest[-1], what == "connect")
    elif what == "tls":
        secure(*rest, True)
    elif what == "tls-insecure":
        secure(*rest, False)
    elif what == "tls-resume":
        secure(rest[0], rest[1], True, rest[2])
    elif what in ("get", "post", "delete"):
        ask(what.upper(), rest[0], ":".join(rest[1:-1]), rest[-1])
    elif what == "send":
        text = ":".join(rest[1:]).encode().decode("unicode_escape")
        CONNECTIONS[rest[0]].sendall(text.encode("latin1"))
    elif what == "answer":
        answer(rest[0])
    elif what == "eof":
        while CONNECTIONS[rest[0]].recv(65536):
            pass
    elif what == "shut":
        CONNECTIONS[rest[0]].shutdown(socket.SHUT_WR)
    elif what == "close":
        CONNECTIONS.pop(rest[0]).close()
    elif what == "reset":
        sock = CONNECTIONS.pop(rest[0])
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        sock.close()
    elif what == "sleep":
        time.sleep(float(rest[0]))
    elif what == "dup":
        # The kernel closes what the other descriptor stood for; Python's object goes on using it.
        os.dup2(CONNECTIONS[rest[0]].fileno(), CONNECTIONS[rest[1]].fileno())
    elif what == "fork-close":
        if os.fork() == 0:
            time.sleep(0.3)
            os._exit(0)
    elif what == "line":
        print("waiting", flush=True)
        sys.stdin.readline()
    else:
        raise ValueError(f"unknown step {text}")


def main():
    failed = False
    for text in sys.argv[1:]:
        try:
            step(text)
        except (OSError, ssl.SSLError) as error:
            failed = True
            print(f"error in {text.split(':')[0]}: {type(error).__name__}: {error}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
