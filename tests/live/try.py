#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What tools/try shows: one MCP client, ten situations, and side by side what the client said and
what Routelens says. Ends with 0 only if each was as expected."""

import argparse
import os
import shutil
import sys
import tempfile
import textwrap

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path.insert(0, HERE)

from harness import clients, sandbox, verify  # noqa: E402
from harness.case import (HOST, MCP, POLICY, REACHABLE, REJECTED, TLS, TRANSPORT,  # noqa: E402
                          Case)
from harness.clients import Command  # noqa: E402
from harness.pki import Pki  # noqa: E402
from harness.programs import Programs  # noqa: E402
from harness.world import World  # noqa: E402
from run import Job  # noqa: E402
from servers.dns import NXDOMAIN, Names, Says  # noqa: E402
from servers.external import McpEverything, Nginx  # noqa: E402
from servers.scripted import Scripted, read_record, reset, send  # noqa: E402

URL = f"https://{HOST}/mcp"
WIDTH = 80
REAL = McpEverything()


def client(world):
    return clients.mcp(world, URL)


def denied(world):
    return Command([world.programs.deny_connect, *client(world).argv])


SITUATIONS = (
    ("everything works", Case("works", client, {MCP: REACHABLE}, exit=0,
                              servers=(REAL, Nginx(upstream=3001)))),
    ("the server refuses the token", Case("401", client, {MCP: REJECTED}, exit=1, servers=(
        Nginx(locations=(("/mcp", "return 401;"),)),))),
    ("the server behind nginx is down", Case("502", client, {MCP: REJECTED}, exit=1,
                                             servers=(Nginx(upstream=3001),))),
    ("certificate of an unknown authority", Case("untrusted", client, {MCP: TLS}, exit=1, servers=(
        REAL, Nginx(upstream=3001, certificate="untrusted")))),
    ("certificate expired", Case("expired", client, {MCP: TLS}, exit=1, servers=(
        REAL, Nginx(upstream=3001, certificate="expired")))),
    ("something on the way cuts TLS", Case("cut", client, {MCP: TLS}, exit=1, servers=(
        Scripted(((read_record(), reset()),), port=443),))),
    ("a plain server on the TLS port", Case("plain", client, {MCP: TLS}, exit=1, servers=(
        Scripted(((read_record(), send(b"HTTP/1.1 400 Bad Request\r\n\r\n")),), port=443),))),
    ("nothing listens", Case("refused", client, {MCP: TRANSPORT}, exit=1)),
    ("the name does not exist", Case("name", client, {MCP: TRANSPORT}, exit=1, name_server=False,
                                     servers=(Names({HOST: Says(rcode=NXDOMAIN)}),))),
    ("the sandbox's policy forbids it", Case("denied", denied, {MCP: POLICY}, exit=1, servers=(
        REAL, Nginx(upstream=3001)))),
)


def work(case, folder, pki, programs, routelens, dry):
    sandbox.die_with_parent()
    sandbox.adopt_orphans()
    world = World(case, folder, pki, programs, routelens, dry)
    try:
        sandbox.enter()
        world.start()
        run = world.run(options=("--quiet",))
        wrong = verify.check_client(case, run)
        report = None
        if os.path.exists(world.output):
            report = world.report()
            wrong += verify.check_report(case, world, report)
        else:
            wrong.append("Routelens wrote no report: " + run.stderr.strip()[-300:])
        return {"wrong": wrong, "stdout": run.stdout, "stderr": run.stderr, "report": report}
    finally:
        sandbox.end_children()


def columns(left, right):
    """Two wrapped texts beside each other, in WIDTH columns."""
    half = (WIDTH - 5) // 2
    lefts = [line for part in left for line in textwrap.wrap(part, half) or [""]]
    rights = [line for part in right for line in textwrap.wrap(part, half) or [""]]
    for number in range(max(len(lefts), len(rights))):
        one = lefts[number] if number < len(lefts) else ""
        two = rights[number] if number < len(rights) else ""
        print(f"  {one:<{half}} | {two}".rstrip())


def verdict(report):
    """Lines for the one route that the client used."""
    condition = next(c for c in report["conditions"] if c["route"]["host"] == HOST)
    # Every message ends alike; once is enough to read that.
    message = condition["message"].removesuffix("; this is sandbox-level prior evidence.")
    lines = [f"{condition['status']}  {condition['reason']}", message]
    deciding = [e for e in report["exchanges"] if e["route"] == condition["subject"]
                and e["outcome"] == condition["reason"]]
    if deciding:
        lines.append(f"{deciding[-1]['confidence']}, by {deciding[-1]['rule']}")
    return lines


def show(number, title, result):
    print(f"\n{number:2}. {title}")
    said = [line for line in result["stdout"].splitlines() if line] or ["(nothing)"]
    says = verdict(result["report"]) if result["report"] else ["(no report)"]
    columns(said, says)
    for text in result["wrong"]:
        for line in textwrap.wrap("NOT AS EXPECTED: " + text, WIDTH - 4):
            print("    " + line)
    sys.stdout.flush()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--routelens", required=True)
    parser.add_argument("--build", required=True, help="where the MCP client is installed")
    options = parser.parse_args()
    programs = Programs(options.build).build(lambda text: print(f"-- {text}", flush=True),
                                             small=True)
    folder = tempfile.mkdtemp(prefix="routelens-try-")
    os.chmod(folder, 0o755)
    wrong = 0
    try:
        pki = Pki(os.path.join(folder, "pki")).make()
        print("\nThe client is the official MCP SDK on Node. Over TLS it asks for initialize,\n"
              "tools/list and tools/call.\n")
        columns(["the MCP client said"], ["routelens run said"])
        print("-" * WIDTH)
        for number, (title, case) in enumerate(SITUATIONS):
            place = os.path.join(folder, case.name)
            os.makedirs(place)
            job = Job(case, (pki, programs, os.path.abspath(options.routelens), False), place, work)
            result = None
            while result is None:
                result = job.poll()
            result = result.get(case.name, result)
            result = {"stdout": "", "stderr": "", "report": None, "wrong": [], **result}
            wrong += bool(result["wrong"])
            show(number + 1, title, result)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print()
    print("-" * WIDTH)
    if wrong:
        print(f"{wrong} of {len(SITUATIONS)} were not as expected.")
        return 1
    print(f"All {len(SITUATIONS)} as expected. Routelens saw them from the kernel: the client was "
          "not\nchanged, and no proxy stood between. With a policy and a client of your own:\n\n"
          "  build/release/bin/routelens run --policy policy.yaml -- COMMAND")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except RuntimeError as error:
        sys.exit(f"tools/try: {error}")
