# SPDX-License-Identifier: Apache-2.0
"""The namespaces a case runs in. A worker process takes a network and a mount namespace of its own:
fixed addresses and ports cannot collide with another case, /etc/resolv.conf and /etc/hosts are its
own, and everything is gone when its last process is. The PID namespace stays the host's, because
process ids are part of what is tested."""

import ctypes
import os
import signal
import subprocess
import time

_libc = ctypes.CDLL(None, use_errno=True)
_CLONE_NEWNS = 0x00020000
_CLONE_NEWNET = 0x40000000
_MS_BIND = 0x1000
_MS_REC = 0x4000
_MS_PRIVATE = 1 << 18
_MS_RDONLY = 1
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36


def _check(result, what):
    if result != 0:
        error = ctypes.get_errno()
        raise OSError(error, f"{what}: {os.strerror(error)}")


def mount(source, target, kind=None, flags=0, data=None):
    encoded = [None if t is None else os.fsencode(t) for t in (source, target, kind, data)]
    _check(_libc.mount(encoded[0], encoded[1], encoded[2], ctypes.c_ulong(flags), encoded[3]),
           f"mount {target}")


def bind(source, target):
    mount(source, target, flags=_MS_BIND)


def die_with_parent():
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def adopt_orphans():
    """Makes this process the parent of what its children leave behind, so that it can end them."""
    _check(_libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), "prctl")


def enter():
    """Moves this (single-threaded) process into new network and mount namespaces, loopback up."""
    _check(_libc.unshare(_CLONE_NEWNS | _CLONE_NEWNET), "unshare")
    mount(None, "/", flags=_MS_REC | _MS_PRIVATE)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)


def children(pid=None):
    """Every living descendant of `pid`, children before grandchildren."""
    parents = {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/stat", "rb") as file:
                rest = file.read().rpartition(b") ")[2].split()
        except OSError:
            continue
        parents.setdefault(int(rest[1]), []).append(int(entry))
    found, todo = [], [pid or os.getpid()]
    while todo:
        for child in parents.get(todo.pop(), ()):
            found.append(child)
            todo.append(child)
    return found


def end_children(grace=2.0):
    """Ends every descendant: asks first, so that Routelens can take its cgroup and links away."""
    deadline = time.monotonic() + grace
    for number in (signal.SIGTERM, signal.SIGKILL):
        for pid in children():
            try:
                os.kill(pid, number)
            except OSError:
                pass
        while time.monotonic() < deadline + 1:
            try:
                if os.waitpid(-1, os.WNOHANG)[0] == 0:
                    time.sleep(0.01)
            except ChildProcessError:
                return
            if number == signal.SIGTERM and time.monotonic() > deadline:
                break


def wait_listening(port, kind="tcp", timeout=10.0, process=None):
    """Waits until something in this namespace listens on `port`, without connecting to it."""
    wanted = f":{port:04X}"
    state = "0A" if kind == "tcp" else "07"
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        for table in (kind, kind + "6"):
            try:
                with open(f"/proc/self/net/{table}", encoding="ascii") as file:
                    for line in file.readlines()[1:]:
                        fields = line.split()
                        if fields[1].endswith(wanted) and fields[3] == state:
                            return
            except OSError:
                pass
        if process is not None and process.poll() is not None:
            raise RuntimeError(f"server for port {port} ended with status {process.returncode}")
        time.sleep(0.01)
    raise RuntimeError(f"nothing listens on port {port}/{kind} after {timeout} s")
