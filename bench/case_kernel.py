# SPDX-License-Identifier: Apache-2.0
"""Cases of the kernel side: what a program costs, and what it takes to watch one more boundary."""

import contextlib
import dataclasses
import json
import os
import pathlib
import shutil
import subprocess
import time

from bench_support import CannotRun, Setting, cgroup2_root, closed_port, nginx, routelens_command, \
    run, stop
from figures import Figure, at_most

SETTLED = "settled packets (TLS, keep-alive)"
CONNECTS = "refused connects"
# Which empty program a program is held against, by how its name begins.
EMPTY = {"on_egress": "empty_egress", "on_ingress": "empty_ingress",
         "on_connect4": "empty_connect4", "on_tcp_state": "empty_sockops",
         "on_release": "empty_release"}
MIN_SECONDS = 4


@contextlib.contextmanager
def kernel_statistics():
    switch = pathlib.Path("/proc/sys/kernel/bpf_stats_enabled")
    before = switch.read_text(encoding="utf-8")
    switch.write_text("1\n", encoding="utf-8")
    try:
        yield
    finally:
        switch.write_text(before, encoding="utf-8")


def program_times() -> dict[int, tuple[str, int, int]]:
    """id -> name, run time in ns, runs."""
    bpftool = shutil.which("bpftool", path=os.environ["PATH"] + ":/usr/sbin")
    if not bpftool:
        raise CannotRun("bpftool is missing: tools/deps build")
    listed = json.loads(run([bpftool, "--json", "prog", "show"]))
    return {entry["id"]: (entry.get("name", ""), entry.get("run_time_ns", 0),
                          entry.get("run_cnt", 0)) for entry in listed}


@contextlib.contextmanager
def empty_programs(setting: Setting):
    keeper = subprocess.Popen([setting.program("empty_programs"), str(cgroup2_root())],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        if not keeper.stdout.readline():
            raise CannotRun("the empty programs do not load")
        yield
    finally:
        keeper.stdin.close()
        stop(keeper)


def measure_programs(setting: Setting, port: int, load: list[str]) -> dict[str, dict]:
    """Runs `load` watched; mean ns of each BPF program over the middle of its time."""
    seconds = setting.seconds
    known = set(program_times())
    # The load tells when it begins: loading the sensor takes a time of its own.
    command = routelens_command(setting, [port], ["sh", "-c", 'echo begins; exec "$@"', "sh", *load])
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        process.stdout.readline()
        time.sleep(seconds * 0.3)
        first = program_times()
        time.sleep(seconds * 0.5)
        last = program_times()
        errors = process.communicate(timeout=60)[1]
    finally:
        stop(process)
    if process.returncode != 0:
        raise CannotRun(f"{' '.join(command)}: exit status {process.returncode}: "
                        f"{errors.decode()[-600:]}")
    result = {}
    for number, (name, run_time, runs) in last.items():
        before = first.get(number, (name, 0, 0))
        count = runs - before[2]
        if count > 0 and (number not in known or name.startswith("empty_")):
            result[name] = {"runs": count, "ns": (run_time - before[1]) / count}
    return result


def measure_kernel(setting: Setting) -> dict:
    """Run time of each program as the kernel counts it, beside the empty program of its type."""
    setting = dataclasses.replace(setting, seconds=max(setting.seconds, MIN_SECONDS))
    seconds = setting.seconds
    with kernel_statistics(), empty_programs(setting), nginx(setting) as server:
        port = closed_port()
        loads = {
            SETTLED: (server.tls_port, [
                "wrk", "-t1", "-c4", f"-d{seconds}s", f"https://127.0.0.1:{server.tls_port}/"]),
            "HTTP heads in the clear (keep-alive)": (server.plain_port, [
                "wrk", "-t1", "-c4", f"-d{seconds}s", f"http://127.0.0.1:{server.plain_port}/"]),
            CONNECTS: (port, [
                setting.program("connect_load"), "connect", str(port), str(seconds), "20000", "1"]),
        }
        return {name: measure_programs(setting, to, load) for name, (to, load) in loads.items()}


def _over_empty(load: str, program: str, times: dict[str, dict]) -> Figure:
    entry = times[program]
    empty = next((of for begin, of in EMPTY.items() if program.startswith(begin)), "")
    title = f"{load}: {program}"
    raw = f"{entry['ns']:.0f} ns, {entry['runs']:,} runs"
    if empty not in times:
        return Figure(title, raw)
    over = entry["ns"] - times[empty]["ns"]
    measured = f"{over:.0f} ns over the empty program ({raw})"
    if load == SETTLED and program in ("on_egress", "on_ingress"):
        return at_most(title, measured, over, 100, "100 ns over it")
    if load == CONNECTS and program.startswith("on_connect4"):
        return at_most(title, measured, over, 400, "400 ns over it")
    return Figure(title, measured)


def figures_of_kernel(result: dict) -> list[Figure]:
    return [_over_empty(load, program, times) for load, times in result.items()
            for program in sorted(times) if not program.startswith("empty_")]


def measure_attach(setting: Setting) -> dict:
    """Loading once, then attaching to and detaching from one more boundary."""
    return json.loads(run([setting.program("attach_bench"), str(cgroup2_root()), "0", "20"],
                          timeout=300))


def figures_of_attach(result: dict) -> list[Figure]:
    def spread(what):
        return f"{result[what]['median']:.2f} ms (slowest of {result['boundaries']}: " \
               f"{result[what]['max']:.2f})"

    return [Figure("loading and proving the kernel side, once", f"{result['load_ms']:.0f} ms"),
            at_most("attaching to one more boundary", spread("attach_ms"),
                    result["attach_ms"]["max"], 100, "100 ms"),
            at_most("detaching from it", spread("detach_ms"), result["detach_ms"]["max"], 1000,
                    "1 s"),
            Figure("unloading", f"{result['unload_ms']:.0f} ms")]
