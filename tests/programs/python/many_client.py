#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Many TLS requests at once on one thread (asyncio). Reads URLs, one a line, from the file given;
prints "URL status N" or "URL error". Ends with 0 when every request has ended."""

import argparse
import asyncio
import ssl
import sys
import types

import http_client


async def one(url, options, made):
    try:
        status = await asyncio.wait_for(http_client.streams_request(url, "GET", options, made),
                                        options.timeout)
        return f"{url} status {status}"
    except Exception as error:
        return f"{url} error {type(error).__name__}"


async def everything(options):
    made = ssl.create_default_context(cafile=options.ca)
    with open(options.file, encoding="ascii") as file:
        urls = file.read().split()
    for line in await asyncio.gather(*(one(url, options, made) for url in urls)):
        print(line)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--ca")
    parser.add_argument("--timeout", type=float, default=20)
    parser.add_argument("file")
    parsed = parser.parse_args()
    options = types.SimpleNamespace(**vars(parsed), session=False)
    asyncio.run(everything(options))
    return 0


if __name__ == "__main__":
    sys.exit(main())
