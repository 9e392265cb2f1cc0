# SPDX-License-Identifier: Apache-2.0
"""Holds one report against what its case expects. Gives a list of sentences; empty is good."""

import json
import os
import re
import subprocess

from harness.case import UNKNOWN, expectation
from harness.world import parse_route
from servers.scripted import CANARY

_RANK = {"none": 0, "weak": 1, "inferred": 2, "observed": 3}


def _path(text):
    return "/**" if text in ("", "**", "/**") else text


def check_client(case, run):
    wrong = []
    if run.timed_out:
        wrong.append(f"the case ran out of its time of {case.timeout} s")
    if case.exit is not None:
        allowed = (case.exit,) if isinstance(case.exit, int) else tuple(case.exit)
        # A shell that was killed by signal N is reported by Routelens as 128 + N.
        status = run.status if run.status >= 0 else 128 - run.status
        if status not in allowed:
            wrong.append(f"the client's exit status is {run.status}, expected {allowed}")
    if case.says and not re.search(case.says, run.stdout + run.stderr):
        wrong.append(f"the client did not say /{case.says}/")
    return wrong


def check_report(case, world, report):
    wrong = []
    conditions = {}
    for condition in report["conditions"]:
        route = condition["route"]
        conditions[(route["host"], tuple(route["ports"]), route["path"])] = condition
    by_subject = {c["subject"]: c for c in conditions.values()}
    expected = {}
    for text, value in case.expect.items():
        host, ports, path = parse_route(text)
        expected[(host.lower(), tuple(ports), _path(path))] = (text, expectation(value))
    for key, condition in conditions.items():
        name = f"{key[0]}:{','.join(map(str, key[1]))}{key[2]}"
        if key not in expected:
            # A sibling route: nothing may have happened to it.
            if condition["reason"] != UNKNOWN:
                wrong.append(f"sibling route {name} changed to {condition['reason']}")
            continue
        mine = [e for e in report["exchanges"] if e["route"] == condition["subject"]]
        wrong += [f"{name}: {text}" for text in _check_route(expected[key][1], condition, mine)]
    for key, (text, _) in expected.items():
        if key not in conditions:
            wrong.append(f"no condition for route {text}")
    for exchange in report["exchanges"]:
        if exchange["route"] not in by_subject:
            wrong.append(f"an exchange names an unknown route {exchange['route']}")
    wrong += _check_unattributed(case, report["unattributed"])
    if case.lossless:
        lost = {key: count for key, count in report["loss"].items() if count}
        if lost:
            wrong.append(f"something was lost: {lost}")
    return wrong


def _check_route(expect, condition, exchanges):
    wrong = []
    reason, status = condition["reason"], condition["status"]
    wanted = UNKNOWN if expect.weak else expect.reason
    if expect.or_unknown and reason == UNKNOWN:
        wanted = UNKNOWN
    shown = [f"{e['outcome']}/{e['confidence']}/{e['rule']}" for e in exchanges]
    if reason != wanted:
        wrong.append(f"condition is {reason}, expected {wanted}; exchanges: {shown}")
    right_status = {"Reachable": "True", UNKNOWN: "Unknown"}.get(reason, "False")
    if status != right_status:
        wrong.append(f"status {status} does not go with reason {reason}")
    if reason != UNKNOWN and not condition["observation_time"]:
        wrong.append("no observation time")
    if expect.hint and expect.hint not in condition["message"]:
        wrong.append(f"the message lacks the hint {expect.hint!r}: {condition['message']}")
    allowed = {expect.reason, UNKNOWN, *expect.also}
    for exchange in exchanges:
        if exchange["confidence"] == "weak" and exchange["outcome"] in expect.weak_also:
            continue
        if exchange["outcome"] not in allowed:
            wrong.append(f"an exchange ended as {exchange['outcome']} by {exchange['rule']} "
                         f"({exchange['confidence']})")
    if expect.exchanges:
        for outcome, count in expect.exchanges.items():
            found = sum(e["outcome"] == outcome for e in exchanges)
            if found != count:
                wrong.append(f"{found} exchanges ended as {outcome}, expected {count}: {shown}")
    if expect.at_most and len(exchanges) > expect.at_most:
        wrong.append(f"{len(exchanges)} exchanges, expected at most {expect.at_most}: {shown}")
    if expect.weak:
        for exchange in exchanges:
            if exchange["outcome"] == expect.reason and exchange["confidence"] != "weak":
                wrong.append(f"weak evidence is shown as {exchange['confidence']}")
        return wrong
    if UNKNOWN in (expect.reason, wanted) or reason != wanted:
        return wrong
    deciding = [e for e in exchanges if e["outcome"] == expect.reason]
    if not deciding:
        wrong.append(f"no exchange ended as {expect.reason}")
        return wrong
    last = deciding[-1]
    if _RANK[last["confidence"]] < _RANK[expect.confidence]:
        wrong.append(f"confidence is {last['confidence']} by {last['rule']}, expected at least "
                     f"{expect.confidence}")
    rules = (expect.rule,) if isinstance(expect.rule, str) else expect.rule
    if rules and last["rule"] not in rules:
        wrong.append(f"decided by rule {last['rule']}, expected {rules}")
    return wrong


def _check_unattributed(case, records):
    wrong = []
    left = list(records)
    for want in case.unattributed:
        found = [r for r in left if (not want.reason or r["reason"] == want.reason)
                 and (not want.outcome or r["outcome"] == want.outcome)
                 and (not want.host or r["host"] == want.host)
                 and (not want.hint or want.hint in (r["hint"] or ""))]
        if not found and not want.may_be_absent:
            wrong.append(f"no unattributed record like {want}; there are {records}")
        left = [r for r in left if r not in found]
    for record in left:
        if record["outcome"] != UNKNOWN and record["confidence"] != "weak":
            wrong.append(f"unexpected unattributed record: {record}")
    return wrong


def check_replay(world, report):
    """The recording must replay to the same report."""
    result = subprocess.run([world.routelens, "replay", world.recording, "--json"],
                            capture_output=True, timeout=60)
    if result.returncode != 0:
        return [f"replay ended with {result.returncode}: {result.stderr.decode()[-500:]}"]
    replayed = json.loads(result.stdout)
    return [f"replay differs in {key}:\n    run    {json.dumps(report[key])[:600]}\n"
            f"    replay {json.dumps(replayed.get(key))[:600]}"
            for key in ("conditions", "exchanges", "unattributed", "coverage", "loss")
            if replayed.get(key) != report[key]]


def check_privacy(world):
    """No output of Routelens may hold a canary; the client's own standard output is searched too,
    because no client of the suite prints any."""
    wrong = []
    needle = CANARY.encode()
    files = [world.output, world.recording, *world.extra_outputs]
    files += [os.path.join(world.folder_path, name) for name in os.listdir(world.folder_path)
              if name.endswith((".stdout", ".stderr")) or name.startswith("core")]
    for path in files:
        if not os.path.exists(path):
            continue
        with open(path, "rb") as file:
            data = file.read()
        if needle in data:
            at = data.index(needle)
            wrong.append(f"privacy: {os.path.basename(path)} holds a canary: "
                         f"{data[max(0, at - 40):at + 40]!r}")
    return wrong
