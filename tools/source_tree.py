# SPDX-License-Identifier: Apache-2.0
"""The files of the tree that the checks look at, and how a finding is printed."""

import dataclasses
import pathlib
import subprocess
import sys

CODE_SUFFIXES = (".c", ".h", ".cc", ".hpp", ".cpp")


@dataclasses.dataclass(frozen=True, order=True)
class Finding:
    path: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.text}"


def list_files(root: pathlib.Path) -> list[str]:
    """Paths below `root`, tracked or new, without what .gitignore leaves out. Sorted.

    Outside a git checkout (a source archive, a test's own tree) it is every file but build/.
    """
    if (root / ".git").exists():
        out = subprocess.run(
            ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            check=True, capture_output=True).stdout
        names = [name for name in out.decode().split("\0") if name]
    else:
        names = [str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()]
        names = [name for name in names if not name.startswith("build/")]
    return sorted(name for name in names if (root / name).is_file())


def read_lines(root: pathlib.Path, name: str) -> list[str]:
    return (root / name).read_text(encoding="utf-8", errors="replace").splitlines()


def report(findings: list[Finding], clean: str) -> int:
    """Prints the findings, or `clean`. Returns the exit status."""
    for finding in sorted(findings):
        print(finding, file=sys.stderr)
    if findings:
        print(f"{len(findings)} findings", file=sys.stderr)
        return 1
    print(clean)
    return 0
