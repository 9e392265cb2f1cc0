# SPDX-License-Identifier: Apache-2.0
"""What every case of bench/run needs: servers, pairs of measurements, and their summary."""

import contextlib
import dataclasses
import json
import math
import os
import pathlib
import re
import shutil
import signal
import socket
import statistics
import subprocess
import tempfile
import time

# Student's t for a two-sided 95 % interval, by degrees of freedom; the last serves all beyond.
T95 = (0, 12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.20, 2.18, 2.16, 2.14, 2.13,
       2.12, 2.11, 2.10, 2.09, 2.09)


class CannotRun(Exception):
    """A case, or a peer of it, that this machine cannot run; the text says why."""


@dataclasses.dataclass
class Setting:
    bin: pathlib.Path  # where the bench preset put its programs
    tests: pathlib.Path  # and the dev preset those of the tests
    work: pathlib.Path  # scratch folder of this run
    alternations: int
    seconds: int

    def program(self, name: str) -> str:
        path = self.bin / name
        if not path.exists():
            raise CannotRun(f"{path} is not built: cmake --preset bench && cmake --build "
                            "--preset bench")
        return str(path)


def run(command: list[str], timeout: float = 120, **options) -> str:
    """Standard output of a command that must succeed."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False,
                          **options)
    if done.returncode != 0:
        raise CannotRun(f"{' '.join(command)}: exit status {done.returncode}: "
                        f"{(done.stderr or done.stdout).strip()[-600:]}")
    return done.stdout


def closed_port() -> int:
    """A loopback port that was free a moment ago and that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def routelens_command(setting: Setting, ports: list[int], command: list[str],
                      output: pathlib.Path | None = None) -> list[str]:
    """`command` inside a boundary, watched, with one route for each port of 127.0.0.1."""
    policy = setting.work / "policy.yaml"
    endpoints = "\n".join(
        f"      - {{host: 127.0.0.1, port: {port}, protocol: mcp}}" for port in ports)
    policy.write_text(f"network_policies:\n  bench:\n    endpoints:\n{endpoints}\n"
                      "    binaries: [{path: '/**'}]\n", encoding="utf-8")
    extra = ["--output", str(output)] if output else []
    return [setting.program("routelens"), "run", "--policy", str(policy), "--quiet", *extra, "--",
            *command]


@dataclasses.dataclass
class Nginx:
    plain_port: int
    tls_port: int


@contextlib.contextmanager
def nginx(setting: Setting, blob_bytes: int = 0):
    """One nginx worker on loopback, in the clear and with TLS; `/blob` has `blob_bytes`."""
    if not (binary := shutil.which("nginx", path=os.environ["PATH"] + ":/usr/sbin")):
        raise CannotRun("nginx is missing: tools/deps test")
    folder = pathlib.Path(tempfile.mkdtemp(dir=setting.work, prefix="nginx-"))
    ports = Nginx(closed_port(), closed_port())
    run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
         "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1",
         "-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem")])
    if blob_bytes:
        with open(folder / "blob", "wb") as blob:
            blob.truncate(blob_bytes)
    (folder / "nginx.conf").write_text(f"""
user root;
worker_processes 1;
daemon off;
pid {folder}/pid;
error_log {folder}/error.log;
events {{ worker_connections 4096; }}
http {{
  access_log off;
  keepalive_requests 1000000000;
  client_body_temp_path {folder}; proxy_temp_path {folder}; fastcgi_temp_path {folder};
  uwsgi_temp_path {folder}; scgi_temp_path {folder};
  server {{
    listen 127.0.0.1:{ports.plain_port} reuseport backlog=4096;
    listen 127.0.0.1:{ports.tls_port} ssl reuseport backlog=4096;
    ssl_certificate {folder}/cert.pem;
    ssl_certificate_key {folder}/key.pem;
    location = /blob {{ root {folder}; }}
    location / {{ return 200 "ok"; }}
  }}
}}
""", encoding="utf-8")
    server = subprocess.Popen([binary, "-p", str(folder), "-c", str(folder / "nginx.conf")],
                              stderr=subprocess.DEVNULL)
    try:
        wait_for_port(ports.plain_port)
        yield ports
    finally:
        stop(server)


def wait_for_port(port: int, seconds: float = 10):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise CannotRun(f"nothing listens on port {port} after {seconds} s")


def stop(process: subprocess.Popen, how: signal.Signals = signal.SIGTERM):
    """Ends a process that this script started, kindly first."""
    if process.poll() is None:
        process.send_signal(how)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextlib.contextmanager
def connect_sink(setting: Setting):
    """A server that accepts and resets; yields its port."""
    server = subprocess.Popen([setting.program("connect_load"), "serve"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True)
    try:
        yield int(server.stdout.readline())
    finally:
        server.stdin.close()
        stop(server)


def wrk_rate(output: str) -> float:
    found = re.search(r"Requests/sec:\s*([0-9.]+)", output)
    if not found:
        raise CannotRun(f"wrk printed no rate: {output.strip()[-300:]}")
    errors = re.search(r"Socket errors: (.*)|Non-2xx.*", output)
    if errors:
        raise CannotRun(f"wrk met errors: {errors.group(0)}")
    return float(found.group(1))


def json_rate(output: str) -> float:
    return float(json.loads(output.strip().splitlines()[-1])["per_second"])


def summarize_pairs(pairs: list[tuple[float, float]]) -> dict:
    """Ratios with/without: median, extremes, and a 95 % interval of the geometric mean."""
    ratios = [with_it / without for without, with_it in pairs]
    logs = [math.log(ratio) for ratio in ratios]
    mean = statistics.fmean(logs)
    half = 0.0
    if len(logs) > 1:
        half = T95[min(len(logs) - 1, len(T95) - 1)] * statistics.stdev(logs) / math.sqrt(len(logs))
    return {
        "alternations": len(pairs),
        "without_median": statistics.median(without for without, _ in pairs),
        "with_median": statistics.median(with_it for _, with_it in pairs),
        "ratio_median": statistics.median(ratios),
        "ratio_min": min(ratios),
        "ratio_max": max(ratios),
        "ratio_mean": math.exp(mean),
        "ratio_mean_low95": math.exp(mean - half),
        "ratio_mean_high95": math.exp(mean + half),
        "pairs": pairs,
    }


def alternate(setting: Setting, without, with_it) -> dict:
    """Calls the two measurements in turn, the order changing each time; one unmeasured first."""
    without()
    pairs = []
    for turn in range(setting.alternations):
        if turn % 2 == 0:
            low, high = without(), with_it()
        else:
            high, low = with_it(), without()
        pairs.append((low, high))
    return summarize_pairs(pairs)


def cgroup2_root() -> pathlib.Path:
    for line in pathlib.Path("/proc/self/mounts").read_text(encoding="utf-8").splitlines():
        _, folder, kind, *_ = line.split()
        if kind == "cgroup2":
            return pathlib.Path(folder)
    raise CannotRun("no cgroup v2 hierarchy is mounted")
