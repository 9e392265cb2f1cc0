#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The live suite: real clients in a boundary, real servers, and the report of `routelens run` held
against what happened. Each case runs in a network and a mount namespace of its own; see README.md."""

import argparse
import fnmatch
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.dont_write_bytecode = True
sys.path.insert(0, HERE)

from harness import batch, sandbox, traces, verify  # noqa: E402
from harness.pki import Pki  # noqa: E402
from harness.programs import Programs  # noqa: E402
from harness.world import World  # noqa: E402


def parse():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--routelens", help="the program (default: the release, then the dev build)")
    parser.add_argument("--case", nargs="+", default=[], metavar="NAME", help="names or patterns")
    parser.add_argument("--list", action="store_true", help="print the names of the cases")
    parser.add_argument("--repeat", type=int, default=1, metavar="N", help="the whole, N times")
    parser.add_argument("--keep", action="store_true", help="keep the files of cases that passed")
    parser.add_argument("--dry", action="store_true", help="servers and clients without Routelens")
    parser.add_argument("--jobs", type=int, default=(os.cpu_count() or 1) + 1)
    parser.add_argument("--build", default=os.path.join(ROOT, "build", "live"),
                        help="where programs are built and failures kept")
    parser.add_argument("--save-recordings", metavar="DIR", help="keep NAME.rlrec of what passed")
    parser.add_argument("--alone", action="store_true", help="every case in a boundary of its own")
    parser.add_argument("--shard", default="1/1", metavar="I/N", help="every Nth case")
    parser.add_argument("--verbose", action="store_true", help="what the client said, for each case")
    return parser.parse_args()


def load_cases():
    import cases
    found = {}
    for case in cases.every():
        if case.name in found:
            raise SystemExit(f"two cases are named {case.name}")
        found[case.name] = case
    return list(found.values())


def find_routelens(options):
    names = [options.routelens] if options.routelens else [
        os.path.join(ROOT, "build", preset, "bin", "routelens") for preset in ("release", "dev")]
    for name in names:
        if name and os.path.exists(name):
            return os.path.abspath(name)
    raise SystemExit(f"run.py: no program at {' or '.join(names)}: build it first "
                     "(cmake --preset dev && cmake --build --preset dev), or use --dry")


def unmet(case, programs):
    """Why the case cannot run here; "" when it can."""
    if not case.needs:
        return ""
    fine, reason = case.needs(programs)
    return "" if fine else reason


def check_outputs(case, world):
    """(report or None, what is wrong with the whole)."""
    wrong = verify.check_privacy(world)
    if world.dry:
        return None, wrong
    if not case.report:
        return None, wrong
    if not os.path.exists(world.output):
        return None, [*wrong, "Routelens wrote no report"]
    report = world.report()
    if case.replay:
        if os.path.exists(world.recording):
            wrong += verify.check_replay(world, report)
        else:
            wrong.append("Routelens wrote no recording")
    return report, wrong


def said(run):
    return {"stdout": run.stdout if run else "", "stderr": run.stderr if run else ""}


def single_worker(case, world):
    if case.driver and world.dry:
        return {case.name: {"skipped": "its own driver needs Routelens"}}
    run = case.driver(world) if case.driver else world.run()
    wrong = verify.check_client(case, run)
    report, more = check_outputs(case, world)
    wrong += more
    if report:
        wrong += verify.check_report(case, world, report)
        if case.check:
            try:
                case.check(world, report)
            except AssertionError as error:
                wrong.append(str(error) or "the case's own check failed")
    return {case.name: {"wrong": wrong, "command": world.notes.get("command", []), **said(run)}}


def batch_worker(members, whole, world):
    outer = world.run()
    runs = batch.results(world)
    report, wrong = check_outputs(whole, world)
    if outer.status != 0 or outer.timed_out:
        wrong.append(f"the batch ended with status {outer.status} after {outer.seconds:.0f} s")
    if report:
        lost = {key: count for key, count in report["loss"].items() if count}
        if lost:
            wrong.append(f"something was lost: {lost}")
        hosts = {member.host for member in members} | {member.address for member in members}
        wrong += [f"unexpected unattributed record: {record}" for record in report["unattributed"]
                  if record["host"] not in hosts and record["confidence"] != "weak"
                  and record["outcome"] != "NoObservedExchange"]
    found = {whole.name: {"wrong": wrong, **said(outer)}}
    for member in members:
        run = runs.get(member.original.name)
        case = member.as_case()
        if not run:
            found[case.name] = {"wrong": ["the batch ended before this case"]}
            continue
        mine = verify.check_client(case, run)
        if report:
            mine += verify.check_report(case, world, member.judge(report))
        found[case.name] = {"wrong": mine, **said(run), "command": member.command(world)["argv"]}
    return found


def worker(unit, folder, pki, programs, routelens, dry):
    """In a process of its own; returns the result of each case of the unit."""
    sandbox.die_with_parent()
    sandbox.adopt_orphans()
    members, whole = [], unit
    if isinstance(unit, Batch):
        members = [batch.Member(case, number) for number, case in enumerate(unit.cases)]
        whole = batch.combined(members, unit.name)
    world = World(whole, folder, pki, programs, routelens, dry)
    try:
        sandbox.enter()
        world.start()
        return batch_worker(members, whole, world) if members else single_worker(whole, world)
    except Exception:
        return {unit.name: {"wrong": ["it could not be run:\n" + traceback.format_exc()]}}
    finally:
        sandbox.end_children()


class Batch:
    def __init__(self, name, cases):
        self.name, self.cases = name, cases
        self.weight = sum(case.weight for case in cases)
        self.timeout = 60 + 3 * self.weight


class Job:
    """One unit in a process of its own; `work` gives its results there."""

    def __init__(self, unit, arguments, folder, work=worker):
        self.unit, self.folder = unit, folder
        self.started = time.monotonic()
        reader, writer = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(reader)
            try:
                os.setsid()
                result = work(unit, folder, *arguments)
            except BaseException:
                result = {unit.name: {"wrong": ["the worker failed:\n" + traceback.format_exc()]}}
            with os.fdopen(writer, "w", encoding="utf-8") as out:
                json.dump(result, out)
                out.flush()
            os._exit(0)
        os.close(writer)
        self.reader = reader
        self.data = b""
        self.limit = self.started + unit.timeout * 2 + 120

    def poll(self):
        """The result when it is there, else None."""
        more = os.read(self.reader, 1 << 20)
        if more:
            self.data += more
            return None
        os.close(self.reader)
        os.waitpid(self.pid, 0)
        try:
            return json.loads(self.data)
        except ValueError:
            return {self.unit.name: {"wrong": ["the worker died without a result"]}}

    def end(self):
        for pid in [*sandbox.children(self.pid), self.pid]:
            try:
                os.kill(pid, 9)
            except OSError:
                pass


def show_failure(name, folder, result):
    print(f"FAIL {name}")
    for text in result["wrong"]:
        print("  - " + text.replace("\n", "\n    "))
    if result.get("command"):
        print("  command: " + " ".join(result["command"]))
    print(f"  files:   {folder} (report.json, run.rlrec, *.log)")
    for kind in ("stdout", "stderr"):
        text = result.get(kind, "").rstrip()
        if text:
            print(f"  {kind}:\n    " + text[-3000:].replace("\n", "\n    "))
    sys.stdout.flush()


def settle(job, results, options, counts, failures):
    seconds = time.monotonic() - job.started
    place = job.folder
    if any(result.get("wrong") for result in results.values()):
        place = os.path.join(failures, job.unit.name)
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(job.folder, place, ignore_dangling_symlinks=True)
    elif options.save_recordings:
        shutil.copy(os.path.join(place, "run.rlrec"),
                    os.path.join(options.save_recordings, job.unit.name + ".rlrec"))
    for name, result in results.items():
        if result.get("wrong"):
            counts["failed"] += 1
            show_failure(name, place, result)
        elif result.get("skipped"):
            counts["skipped"] += 1
            print(f"SKIPPED {name}: {result['skipped']}", flush=True)
        else:
            counts["passed"] += 1
            print(f"ok   {name}  {seconds:.1f} s", flush=True)
            if options.verbose:
                text = (result["stdout"] + result["stderr"]).strip()
                print("     " + text.replace("\n", "\n     "), flush=True)
    if not options.keep:
        shutil.rmtree(job.folder, ignore_errors=True)


def units_of(cases, options, programs, counts):
    able = []
    for case in cases:
        reason = unmet(case, programs)
        if reason:
            counts["skipped"] += 1
            print(f"SKIPPED {case.name}: {reason}", flush=True)
        else:
            able.append(case)
    batches, rest = ([], able) if options.alone or options.dry else batch.plan(able)
    return [*(Batch(f"batch{number + 1:02}", found) for number, found in enumerate(batches)), *rest]


def run_all(cases, options, arguments, folder, failures):
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    waiting = sorted(units_of(cases, options, arguments[1], counts), key=lambda unit: -unit.weight)
    running = []
    try:
        while waiting or running:
            while waiting and len(running) < options.jobs:
                unit = waiting.pop(0)
                place = os.path.join(folder, unit.name)
                os.makedirs(place)
                running.append(Job(unit, arguments, place))
            ready, _, _ = select.select([job.reader for job in running], [], [], 1.0)
            for job in list(running):
                if job.reader not in ready:
                    if time.monotonic() > job.limit:
                        job.end()
                    continue
                results = job.poll()
                if results is not None:
                    running.remove(job)
                    settle(job, results, options, counts, failures)
    finally:
        for job in running:
            job.end()
            os.waitpid(job.pid, 0)
    return counts


def main():
    options = parse()
    cases = load_cases()
    if options.case:
        chosen = [c for c in cases if any(fnmatch.fnmatch(c.name, p) for p in options.case)]
        for pattern in options.case:
            if not any(fnmatch.fnmatch(c.name, pattern) for c in chosen):
                raise SystemExit(f"run.py: no case is named {pattern}; see --list")
        cases = chosen
    index, total = map(int, options.shard.split("/"))
    cases = cases[index - 1::total]
    if options.list:
        for case in cases:
            marks = f"  [{', '.join(case.pitfalls)}]" if case.pitfalls else ""
            print(case.name + marks)
        return 0
    if os.geteuid() != 0:
        raise SystemExit("run.py: namespaces and BPF need root; run it as root")
    routelens = None if options.dry else find_routelens(options)
    os.makedirs(options.build, exist_ok=True)
    programs = Programs(options.build).build(lambda text: print(f"-- {text}", flush=True))
    folder = tempfile.mkdtemp(prefix="routelens-live-")
    os.chmod(folder, 0o755)
    failures = os.path.join(options.build, "failed")
    os.makedirs(failures, exist_ok=True)
    before = traces.take()
    total = {"passed": 0, "failed": 0, "skipped": 0}
    started = time.monotonic()
    try:
        pki = Pki(os.path.join(folder, "pki")).make()
        arguments = (pki, programs, routelens, options.dry)
        for turn in range(options.repeat):
            place = os.path.join(folder, f"turn{turn + 1}")
            os.makedirs(place)
            counts = run_all(cases, options, arguments, place, failures)
            for key, count in counts.items():
                total[key] += count
        left = traces.left_behind(before, lambda text: print(f"-- {text}"), routelens)
        if left:
            total["failed"] += 1
            print("FAIL leaves_no_trace\n  - " + "\n  - ".join(left))
        else:
            total["passed"] += 1
            print("ok   leaves_no_trace")
    finally:
        if options.keep:
            print(f"files: {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)
    print(f"live: {time.monotonic() - started:.0f} s")
    print(f"{total['passed']} passed, {total['failed']} failed, {total['skipped']} skipped")
    return 1 if total["failed"] else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (RuntimeError, subprocess.CalledProcessError) as error:
        sys.exit(f"run.py: {error}")
