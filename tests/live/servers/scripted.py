# SPDX-License-Identifier: Apache-2.0
"""A server that does exactly what its script says, byte for byte, on threads of the worker.

A script is a list of steps for one connection. `connections` holds one script for each accepted
connection; the last one serves all later ones."""

import socket
import ssl
import struct
import threading
import time
from dataclasses import dataclass
from typing import Sequence

from harness.case import ADDR

# What no output of Routelens may contain; harness/privacy.py searches for the stem of them all.
CANARY = "cAnArY7f3e"

RESET = struct.pack("ii", 1, 0)


class Ended(Exception):
    """The peer closed, or the script is over."""


class Cut(Exception):
    """The connection ends here, without ceremony."""


class Connection:
    def __init__(self, sock, context):
        self.sock = sock
        self.context = context
        self.buffer = b""
        self.wants_close = False

    def read(self):
        data = self.sock.recv(65536)
        if not data:
            raise Ended
        self.buffer += data

    def request(self):
        """Reads one request with its body; returns (method, target)."""
        while b"\r\n\r\n" not in self.buffer:
            self.read()
        head, _, self.buffer = self.buffer.partition(b"\r\n\r\n")
        lines = head.split(b"\r\n")
        fields = {}
        for line in lines[1:]:
            key, _, value = line.partition(b":")
            fields[key.strip().lower()] = value.strip()
        self.wants_close = fields.get(b"connection", b"").lower() == b"close"
        if fields.get(b"transfer-encoding", b"").lower() == b"chunked":
            while True:
                while b"\r\n" not in self.buffer:
                    self.read()
                size, _, self.buffer = self.buffer.partition(b"\r\n")
                need = int(size, 16) + 2
                while len(self.buffer) < need:
                    self.read()
                self.buffer = self.buffer[need:]
                if need == 2:
                    break
        else:
            need = int(fields.get(b"content-length", b"0"))
            while len(self.buffer) < need:
                self.read()
            self.buffer = self.buffer[need:]
        method, target = (lines[0].split(b" ") + [b""])[:2]
        return method.decode("latin1"), target.decode("latin1")

    def end(self):
        """Closes as servers do: with a close_notify where there is TLS."""
        try:
            if isinstance(self.sock, ssl.SSLSocket):
                self.sock.settimeout(0.2)
                self.sock.unwrap()
        except (OSError, ValueError):
            pass
        self.close()

    def close(self):
        try:
            self.sock.close()
        except OSError:
            pass


# --- steps -------------------------------------------------------------------------------------

def request():
    return lambda connection: connection.request()


def send(data, pause=0.0):
    """Sends `data`; a list is sent piece by piece with `pause` between the pieces."""
    pieces = [data] if isinstance(data, bytes) else list(data)

    def step(connection):
        for number, piece in enumerate(pieces):
            if number:
                time.sleep(pause)
            connection.sock.sendall(piece)
    return step


def close():
    """Closes at once, in TLS without close_notify."""
    def step(connection):
        raise Cut
    return step


def reset():
    def step(connection):
        plain = connection.sock
        if isinstance(plain, ssl.SSLSocket):
            descriptor = plain.detach()
            plain = socket.socket(fileno=descriptor)
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        plain.close()
        raise Cut
    return step


def sleep(seconds):
    return lambda connection: time.sleep(seconds)


def wait_close(timeout=30.0):
    """Reads and drops until the peer closes."""
    def step(connection):
        connection.sock.settimeout(timeout)
        while connection.sock.recv(65536):
            pass
        raise Ended
    return step


def read_some():
    """Waits for the first bytes, whatever they are: a ClientHello, for one."""
    return lambda connection: connection.read()


def read_record():
    """Reads one whole TLS record."""
    def step(connection):
        while len(connection.buffer) < 5:
            connection.read()
        need = 5 + struct.unpack(">H", connection.buffer[3:5])[0]
        while len(connection.buffer) < need:
            connection.read()
    return step


def handshake(after=b""):
    """Becomes a TLS server with the listener's certificate; `after` is put before its answer, when
    the client has spoken."""
    def step(connection):
        if after:
            connection.sock.recv(1, socket.MSG_PEEK)
            connection.sock.sendall(after)
        connection.sock = connection.context.wrap_socket(connection.sock, server_side=True)
    return step


