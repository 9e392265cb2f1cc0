# SPDX-License-Identifier: Apache-2.0
"""Cases with real load: what clients keep of their speed, and what is lost under a flood."""

import contextlib
import json
import pathlib
import re
import signal
import subprocess
import time

from bench_support import CannotRun, Setting, alternate, closed_port, connect_sink, json_rate, \
    nginx, routelens_command, run, stop, wrk_rate
from figures import Figure, at_least, pair

HERE = pathlib.Path(__file__).resolve().parent
BLOB_BYTES = 200_000_000
FLOOD_PER_SECOND, FLOOD_SECONDS, FLOOD_THREADS = 50_000, 10, 2
PEER_STARTS_SECONDS = 2.5


def loads(setting: Setting, server, sink: int) -> dict:
    """name -> (port, command, how to read the rate)."""
    seconds = setting.seconds
    tls = f"https://127.0.0.1:{server.tls_port}/"
    return {
        "connections/s": (sink, [setting.program("connect_load"), "connect", str(sink),
                                 str(seconds), "0", "1"], json_rate),
        "TLS requests/s, keep-alive": (server.tls_port, [
            "wrk", "-t1", "-c8", f"-d{seconds}s", tls], wrk_rate),
        "TLS requests/s, handshake each": (server.tls_port, [
            "wrk", "-t1", "-c8", f"-d{seconds}s", "-H", "Connection: close", tls], wrk_rate),
    }


def measure_live(setting: Setting) -> dict:
    """A load client in a boundary, without and with Routelens: paired ratios."""
    result = {}
    with nginx(setting) as server, connect_sink(setting) as sink:
        for name, (port, command, rate) in loads(setting, server, sink).items():
            watched = routelens_command(setting, [port], command)
            result[name] = alternate(setting, lambda c=command, r=rate: r(run(c)),
                                     lambda c=watched, r=rate: r(run(c)))
    return result


def figures_of_live(result: dict) -> list[Figure]:
    return [pair(name, entry, "per s", 0.97) for name, entry in result.items()]


def with_tracefs(command: list[str]) -> list[str]:
    """The command in a mount namespace of its own where tracefs is mounted."""
    return ["unshare", "--mount", "sh", "-c",
            'mount -t tracefs tracefs /sys/kernel/tracing && exec "$@"', "sh", *command]


def peer_commands(port: int) -> dict[str, list[str]]:
    script = ("tracepoint:sock:inet_sock_set_state /args->newstate == 1 || args->newstate == 7/ "
              '{ printf("%d %d %d\\n", pid, args->dport, args->newstate); }')
    return {
        "tcpconnect (libbpf-tools)": with_tracefs(["/usr/sbin/tcpconnect"]),
        "tcplife (libbpf-tools)": with_tracefs(["/usr/sbin/tcplife"]),
        "bpftrace inet_sock_set_state": with_tracefs(["bpftrace", "-e", script]),
        "tshark, TLS and HTTP of the port": [
            "tshark", "-i", "lo", "-f", f"tcp port {port}", "-l", "-d", f"tcp.port=={port},tls",
            "-Y", "tls.handshake || tls.alert_message || http || tcp.flags.reset == 1"],
    }


@contextlib.contextmanager
def running_peer(setting: Setting, command: list[str]):
    """A tracing tool in the background; its output goes to a file. Fails when it ends early."""
    log = setting.work / "peer.log"
    with open(log, "wb") as output:
        try:
            process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
        except OSError as error:
            raise CannotRun(f"{command[0]}: {error.strerror} (tools/deps bench)") from None
        try:
            time.sleep(PEER_STARTS_SECONDS)
            if process.poll() is not None:
                said = [line for line in log.read_text(errors="replace").splitlines() if line]
                raise CannotRun(f"ended at once with status {process.returncode}: "
                                f"{said[-1] if said else 'it said nothing'}")
            yield
        finally:
            stop(process, signal.SIGINT)


def measure_peers(setting: Setting) -> dict:
    """The same loads beside the nearest tools; a tool watches the whole host."""
    result = {}
    with nginx(setting) as server, connect_sink(setting) as sink:
        for name, (port, command, rate) in loads(setting, server, sink).items():
            for peer, peer_command in peer_commands(port).items():
                def beside(c=command, r=rate, p=peer_command):
                    with running_peer(setting, p):
                        return r(run(c))
                title = f"{peer}: {name}"
                try:
                    result[title] = alternate(setting, lambda c=command, r=rate: r(run(c)), beside)
                except CannotRun as error:
                    result[title] = {"cannot_run": str(error)}
    return result


