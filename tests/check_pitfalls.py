#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds tests/PITFALLS.md against the tree: every known entry has one line, and every test that a
line names exists. Ends with 1 and says what is wrong when not."""

import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))

# The entries of the list of pitfalls; its numbers have gaps.
KNOWN = {
    "A": (1, 2, 4, 5, 7, 8, 10, 11, 13, 14, 16, 17, 19, 20, 22, 23, 25, 26, 28),
    "B": (1, 2, 4, 5, 7, 8, 10, 11, 13, 14, 16),
    "C": (1, 2, 4, 5, 7, 8, 10, 11, 13, 14, 16, 17, 19, 20, 22, 23, 25, 26, 28, 29, 31, 32),
    "D": (1, 2, 4, 5, 7, 8, 10, 11, 13, 14, 16, 17, 19, 20),
    "E": (1, 2, 4, 5, 7, 8),
    "F": (1, 2, 4, 5, 7, 8, 10, 11),
    "G": (1, 2, 4, 5),
}


def unit_tests():
    names = set()
    for folder, _, files in os.walk(HERE):
        for name in files:
            if not name.endswith(".cc"):
                continue
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                for suite, case in re.findall(r"\bTEST(?:_F|_P)?\(\s*(\w+)\s*,\s*(\w+)\s*\)",
                                              file.read()):
                    names.add(f"{suite}.{case}")
    return names


def live_cases():
    result = subprocess.run([sys.executable, "-B", os.path.join(HERE, "live", "run.py"), "--list"],
                            capture_output=True, text=True)
    if result.returncode != 0:
        raise SystemExit(f"check_pitfalls: tests/live/run.py --list failed:\n{result.stderr}")
    return {line.split()[0] for line in result.stdout.splitlines() if line}


def main():
    wrong = []
    lines = {}
    with open(os.path.join(HERE, "PITFALLS.md"), encoding="utf-8") as file:
        for line in file:
            cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
            if re.fullmatch(r"[A-G]\d+", cells[0]):
                if cells[0] in lines:
                    wrong.append(f"{cells[0]} has two lines")
                lines[cells[0]] = cells[-1]
    units, live = unit_tests(), live_cases()
    known = {f"{letter}{number}" for letter, numbers in KNOWN.items() for number in numbers}
    wrong += [f"{entry} has no line" for entry in sorted(known - set(lines))]
    wrong += [f"{entry} is no known entry" for entry in sorted(set(lines) - known)]
    for entry, said in lines.items():
        names = re.findall(r"`([^`]+)`", said)
        if not names and not re.match(r"issue \d+: \S+ \S+", said):
            wrong.append(f"{entry} names neither a test nor an issue with its reason")
        for name in names:
            there = name[5:] in live if name.startswith("live:") else name in units
            if not there:
                wrong.append(f"{entry} names a test that does not exist: {name}")
    for text in wrong:
        print(f"tests/PITFALLS.md: {text}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