def http(*answers, close_after=0, **by_method):
    """Answers requests for as long as the peer sends any. Answers by position, the last one again
    and again; or by method: http(POST=(...), GET=(...)). An answer is bytes, a list of pieces, or
    a step. After `close_after` answers the connection is closed."""
    def step(connection):
        served = {}
        total = 0
        while True:
            method, _ = connection.request()
            options = by_method.get(method, answers)
            key = method if method in by_method else ""
            position = served.get(key, 0)
            served[key] = position + 1
            answer = options[min(position, len(options) - 1)]
            if callable(answer):
                answer(connection)
            else:
                send(answer, 0.02)(connection)
            total += 1
            if connection.wants_close or (close_after and total >= close_after):
                raise Ended
    return step


def by_target(answers, default):
    """Answers by the request target's path: {"/mcp": bytes}."""
    def step(connection):
        while True:
            _, target = connection.request()
            send(answers.get(target.split("?")[0], default), 0.02)(connection)
    return step


def answer(status, body=b"", reason="Said", fields=(), length=None, version="HTTP/1.1"):
    """One whole HTTP answer, with canaries in a field and in the body."""
    if body is not None and not body and status not in (204, 304) and not 100 <= status < 200:
        body = b'{"jsonrpc":"2.0","id":1,"result":{"note":"' + CANARY.encode() + b'-answer"}}'
    head = [f"{version} {status} {reason}", f"X-Note: {CANARY}-answer-field",
            f"Set-Cookie: session={CANARY}-cookie"]
    if status not in (204, 304) and not 100 <= status < 200:
        head += ["Content-Type: application/json",
                 f"Content-Length: {len(body) if length is None else length}"]
    head += list(fields)
    return "\r\n".join(head).encode() + b"\r\n\r\n" + (body or b"")


# --- listeners ---------------------------------------------------------------------------------

@dataclass(frozen=True)
class Scripted:
    """Listens on addr:port and runs `connections`. With `tls` (the name of a certificate in
    harness/pki.py) every connection starts with a handshake."""

    connections: Sequence
    port: int = 80
    addr: str = ADDR
    tls: str = ""
    certificate: str = "good"  # for the handshake() step when `tls` is empty
    client_ca: bool = False
    max_version: str = ""
    tickets: bool = True
    backlog: int = 256
    accept: bool = True  # False: never accepts; the backlog is filled up

    def start(self, world):
        family = socket.AF_INET6 if ":" in self.addr else socket.AF_INET
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((self.addr, self.port))
        listener.listen(self.backlog)
        world.keep(listener)
        if not self.accept:
            self._fill(world, family)
            return
        context = self._context(world)
        thread = threading.Thread(target=self._serve, args=(listener, context), daemon=True)
        thread.start()

    def _context(self, world):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(getattr(world.pki, self.tls or self.certificate))
        if self.max_version == "1.2":
            context.maximum_version = ssl.TLSVersion.TLSv1_2
        if self.client_ca:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(world.pki.client_ca)
        if not self.tickets:
            context.num_tickets = 0
        return context

    def _fill(self, world, family):
        """Connects until the kernel drops further SYNs: the peer is a black hole from then on."""
        for _ in range(self.backlog + 2):
            filler = socket.socket(family, socket.SOCK_STREAM)
            filler.setblocking(False)
            filler.connect_ex((self.addr, self.port))
            world.keep(filler)
        time.sleep(0.05)

    def _serve(self, listener, context):
        number = 0
        while True:
            try:
                sock, _ = listener.accept()
            except OSError:
                return
            script = self.connections[min(number, len(self.connections) - 1)]
            number += 1
            threading.Thread(target=self._run, args=(sock, context, script), daemon=True).start()

    def _run(self, sock, context, script):
        sock.settimeout(90)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection = Connection(sock, context)
        try:
            if self.tls:
                handshake()(connection)
            for step in script:
                step(connection)
        except Cut:
            connection.close()
        except (Ended, OSError, ValueError):
            connection.end()
        else:
            connection.end()


def Http(*answers, port=80, tls="", addr=ADDR, **more):
    """A keep-alive HTTP server that gives `answers` in turn on every connection."""
    by_method = {k: more.pop(k) for k in ("GET", "POST", "DELETE", "HEAD") if k in more}
    close_after = more.pop("close_after", 0)
    return Scripted(((http(*answers, close_after=close_after, **by_method),),), port=port, tls=tls,
                    addr=addr, **more)


def Https(*answers, port=443, tls="good", **more):
    return Http(*answers, port=port, tls=tls, **more)
