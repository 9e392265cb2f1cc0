#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds every #include line of the tree against tools/layers.toml.

Usage: tools/check_layers.py [--root FOLDER]

Exit status: 0 when every line is allowed, 1 with one line for each that is not.
"""

import argparse
import pathlib
import re
import sys
import tomllib

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from source_tree import CODE_SUFFIXES, Finding, list_files, read_lines, report  # noqa: E402

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^">]+)[">]')
EVERYWHERE = ("std", "c")


class Layers:
    def __init__(self, table: dict):
        self.rooms = table["rooms"]
        self.one_file = table.get("one_file", {})
        self.libraries = {
            name: [re.compile(pattern) for pattern in patterns]
            for name, patterns in table["libraries"].items()
        }

    def room_of(self, path: str) -> str | None:
        """The longest room folder that holds `path`."""
        parts = path.split("/")[:-1]
        for length in range(len(parts), 0, -1):
            room = "/".join(parts[:length])
            if room in self.rooms:
                return room
        return None

    def libraries_of(self, header: str) -> set[str]:
        return {name for name, patterns in self.libraries.items()
                if any(pattern.fullmatch(header) for pattern in patterns)}

    def may_include_room(self, room: str, target: str) -> bool:
        if room == target:
            return True
        for allowed in self.rooms[room].get("may", []):
            if target == allowed.rstrip("/"):
                return True
            if allowed.endswith("/") and target.startswith(allowed):
                return True
        return False

    def refusal(self, path: str, header: str, ours: set[str]) -> str | None:
        """Why `path` may not include `header`, or None when it may."""
        room = self.room_of(path)
        if room is None:
            return "the file lies in no room of tools/layers.toml"
        if header in ours:
            target = self.room_of(header)
            if header in self.rooms[room].get("files", []):
                return None
            if target is None:
                return f"{header} lies in no room of tools/layers.toml"
            if not self.may_include_room(room, target):
                return f"{room} may not include {target} ({header})"
            return None
        if str(pathlib.PurePosixPath(path).parent / header) in ours:
            return f'write the path from the root of the tree, not "{header}"'
        groups = self.libraries_of(header)
        if not groups:
            return f"{header} is neither a file of the tree nor in [libraries] of tools/layers.toml"
        allowed = {*EVERYWHERE, *self.rooms[room].get("libraries", [])}
        if not groups & allowed:
            return f"{room} may not include {'/'.join(sorted(groups))} headers ({header})"
        return None


def check(root: pathlib.Path, table: dict) -> tuple[list[Finding], int]:
    layers = Layers(table)
    names = list_files(root)
    ours = {name for name in names if name.endswith(CODE_SUFFIXES)}
    findings = []
    lines_seen = 0
    users: dict[tuple[str, str], dict[str, int]] = {}
    for name in sorted(ours):
        # Programs that a test compiles inside a container or beside the product are not part of it.
        if name.startswith("tests/programs/"):
            continue
        for number, line in enumerate(read_lines(root, name), start=1):
            found = INCLUDE.match(line)
            if not found:
                continue
            lines_seen += 1
            header = found.group(1)
            why = layers.refusal(name, header, ours)
            if why:
                findings.append(Finding(name, number, why))
            room = layers.room_of(name)
            for library in layers.one_file.get(room, []):
                if header not in ours and library in layers.libraries_of(header):
                    users.setdefault((room, library), {})[name] = number
    for (room, library), files in users.items():
        if len(files) > 1:
            for name, number in files.items():
                findings.append(Finding(
                    name, number, f"only one file of {room} may include {library} headers; "
                    f"these do: {', '.join(sorted(files))}"))
    return findings, lines_seen


def main() -> int:
    parser = argparse.ArgumentParser(description="Checks #include lines against tools/layers.toml.")
    parser.add_argument("--root", type=pathlib.Path,
                        default=pathlib.Path(__file__).resolve().parent.parent)
    root = parser.parse_args().root
    table = tomllib.loads((root / "tools/layers.toml").read_text(encoding="utf-8"))
    findings, lines_seen = check(root, table)
    return report(findings, f"{lines_seen} #include lines, all allowed")


if __name__ == "__main__":
    sys.exit(main())
