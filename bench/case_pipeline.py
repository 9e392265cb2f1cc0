# SPDX-License-Identifier: Apache-2.0
"""Cases that need no kernel side and no root: records into the pipeline, and its memory."""

import json
import pathlib

from bench_support import CannotRun, Setting, run
from figures import Figure, at_least, at_most

TREE = pathlib.Path(__file__).resolve().parent.parent
FEW_PEERS, MANY_PEERS = 100_000, 1_000_000
# The settled path makes no allocation for an event; the lists of a report grow now and then.
NO_ALLOCATION = 0.01


def measure_pipeline(setting: Setting) -> dict:
    """Ring records to conditions on one core: events per second, allocations per event."""
    output = run([setting.program("pipeline_bench"), "--benchmark_format=json",
                  "--benchmark_repetitions=5", f"--benchmark_min_time={setting.seconds / 5}"],
                 timeout=300)
    result = {}
    for entry in json.loads(output)["benchmarks"]:
        if entry.get("error_occurred"):
            raise CannotRun(f"{entry['name']}: {entry['error_message']}")
        if entry.get("aggregate_name") != "median":
            continue
        name = entry["run_name"].split("/")[0]
        result[name] = {"events_per_second": entry["items_per_second"],
                        "allocations_per_event": entry["allocations_per_event"]}
    return result


def _speed(name: str, entry: dict) -> Figure:
    rate = entry["events_per_second"]
    return at_least(name, f"{rate / 1e6:.2f} M events/s", rate, 1e6, "1 M events/s")


def _allocations(entry: dict) -> str:
    return f"{entry['allocations_per_event']:.3f} allocations/event"


def figures_of_pipeline(result: dict) -> list[Figure]:
    figures = []
    for name, entry in result.items():
        figures.append(_speed(name, entry))
        if name == "SettledKeepAlive":
            figures.append(at_most(name, _allocations(entry), entry["allocations_per_event"],
                                   NO_ALLOCATION, f"{NO_ALLOCATION}, that is none"))
        else:
            figures.append(Figure(name, _allocations(entry)))
    return figures


def measure_recorded(setting: Setting) -> dict:
    """The same over recordings of real programs: the golden replays of the live suite."""
    recordings = sorted(TREE.glob("tests/**/*.rlrec"))
    if not recordings:
        raise CannotRun("the tree has no recording (tests/**/*.rlrec)")
    return {recording.stem: json.loads(run([setting.program("replay_bench"), str(recording)],
                                           timeout=300))
            for recording in recordings}


def figures_of_recorded(result: dict) -> list[Figure]:
    """The whole, and its slowest part: each round makes a pipeline, which weighs on short ones."""
    records = sum(entry["records"] for entry in result.values())
    seconds = sum(entry["records"] / entry["events_per_second"] for entry in result.values())
    slowest = min(result, key=lambda name: result[name]["events_per_second"])
    return [_speed(f"all {len(result)} recordings, {records} records",
                   {"events_per_second": records / seconds}),
            Figure(f"the slowest, {slowest}, {result[slowest]['records']} records",
                   f"{result[slowest]['events_per_second'] / 1e6:.2f} M events/s, "
                   f"{_allocations(result[slowest])}")]


def measure_memory(setting: Setting) -> dict:
    """Resident memory with 10,000 live flows, and after a million distinct peers."""
    arguments = {"live": ["live"], "few_peers": ["peers", str(FEW_PEERS)],
                 "peers": ["peers", str(MANY_PEERS)]}
    return {what: json.loads(run([setting.program("pipeline_memory"), *words], timeout=300))
            for what, words in arguments.items()}


def figures_of_memory(result: dict) -> list[Figure]:
    def mib(what):
        return result[what]["rss_after_kib"] / 1024

    grown = mib("peers") - mib("few_peers")
    return [at_most("10,000 live flows", f"{mib('live'):.1f} MiB RSS of the whole process",
                    mib("live"), 32, "32 MiB"),
            Figure(f"after {FEW_PEERS:,} distinct peers",
                   f"{mib('few_peers'):.1f} MiB, {result['few_peers']['table_full']:,} evicted"),
            Figure(f"after {MANY_PEERS:,} distinct peers",
                   f"{mib('peers'):.1f} MiB, {result['peers']['table_full']:,} evicted"),
            at_most("ten times the peers", f"{grown:+.1f} MiB", grown, 1, "1 MiB more")]
