#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Replays every recording of tests/golden/recordings and compares the report with the one beside
it. Needs no root and no kernel: a recording replays to the same observations on any machine."""

import argparse
import difflib
import glob
import os
import subprocess
import sys

FOLDER = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "golden",
                      "recordings")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--routelens", required=True)
    options = parser.parse_args()
    passed = failed = 0
    for recording in sorted(glob.glob(os.path.join(FOLDER, "*.rlrec"))):
        name = os.path.basename(recording)
        with open(recording[:-len(".rlrec")] + ".json", encoding="utf-8") as file:
            wanted = file.read()
        result = subprocess.run([options.routelens, "replay", recording, "--json"],
                                capture_output=True, text=True)
        if result.returncode == 0 and result.stdout == wanted:
            passed += 1
            continue
        failed += 1
        print(f"FAIL {name}: exit status {result.returncode} {result.stderr.strip()}")
        sys.stdout.writelines(difflib.unified_diff(
            wanted.splitlines(True), result.stdout.splitlines(True), "expected", "replayed", n=1))
        print("  to accept a wanted change: tests/live/record_golden.py")
    if not passed and not failed:
        print(f"FAIL no recordings in {FOLDER}: tests/live/record_golden.py makes them")
        failed = 1
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
