# SPDX-License-Identifier: Apache-2.0
"""A name server that answers exactly as told, over UDP and TCP, on threads of the worker."""

import socket
import struct
import threading
import time
from dataclasses import dataclass
from typing import Mapping

NOERROR, SERVFAIL, NXDOMAIN, REFUSED = 0, 2, 3, 5
A, AAAA = 1, 28


@dataclass(frozen=True)
class Says:
    """How one name is answered. `udp`/`tcp` False: no answer there. `truncated`: UDP says TC."""

    addresses: tuple = ()
    rcode: int = NOERROR
    silent: bool = False
    truncated: bool = False
    delay: float = 0.0
    split: bool = False  # TCP: the length prefix in a segment of its own
    raw: bytes = None  # the whole answer after the id
    cname: str = ""
    ttl: int = 60
    fail_first: int = 0  # that many questions get NXDOMAIN before the name is there
    # For AAAA only, when it is to differ: {"rcode": ...} or {"silent": True}
    v6_rcode: int = None
    v6_silent: bool = False


@dataclass(frozen=True)
class Names:
    """Serves `table` (name -> Says or addresses); a name that is not there is NXDOMAIN."""

    table: Mapping = None
    addr: str = "127.0.0.1"
    port: int = 53
    default: Says = Says(rcode=NXDOMAIN)

    def start(self, world):
        family = socket.AF_INET6 if ":" in self.addr else socket.AF_INET
        table = {}
        for name, says in {**world.addresses, **(self.table or {})}.items():
            table[name.lower().rstrip(".")] = (
                says if isinstance(says, Says) else Says(addresses=tuple(says)))
        asked = {}
        udp = socket.socket(family, socket.SOCK_DGRAM)
        udp.bind((self.addr, self.port))
        tcp = socket.socket(family, socket.SOCK_STREAM)
        tcp.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        tcp.bind((self.addr, self.port))
        tcp.listen(64)
        world.keep(udp)
        world.keep(tcp)
        threading.Thread(target=self._serve_udp, args=(udp, table, asked), daemon=True).start()
        threading.Thread(target=self._serve_tcp, args=(tcp, table, asked), daemon=True).start()

    def _serve_udp(self, sock, table, asked):
        while True:
            try:
                query, peer = sock.recvfrom(4096)
            except OSError:
                return
            says, reply = self._answer(query, table, asked, over_tcp=False)
            if reply is None:
                continue
            if says.delay:
                threading.Timer(says.delay, sock.sendto, (reply, peer)).start()
            else:
                sock.sendto(reply, peer)

    def _serve_tcp(self, listener, table, asked):
        while True:
            try:
                sock, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=self._one_tcp, args=(sock, table, asked),
                             daemon=True).start()

    def _one_tcp(self, sock, table, asked):
        sock.settimeout(10)
        data = b""
        try:
            while True:
                while len(data) < 2 or len(data) < 2 + struct.unpack(">H", data[:2])[0]:
                    more = sock.recv(4096)
                    if not more:
                        return
                    data += more
                size = struct.unpack(">H", data[:2])[0]
                query, data = data[2:2 + size], data[2 + size:]
                says, reply = self._answer(query, table, asked, over_tcp=True)
                if reply is None:
                    continue
                prefix = struct.pack(">H", len(reply))
                if says.split:
                    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    sock.sendall(prefix)
                    time.sleep(0.05)
                    sock.sendall(reply)
                else:
                    sock.sendall(prefix + reply)
        except OSError:
            pass
        finally:
            sock.close()

    def _answer(self, query, table, asked, over_tcp):
        labels, position = [], 12
        while query[position]:
            labels.append(query[position + 1:position + 1 + query[position]].decode("latin1"))
            position += 1 + query[position]
        question = query[12:position + 5]
        kind = struct.unpack(">H", query[position + 1:position + 3])[0]
        name = ".".join(labels).lower()
        says = table.get(name, self.default)
        rcode, silent = says.rcode, says.silent
        asked[name] = asked.get(name, 0) + 1
        if asked[name] <= says.fail_first:
            rcode = NXDOMAIN
        if kind == AAAA:
            rcode = rcode if says.v6_rcode is None else says.v6_rcode
            silent = silent or says.v6_silent
        if silent:
            return says, None
        if says.raw is not None:
            return says, query[:2] + says.raw
        flags = 0x8180 | rcode
        if says.truncated and not over_tcp:
            return says, query[:2] + struct.pack(">5H", flags | 0x0200, 1, 0, 0, 0) + question
        records, owner = [], b"\xc0\x0c"
        if says.cname and rcode == NOERROR:
            target = b"".join(bytes([len(label)]) + label.encode()
                              for label in says.cname.split(".")) + b"\0"
            records.append(owner + struct.pack(">HHIH", 5, 1, says.ttl, len(target)) + target)
            owner = struct.pack(">H", 0xC000 | (12 + len(question) + 12))
        for address in says.addresses if rcode == NOERROR else ():
            is_v6 = ":" in address
            if (kind == AAAA) != is_v6 or kind not in (A, AAAA):
                continue
            data = socket.inet_pton(socket.AF_INET6 if is_v6 else socket.AF_INET, address)
            records.append(owner + struct.pack(">HHIH", kind, 1, says.ttl, len(data)) + data)
        return says, (query[:2] + struct.pack(">5H", flags, 1, len(records), 0, 0) + question +
                      b"".join(records))
