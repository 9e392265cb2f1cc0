#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""TLS clients on Python's ssl module: clients.py urllib|asyncio|parallel PORT CA PATH...

Prints what it heard, one line for each path. "parallel" opens one connection for each path at once,
on one thread."""

import asyncio
import ssl
import sys
import urllib.error
import urllib.request


def get_by_urllib(port, context, path):
    try:
        with urllib.request.urlopen(f"https://localhost:{port}/{path}", context=context) as answer:
            return f"{answer.status} {len(answer.read())}"
    except urllib.error.HTTPError as error:
        return f"{error.code}"
    except OSError as error:
        return repr(error)


async def ask(reader, writer, path):
    writer.write(f"GET /{path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    line = await reader.readline()
    await reader.readuntil(b"ok")
    return line.decode().strip()


async def by_asyncio(port, context, paths):
    try:
        reader, writer = await asyncio.open_connection("localhost", port, ssl=context)
        for path in paths:
            print(await ask(reader, writer, path))
        writer.close()
    except (OSError, asyncio.IncompleteReadError) as error:
        print(repr(error))


async def in_parallel(port, context, paths):
    await asyncio.gather(*(by_asyncio(port, context, [path]) for path in paths))


def main():
    kind, port, authority, paths = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4:]
    context = ssl.create_default_context(cafile=authority)
    if kind == "urllib":
        for path in paths:
            print(get_by_urllib(port, context, path))
    elif kind == "asyncio":
        asyncio.run(by_asyncio(port, context, paths))
    else:
        asyncio.run(in_parallel(port, context, paths))


main()
