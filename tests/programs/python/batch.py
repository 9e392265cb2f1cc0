#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs many commands, a few at a time. Argument: a JSON file with [{"name", "argv", "stdin",
"timeout"}]; for each, NAME.stdout, NAME.stderr and, when all are over, results.json beside it with
{NAME: {"status", "seconds", "timed_out"}}."""

import json
import os
import signal
import subprocess
import sys
import time


def main():
    plan_path, at_once = sys.argv[1], int(sys.argv[2])
    folder = os.path.dirname(plan_path)
    with open(plan_path, encoding="utf-8") as file:
        waiting = json.load(file)
    running, results = [], {}
    while waiting or running:
        while waiting and len(running) < at_once:
            item = waiting.pop(0)
            base = os.path.join(folder, item["name"])
            with open(base + ".stdin", "w", encoding="latin1") as file:
                file.write(item["stdin"])
            with open(base + ".stdin", "rb") as source, open(base + ".stdout", "wb") as out, \
                    open(base + ".stderr", "wb") as err:
                process = subprocess.Popen(item["argv"], stdin=source, stdout=out, stderr=err,
                                           start_new_session=True)
            running.append((item, process, time.monotonic()))
        for entry in list(running):
            item, process, started = entry
            seconds = time.monotonic() - started
            late = process.poll() is None and seconds > item["timeout"]
            if late:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            if process.poll() is not None:
                running.remove(entry)
                results[item["name"]] = {"status": process.returncode, "seconds": seconds,
                                         "timed_out": late}
        time.sleep(0.01)
    with open(os.path.join(folder, "results.json"), "w", encoding="utf-8") as file:
        json.dump(results, file)


if __name__ == "__main__":
    main()
