# SPDX-License-Identifier: Apache-2.0
"""What Routelens could leave on a host: cgroups, BPF programs and links, mounts, files, processes.
Taken before and after; what is new after a short wait was left behind."""

import glob
import json
import os
import subprocess
import time


def _cgroups():
    with open("/proc/self/mountinfo", encoding="utf-8") as file:
        mounts = [line.split()[4] for line in file if " - cgroup2 " in line]
    return {path for mount in mounts[:1] for path in glob.glob(f"{mount}/**/routelens-*",
                                                               recursive=True)}


def _bpf(kind):
    result = subprocess.run(["bpftool", "--json", kind, "list"], capture_output=True, text=True)
    if result.returncode != 0 or not result.stdout.strip():
        return set()
    return {f"BPF {kind} {e['id']} {e.get('name', e.get('type', ''))}"
            for e in json.loads(result.stdout)}


def _mounts():
    with open("/proc/self/mountinfo", encoding="utf-8") as file:
        return {"mount " + " ".join(line.split()[3:5]) for line in file}


def _files():
    return {path for pattern in ("/tmp/routelens*", "/run/routelens*", "/var/tmp/routelens*",
                                 "/dev/shm/routelens*") for path in glob.glob(pattern)
            if not path.startswith("/tmp/routelens-live-")}


def _processes():
    """Living processes of any Routelens: "process PID PROGRAM"."""
    found = set()
    for entry in glob.glob("/proc/[0-9]*/exe"):
        try:
            if os.path.basename(os.readlink(entry)).startswith("routelens"):
                found.add(f"process {entry.split('/')[2]} {os.readlink(entry)}")
        except OSError:
            pass
    return found


def _bpf_holders():
    """Living processes with BPF objects open."""
    found = set()
    for entry in glob.glob("/proc/[0-9]*/fd/*"):
        try:
            if os.readlink(entry).startswith("anon_inode:bpf"):
                found.add(f"holder {entry.split('/')[2]}")
        except OSError:
            pass
    return found


def take():
    return (_bpf_holders() | _cgroups() | _bpf("prog") | _bpf("link") | _bpf("map") | _mounts() | _files() |
            _processes())


def left_behind(before, say, program, patience=4.0):
    deadline = time.monotonic() + patience
    while True:
        left = take() - before
        if not left:
            return []
        if time.monotonic() > deadline:
            break
        time.sleep(0.2)
    ours = {text for text in left if text.startswith("process ") and
            text.split(" ", 2)[2].split(" (deleted)")[0] == program}
    strangers = {text for text in left if text.startswith(("holder ", "process "))} - ours
    if strangers and not ours:
        # The suite has ended every process of its own: these are somebody else's.
        say("another program uses BPF on this host just now: what it has cannot be told from what "
            "was left behind, so only mounts are compared")
        left = {text for text in left if text.startswith("mount ")}
    return sorted(left)