def figures_of_peers(result: dict) -> list[Figure]:
    return [pair(name, entry, "per s") for name, entry in result.items()]


def measure_transfer(setting: Setting) -> dict:
    """200 MB over TLS by curl, Python and Node, without and with Routelens."""
    clients = {
        "curl": ["curl", "-sk", "-o", "/dev/null", "-w", "%{speed_download}\n"],
        "Python urllib": ["python3", str(HERE / "clients/transfer.py")],
        "Node https": ["node", str(HERE / "clients/transfer.mjs")],
    }
    result = {}

    def megabytes(command):
        return float(run(command).strip().splitlines()[-1]) / 1e6

    with nginx(setting, BLOB_BYTES) as server:
        url = f"https://127.0.0.1:{server.tls_port}/blob"
        for name, client in clients.items():
            command = [*client, url]
            watched = routelens_command(setting, [server.tls_port], command)
            result[name] = alternate(setting, lambda c=command: megabytes(c),
                                     lambda c=watched: megabytes(c))
    return result


def figures_of_transfer(result: dict) -> list[Figure]:
    return [pair(name, entry, "MB/s", 0.90) for name, entry in result.items()]


LIBRARY_COST = re.compile(r"([\d.]+) s without, ([\d.]+) s with; .* worth ([\d.]+), of the "
                          r"speed ([\d.]+)")


def measure_library(setting: Setting) -> dict:
    """What library probes cost processes outside a boundary, by way of seeing reads."""
    tool = setting.tests / "library_cost"
    if not tool.exists():
        raise CannotRun(f"{tool} is not built: cmake --preset dev && cmake --build --preset dev "
                        "--target library_cost")
    result = {}
    with nginx(setting, BLOB_BYTES) as server:
        tls = f"https://127.0.0.1:{server.tls_port}/"
        loads = {
            "200 MB by curl": f"curl -sk -o /dev/null -w '%{{speed_download}}\\n' {tls}blob",
            "requests by wrk": f"wrk -t1 -c8 -d{setting.seconds}s {tls} "
                               "| awk '/Requests.sec/ {print $2}'"}
        for load, command in loads.items():
            for mode in ("session", "return", "exit", "cold"):
                said = run([str(tool), mode, "outside", str(setting.alternations), command],
                           timeout=900)
                found = LIBRARY_COST.search(said)
                if not found:
                    raise CannotRun(f"library_cost said: {said.strip()[-300:]}")
                names = ("seconds_without", "seconds_with", "time_kept", "speed_kept")
                result[f"{load}, {mode}"] = dict(zip(names, map(float, found.groups())))
    return result


def figures_of_library(result: dict) -> list[Figure]:
    return [Figure(name, f"{100 * entry['time_kept']:.1f} % of the processor time's worth kept "
                   f"({entry['seconds_without']:.3f} s without, {entry['seconds_with']:.3f} s "
                   f"with), {100 * entry['speed_kept']:.1f} % of the speed")
            for name, entry in result.items()]


def measure_loss(setting: Setting) -> dict:
    """50,000 connects per second for ten seconds: what was lost, by name."""
    port = closed_port()
    output = setting.work / "loss.json"
    command = [setting.program("connect_load"), "connect", str(port), str(FLOOD_SECONDS),
               str(FLOOD_PER_SECOND), str(FLOOD_THREADS)]
    told = run(routelens_command(setting, [port], command, output), timeout=180)
    report = json.loads(output.read_text(encoding="utf-8"))
    judged = len(report["exchanges"]) + report["loss"]["exchanges_truncated"]
    return {"load": json.loads(told.strip().splitlines()[-1]), "loss": report["loss"],
            "judged": judged}


# Older entries that the lists of a report no longer hold: said there, and no loss of evidence.
LISTS = ("exchanges_truncated", "unattributed_truncated")


def figures_of_loss(result: dict) -> list[Figure]:
    load = result["load"]
    lost = {name: count for name, count in result["loss"].items() if count and name not in LISTS}
    named = ", ".join(f"{name} {count:,}" for name, count in lost.items())
    return [at_least("connects made", f"{load['connects']:,} in {load['seconds']:.1f} s, "
                     f"{load['per_second']:,} per s", load["per_second"], 0.99 * FLOOD_PER_SECOND,
                     f"{FLOOD_PER_SECOND:,} per s for {FLOOD_SECONDS} s"),
            Figure("lost", named or "nothing", "nothing, or named exactly", not lost or None),
            Figure("connects that were judged", f"{result['judged']:,} of {load['connects']:,}",
                   "all that were not lost", result["judged"] == load["connects"] or None)]
