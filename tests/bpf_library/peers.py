#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Servers on loopback, one for each way in which a handshake goes well or fails.

Usage: peers.py FOLDER

Makes certificates in FOLDER, then prints one line "NAME PORT" for each server and a line "ready",
and serves until its standard input ends. A path of three digits is answered with that status,
/big with 200 MB. What servers of the kinds "close" and "reset" see of a ClientHello's random goes to
FOLDER/random, in hexadecimal."""

import os
import socket
import ssl
import struct
import subprocess
import sys
import threading


def openssl(*arguments):
    subprocess.run(("openssl",) + arguments, check=True, capture_output=True)


def make_certificates(folder):
    os.chdir(folder)
    openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "ca.key", "-out", "ca.pem",
            "-days", "30", "-subj", "/CN=test CA")
    openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "self.key", "-out",
            "self.pem", "-days", "30", "-subj", "/CN=localhost", "-addext",
            "subjectAltName=DNS:localhost")
    for name, host, dates in (("good", "localhost", ()), ("name", "other.example", ()),
                              ("expired", "localhost", ("20200101000000Z", "20200102000000Z"))):
        openssl("req", "-newkey", "rsa:2048", "-nodes", "-keyout", f"{name}.key", "-out",
                f"{name}.csr", "-subj", f"/CN={host}")
        with open(f"{name}.ext", "w", encoding="ascii") as file:
            file.write(f"subjectAltName=DNS:{host}\n")
        if dates:
            with open("ca.conf", "w", encoding="ascii") as file:
                file.write("[ca]\ndefault_ca=d\n[d]\ndatabase=index\nserial=serial\nnew_certs_dir=.\n"
                           "default_md=sha256\npolicy=p\n[p]\ncommonName=supplied\n")
            open("index", "w", encoding="ascii").close()
            with open("serial", "w", encoding="ascii") as file:
                file.write("01\n")
            openssl("ca", "-batch", "-config", "ca.conf", "-cert", "ca.pem", "-keyfile", "ca.key",
                    "-in", f"{name}.csr", "-out", f"{name}.pem", "-startdate", dates[0], "-enddate",
                    dates[1], "-extfile", f"{name}.ext", "-notext")
        else:
            openssl("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key",
                    "-CAcreateserial", "-out", f"{name}.pem", "-days", "30", "-extfile",
                    f"{name}.ext")


def context(name, **settings):
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.load_cert_chain(f"{name}.pem", f"{name}.key")
    for key, value in settings.items():
        setattr(made, key, value)
    return made


def demands_client(version):
    made = context("good", minimum_version=version, maximum_version=version)
    made.verify_mode = ssl.CERT_REQUIRED
    made.load_verify_locations("ca.pem")
    return made


def read_head(stream):
    line = stream.readline()
    length = 0
    chunked = False
    while True:
        field = stream.readline()
        if field in (b"\r\n", b"\n", b""):
            break
        if field.lower().startswith(b"content-length:"):
            length = int(field.split(b":")[1])
        chunked = chunked or field.lower().startswith(b"transfer-encoding: chunked")
    stream.read(length)
    while chunked:
        size = int(stream.readline() or b"0", 16)
        stream.read(size + 2)
        chunked = size > 0
    return line


def answer(connection, target):
    if target == "big":
        blob = b"x" * (1 << 20)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % (200 << 20))
        for _ in range(200):
            connection.sendall(blob)
        return
    if target == "mumble":
        connection.sendall(b"HELLO WORLD\r\n\r\n")
        return
    if target == "early":
        connection.sendall(b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n")
        target = "200"
    if target == "chunks":
        connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        for _ in range(64):
            connection.sendall(b"19\r\nHTTP/1.1 500 no status\r\n\r\n" + b"\r\n")
        connection.sendall(b"0\r\n\r\n")
        return
    # The head in two writes: two TLS records, two reads.
    connection.sendall(b"HTTP/1.1 %s Any reason\r\nContent-" % target.encode())
    connection.sendall(b"Length: 2\r\n\r\nok")


def serve_http(connection):
    stream = connection.makefile("rb")
    while True:
        line = read_head(stream)
        if not line:
            return
        answer(connection, line.split()[1].decode().strip("/").split("?")[0])


def note_random(connection):
    hello = connection.recv(4096)
    with open("random", "a", encoding="ascii") as file:
        file.write(hello[11:43].hex() + "\n")


def let_the_alert_through(connection):
    """A close with bytes unread would be a reset, and the reset may overtake the alert."""
    raw = socket.socket(fileno=connection.detach())
    raw.settimeout(5)
    raw.shutdown(socket.SHUT_WR)
    while raw.recv(4096):
        pass
    return raw


def serve(kind, setting, connection):
    try:
        if kind == "tls":
            connection = setting.wrap_socket(connection, server_side=True,
                                             do_handshake_on_connect=False)
            try:
                connection.do_handshake()
                serve_http(connection)
            except ssl.SSLError:
                connection = let_the_alert_through(connection)
        elif kind == "plain":
            connection.recv(4096)
            connection.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
        else:
            note_random(connection)
            if kind == "reset":
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    except OSError:
        pass
    finally:
        connection.close()


def accept(kind, setting, listener):
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=serve, args=(kind, setting, connection), daemon=True).start()


def main():
    make_certificates(sys.argv[1])
    servers = {
        "good": ("tls", context("good")),
        "self": ("tls", context("self")),
        "name": ("tls", context("name")),
        "expired": ("tls", context("expired")),
        "client12": ("tls", demands_client(ssl.TLSVersion.TLSv1_2)),
        "client13": ("tls", demands_client(ssl.TLSVersion.TLSv1_3)),
        "plain": ("plain", None),
        "close": ("close", None),
        "reset": ("reset", None),
    }
    for name, (kind, setting) in servers.items():
        listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        threading.Thread(target=accept, args=(kind, setting, listener), daemon=True).start()
        print(name, listener.getsockname()[1])
    print("ready", flush=True)
    sys.stdin.read()


main()
