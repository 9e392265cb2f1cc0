#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""House rules for source files that clang-format and the compiler do not know.

Usage: tools/check_source.py [--root FOLDER] [--fix]

Errors: no SPDX line; a header without its opening comment or include guard; a clock, a sleep or an
absolute path of a build machine where it does not belong; a work-in-progress mark; a test skipped
or a lint silenced without a reason.
Reported, not an error: files over the soft caps (400 lines a header, 600 a source, 250 a .bpf.c).
--fix writes the SPDX line into build files and scripts that lack it.
Exit status: 0 without errors, else 1.
"""

import argparse
import pathlib
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from source_tree import CODE_SUFFIXES, Finding, list_files, read_lines, report  # noqa: E402

USER_SPACE_LICENCE = "SPDX-License-Identifier: Apache-2.0"
KERNEL_LICENCE = "SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0"
MIN_HEADER_COMMENT_LINES = 1
SOFT_CAPS = ((".bpf.c", 250), (".h", 400), (".cc", 600), (".c", 600))

SCRIPT_SUFFIXES = (".py", ".sh", ".mjs", ".js", ".cmake", ".toml", ".go", ".java")
SCRIPT_NAMES = ("CMakeLists.txt",)
HASH_COMMENTS = ("CMakeLists.txt", ".cmake", ".py", ".sh", ".toml")

# Time and sleeping belong to base/clock.cc and to the edges; everything else gets time as an
# argument, or a recording would not replay to the same report.
CLOCK_CALL = re.compile(
    r"\b(?:steady|system|high_resolution)_clock::now|\babsl::(?:Now|SleepFor)\b"
    r"|\bclock_gettime\s*\(|\bgettimeofday\s*\(|\bsleep_(?:for|until)\b|(?<![\w.:>])(?:u|nano)?sleep\s*\(")
CLOCK_FREE_ROOMS = ("routes/", "bpf/pure/", "userspace/model/", "userspace/decode/",
                    "userspace/tables/", "userspace/correlate/", "userspace/classify/",
                    "userspace/pipeline/", "cli/render/")
UNFINISHED = re.compile(r"\b(?:TODO|FIXME|XXX|HACK)\b")
MACHINE_PATH = re.compile(r"(?<![\w./-])/(?:home|root|work|Users)/[A-Za-z0-9_.-]+")
BARE_SKIP = re.compile(r"GTEST_SKIP\(\)\s*;")
# "NOLINT(check): reason"
BARE_NOLINT = re.compile(r"NOLINT(?:NEXTLINE|BEGIN)?\b(?!\([\w.,* -]+\)\s*:?\s*\S)(?!END)")


def is_script(root: pathlib.Path, name: str) -> bool:
    if name.endswith(SCRIPT_SUFFIXES) or name.split("/")[-1] in SCRIPT_NAMES:
        return True
    with open(root / name, "rb") as file:
        return file.read(2) == b"#!"


def in_testdata(name: str) -> bool:
    parts = name.split("/")
    return "testdata" in parts or "corpus" in parts or "golden" in parts


def licences_of(name: str) -> tuple[str, ...]:
    """The licence lines that a file may carry: what is built for the kernel is under both."""
    if name.startswith("bpf/") and name.endswith(CODE_SUFFIXES):
        return (KERNEL_LICENCE,)
    if name.endswith((".bpf.c", ".bpf.h")) or name.startswith("tests/bpf"):
        return (KERNEL_LICENCE, USER_SPACE_LICENCE)
    return (USER_SPACE_LICENCE,)


def check_header(name: str, lines: list[str]) -> list[Finding]:
    findings = []
    comment = 0
    for line in lines[1:]:
        if not re.match(r"\s*(//|/?\*)", line):
            break
        if re.search(r"\w", line):
            comment += 1
    if comment < MIN_HEADER_COMMENT_LINES:
        findings.append(Finding(name, 1, "a header opens with a comment: what it is for, "
                                "its limits, its thread"))
    if not any(line.startswith(("#pragma once", "#ifndef ")) for line in lines):
        findings.append(Finding(name, 1, "no include guard"))
    return findings


def check_file(name: str, lines: list[str], is_code: bool) -> list[Finding]:
    findings = []
    head = lines[:3]
    licences = licences_of(name)
    if not any(line.rstrip(" */").endswith(licences) for line in head):
        findings.append(Finding(name, 1, f'no "{licences[0]}" in the first lines'))
    if is_code and name.endswith(".h"):
        findings += check_header(name, lines)
    for number, line in enumerate(lines, start=1):
        if UNFINISHED.search(line):
            findings.append(Finding(name, number, "work-in-progress mark; do it or file it"))
        if MACHINE_PATH.search(line):
            findings.append(Finding(name, number, "absolute path of one machine"))
        if not is_code:
            continue
        code = line.split("//")[0]
        if name.startswith(CLOCK_FREE_ROOMS) and CLOCK_CALL.search(code):
            findings.append(Finding(name, number, "reads a clock or sleeps; time comes in as an "
                                    "argument here"))
        if BARE_SKIP.search(code):
            findings.append(Finding(name, number, "a skipped test says why: GTEST_SKIP() << ..."))
        if BARE_NOLINT.search(line):
            findings.append(Finding(name, number, "NOLINT names the check and the reason"))
    return findings


def add_licence(path: pathlib.Path, lines: list[str]) -> list[str]:
    """Writes the licence line of a '#' commented file, behind a "#!" line if there is one."""
    at = 1 if lines and lines[0].startswith("#!") else 0
    lines = [*lines[:at], f"# {USER_SPACE_LICENCE}", *lines[at:]]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return lines


def over_soft_cap(name: str, lines: list[str]) -> str | None:
    for suffix, cap in SOFT_CAPS:
        if name.endswith(suffix):
            return f"{name}: {len(lines)} lines (soft cap {cap})" if len(lines) > cap else None
    return None


def main() -> int:
    parser = argparse.ArgumentParser(description="House rules for source files.")
    parser.add_argument("--root", type=pathlib.Path,
                        default=pathlib.Path(__file__).resolve().parent.parent)
    parser.add_argument("--fix", action="store_true")
    options = parser.parse_args()
    root = options.root
    findings = []
    long_files = []
    checked = 0
    own_rules = pathlib.Path(__file__).name
    for name in list_files(root):
        if in_testdata(name) or name.startswith("LICENSES/"):
            continue
        is_code = name.endswith(CODE_SUFFIXES)
        if not is_code and not is_script(root, name):
            continue
        lines = read_lines(root, name)
        checked += 1
        if options.fix and name.endswith(HASH_COMMENTS) and "SPDX-" not in "".join(lines[:3]):
            lines = add_licence(root / name, lines)
        # This file and its test spell out what they look for.
        if own_rules not in name and "check_source_test" not in name:
            findings += check_file(name, lines, is_code)
        if is_code and (long := over_soft_cap(name, lines)):
            long_files.append(long)
    if long_files:
        print("over the soft cap of lines (no error):\n  " + "\n  ".join(long_files))
    return report(findings, f"{checked} source files, nothing to say")


if __name__ == "__main__":
    sys.exit(main())
