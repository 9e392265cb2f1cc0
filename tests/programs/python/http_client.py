#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""One HTTP request after another with a chosen Python library. Prints "status N" or "error: ..."
for each, and ends with 0 when every request got an answer, whatever its status."""

import argparse
import asyncio
import os
import ssl
import sys
import time

SECRET = os.environ.get("LIVE_SECRET", "none")


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--library", default="urllib",
                        choices=["urllib", "requests", "httpx", "aiohttp", "streams"])
    parser.add_argument("--ca")
    parser.add_argument("--insecure", action="store_true")
    parser.add_argument("--max-tls12", action="store_true")
    parser.add_argument("--alpn")
    parser.add_argument("--timeout", type=float, default=10)
    parser.add_argument("--pause", type=float, default=0, help="between two requests")
    parser.add_argument("--methods", default="GET", help="POST,GET,DELETE on one connection")
    parser.add_argument("--session", action="store_true", help="send an MCP session id")
    parser.add_argument("urls", nargs="+")
    return parser.parse_args()


def fields(options):
    found = {"Authorization": f"Bearer {SECRET}", "X-Api-Key": SECRET, "Cookie": f"id={SECRET}",
             "Accept": "application/json, text/event-stream"}
    if options.session:
        found["Mcp-Session-Id"] = SECRET
    return found


def body(method):
    if method != "POST":
        return None
    return ('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"secret":"%s"}}' %
            SECRET).encode()


def with_query(url):
    return url + ("&" if "?" in url else "?") + "token=" + SECRET


def context(options):
    made = ssl.create_default_context(cafile=options.ca)
    if options.insecure:
        made.check_hostname = False
        made.verify_mode = ssl.CERT_NONE
    if options.max_tls12:
        made.maximum_version = ssl.TLSVersion.TLSv1_2
    if options.alpn:
        made.set_alpn_protocols(options.alpn.split(","))
    return made


def plan(options):
    return [(url, method) for url in options.urls for method in options.methods.split(",")]


def one_by_one(options, do):
    failed = False
    for number, (url, method) in enumerate(plan(options)):
        if number and options.pause:
            time.sleep(options.pause)
        try:
            print("status", do(url, method), flush=True)
        except Exception as error:  # whatever a library raises is what its user would be told
            failed = True
            print(f"error: {type(error).__name__}: {error}".replace(SECRET, "(hidden)"), flush=True)
    return failed


def with_urllib(options):
    import http.client
    import urllib.parse
    import urllib.request

    kept = {}

    def do(url, method):
        if "," not in options.methods and not options.alpn:
            asked = urllib.request.Request(with_query(url), method=method, data=body(method),
                                           headers=fields(options))
            https = urllib.request.HTTPSHandler(context=context(options))

            class NoRedirect(urllib.request.HTTPRedirectHandler):
                def redirect_request(self, *arguments):
                    return None
            opener = urllib.request.build_opener(https, NoRedirect,
                                                 urllib.request.ProxyHandler({}))
            try:
                with opener.open(asked, timeout=options.timeout) as got:
                    got.read()
                    return got.status
            except urllib.error.HTTPError as error:
                error.close()
                return error.code
        parts = urllib.parse.urlsplit(with_query(url))
        connection = kept.get(parts.netloc)
        if connection is None:
            if parts.scheme == "https":
                connection = http.client.HTTPSConnection(parts.netloc, timeout=options.timeout,
                                                         context=context(options))
            else:
                connection = http.client.HTTPConnection(parts.netloc, timeout=options.timeout)
            kept[parts.netloc] = connection
        connection.request(method, f"{parts.path}?{parts.query}", body=body(method),
                           headers=fields(options))
        got = connection.getresponse()
        got.read()
        return got.status
    return one_by_one(options, do)


def with_requests(options):
    import requests
    import urllib3

    urllib3.disable_warnings()
    session = requests.Session()
    session.trust_env = False

    def do(url, method):
        return session.request(method, with_query(url), data=body(method), headers=fields(options),
                               timeout=options.timeout, allow_redirects=False,
                               verify=False if options.insecure else options.ca).status_code
    return one_by_one(options, do)


def with_httpx(options):
    import httpx

    with httpx.Client(verify=context(options), timeout=options.timeout, trust_env=False) as client:
        def do(url, method):
            return client.request(method, with_query(url), content=body(method),
                                  headers=fields(options)).status_code
        return one_by_one(options, do)


def with_aiohttp(options):
    import aiohttp

    async def go():
        failed = False
        limit = aiohttp.ClientTimeout(total=options.timeout)
        connector = aiohttp.TCPConnector(ssl=context(options))
        async with aiohttp.ClientSession(timeout=limit, connector=connector) as session:
            for url, method in plan(options):
                try:
                    async with session.request(method, with_query(url), data=body(method),
                                               headers=fields(options),
                                               allow_redirects=False) as got:
                        await got.read()
                        print("status", got.status, flush=True)
                except Exception as error:
                    failed = True
                    text = f"error: {type(error).__name__}: {error}"
                    print(text.replace(SECRET, "(hidden)"), flush=True)
        return failed
    return asyncio.run(go())


async def streams_request(url, method, options, made):
    """One request over asyncio's own streams: OpenSSL on memory buffers."""
    import urllib.parse

    parts = urllib.parse.urlsplit(with_query(url))
    secure = parts.scheme == "https"
    port = parts.port or (443 if secure else 80)
    reader, writer = await asyncio.open_connection(
        parts.hostname, port, ssl=made if secure else None)
    try:
        content = body(method) or b""
        head = [f"{method} {parts.path}?{parts.query} HTTP/1.1", f"Host: {parts.netloc}",
                f"Content-Length: {len(content)}", "Connection: close"]
        head += [f"{key}: {value}" for key, value in fields(options).items()]
        writer.write("\r\n".join(head).encode() + b"\r\n\r\n" + content)
        await writer.drain()
        line = await reader.readuntil(b"\r\n")
        await reader.read()
        return line.split()[1].decode()
    finally:
        writer.close()


def with_streams(options):
    async def go():
        failed = False
        made = context(options)
        for url, method in plan(options):
            try:
                status = await asyncio.wait_for(streams_request(url, method, options, made),
                                                options.timeout)
                print("status", status, flush=True)
            except Exception as error:
                failed = True
                print(f"error: {type(error).__name__}: {error}", flush=True)
        return failed
    return asyncio.run(go())


def main():
    options = parse()
    run = globals()["with_" + options.library]
    sys.exit(1 if run(options) else 0)


if __name__ == "__main__":
    main()
