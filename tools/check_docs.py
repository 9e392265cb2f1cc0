#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that the documentation and the tree agree.

Usage: tools/check_docs.py [--root FOLDER]

- Every room (a folder whose CMakeLists.txt calls room()) has a README.md of at most 25 lines with
  the six headings, and is named in tools/layers.toml.
- Every file or folder of the tree that a page names in `backticks` or links to exists.
- Every page that a source file mentions as docs/....md exists.
- Every capability of the feature table is described in docs/coverage.md.
- Every .json, .yaml and .toml file outside test data can be parsed.
Exit status: 0 without findings, else 1.
"""

import argparse
import json
import pathlib
import re
import sys
import tomllib

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from source_tree import CODE_SUFFIXES, Finding, list_files, read_lines, report  # noqa: E402

HEADINGS = ("For", "In", "Out", "May include", "Thread", "Loses data when")
MAX_README_LINES = 25
NAMED_PATH = re.compile(r"`([A-Za-z0-9_.-]+(?:/[A-Za-z0-9_.-]+)*/?)`")
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
SOURCE_NAME = re.compile(r"[\w-]+(?:\.bpf)?\.(?:h|cc|c|py|md|toml|cmake)")
ROOM_CALL = re.compile(r"^room\(\s*([\w/]+)", re.MULTILINE)
PAGE_IN_SOURCE = re.compile(r"\bdocs/[\w/.-]+\.md\b")
FEATURE_TABLE = "userspace/kernel/feature_table.cc"
COVERAGE_PAGE = "docs/coverage.md"
CAPABILITY_NAME = re.compile(r"\.name = \"(\w+)\"")
DESCRIBED_NAME = re.compile(r"^\| `(\w+)` \|", re.MULTILINE)
TEST_DATA = {"testdata", "corpus", "golden", "recordings"}


def all_folders(names: list[str]) -> set[str]:
    return {str(parent) for name in names for parent in pathlib.PurePosixPath(name).parents}


def check_room_readmes(root: pathlib.Path, names: list[str], rooms: dict) -> list[Finding]:
    findings = []
    for name in names:
        if not name.endswith("/CMakeLists.txt") or name.startswith("tests/"):
            continue
        for room in ROOM_CALL.findall("\n".join(read_lines(root, name))):
            if room not in rooms:
                findings.append(Finding(name, 1, f"{room} is not in tools/layers.toml"))
            readme = f"{room}/README.md"
            if readme not in names:
                findings.append(Finding(name, 1, f"{room} has no README.md"))
            else:
                findings += check_readme(readme, read_lines(root, readme))
    return findings


def check_readme(readme: str, lines: list[str]) -> list[Finding]:
    findings = []
    if len(lines) > MAX_README_LINES:
        findings.append(Finding(readme, MAX_README_LINES, f"{len(lines)} lines; a room's page has "
                                f"at most {MAX_README_LINES}"))
    for heading in HEADINGS:
        pattern = re.compile(rf"^[#*\-\s]*{heading}\b", re.IGNORECASE)
        if not any(pattern.match(line) for line in lines):
            findings.append(Finding(readme, 1, f'no heading "{heading}"'))
    return findings


def named_paths(line: str) -> list[tuple[str, bool]]:
    """Paths that one line of a page names, and whether each is a link."""
    return ([(path, False) for path in NAMED_PATH.findall(line)]
            + [(path, True) for path in LINK.findall(line) if "://" not in path])


def check_page(name: str, lines: list[str], files: set[str], folders: set[str]) -> list[Finding]:
    top = {path.split("/")[0] for path in files if "/" in path}
    base_names = {path.split("/")[-1] for path in files}
    here = pathlib.PurePosixPath(name).parent
    findings = []
    for number, line in enumerate(lines, start=1):
        for path, is_link in named_paths(line):
            plain = path.rstrip("/")
            if plain.startswith("build"):
                continue
            if is_link:
                target = resolve(here, plain)
                known = target in files or target in folders
            elif "/" in path:
                # Only what claims to be of this tree: /proc and package names are other things.
                if plain.split("/")[0] not in top:
                    continue
                beside = str(here / plain)
                known = bool({plain, beside} & (files | folders))
            elif SOURCE_NAME.fullmatch(plain):
                known = plain in base_names
            else:
                continue
            if not known:
                findings.append(Finding(name, number, f"names {path}, which does not exist"))
    return findings


def check_source_mentions(name: str, lines: list[str], files: set[str]) -> list[Finding]:
    return [Finding(name, number, f"names {page}, which does not exist")
            for number, line in enumerate(lines, start=1)
            for page in PAGE_IN_SOURCE.findall(line) if page not in files]


def check_capabilities(root: pathlib.Path) -> list[Finding]:
    """docs/coverage.md has exactly the names of the feature table."""
    table, page = root / FEATURE_TABLE, root / COVERAGE_PAGE
    if not table.exists() or not page.exists():
        return []
    names = set(CAPABILITY_NAME.findall(table.read_text(encoding="utf-8")))
    described = set(DESCRIBED_NAME.findall(page.read_text(encoding="utf-8")))
    return ([Finding(COVERAGE_PAGE, 1, f"does not describe {name} of {FEATURE_TABLE}")
             for name in names - described]
            + [Finding(COVERAGE_PAGE, 1, f"describes {name}, which is not in {FEATURE_TABLE}")
               for name in described - names])


def resolve(here: pathlib.PurePosixPath, path: str) -> str:
    parts: list[str] = []
    for part in (here / path).parts:
        if part == "..":
            parts = parts[:-1]
        elif part != ".":
            parts.append(part)
    return "/".join(parts)


def check_data(root: pathlib.Path, name: str) -> list[Finding]:
    text = (root / name).read_text(encoding="utf-8", errors="replace")
    try:
        if name.endswith(".json"):
            json.loads(text)
        elif name.endswith(".toml"):
            tomllib.loads(text)
        else:
            import yaml
            list(yaml.safe_load_all(text))
    except ImportError:
        return [Finding(name, 1, "cannot be checked: python3-yaml is missing; run tools/deps")]
    except Exception as error:  # noqa: BLE001: each parser has errors of its own
        return [Finding(name, 1, f"cannot be parsed: {error}")]
    return []


def main() -> int:
    parser = argparse.ArgumentParser(description="Checks that docs and tree agree.")
    parser.add_argument("--root", type=pathlib.Path,
                        default=pathlib.Path(__file__).resolve().parent.parent)
    root = parser.parse_args().root
    names = list_files(root)
    folders = all_folders(names)
    rooms = tomllib.loads((root / "tools/layers.toml").read_text(encoding="utf-8"))["rooms"]
    findings = check_room_readmes(root, names, rooms) + check_capabilities(root)
    pages = 0
    for name in names:
        if TEST_DATA & set(name.split("/")):
            continue
        if name.endswith(".md"):
            pages += 1
            findings += check_page(name, read_lines(root, name), set(names), folders)
        elif name.endswith(CODE_SUFFIXES):
            findings += check_source_mentions(name, read_lines(root, name), set(names))
        elif name.endswith((".json", ".yaml", ".yml", ".toml")):
            findings += check_data(root, name)
    return report(findings, f"{pages} pages agree with the tree")


if __name__ == "__main__":
    sys.exit(main())
