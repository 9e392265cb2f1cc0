# SPDX-License-Identifier: Apache-2.0
"""What the cases of bench/run found, as lines for a terminal and as tables for a page."""

import dataclasses
import pathlib

VERDICTS = {True: "met", False: "missed", None: ""}


@dataclasses.dataclass(frozen=True)
class Figure:
    """One measured thing; `met` is None where there is no goal, or no answer."""

    what: str
    measured: str
    goal: str = ""
    met: bool | None = None


def at_least(what: str, measured: str, value: float, goal: float, goal_text: str) -> Figure:
    return Figure(what, measured, f"at least {goal_text}", value >= goal)


def at_most(what: str, measured: str, value: float, goal: float, goal_text: str) -> Figure:
    return Figure(what, measured, f"at most {goal_text}", value <= goal)


def cannot_run(what: str, why: str) -> Figure:
    return Figure(what, f"cannot run here: {why}")


def pair(name: str, result: dict, unit: str, goal: float | None = None) -> Figure:
    """Of bench_support.alternate: the speed that is kept."""
    if "cannot_run" in result:
        return cannot_run(name, result["cannot_run"])
    kept = (f"{100 * result['ratio_median']:.1f} % kept "
            f"(mean {100 * result['ratio_mean_low95']:.1f} to "
            f"{100 * result['ratio_mean_high95']:.1f}); {result['without_median']:,.0f} without, "
            f"{result['with_median']:,.0f} with, {unit}")
    if goal is None:
        return Figure(name, kept)
    return at_least(name, kept, result["ratio_median"], goal, f"{100 * goal:.0f} %")


def as_text(figures: list[Figure]) -> str:
    width = max((len(figure.what) for figure in figures), default=0)
    lines = []
    for figure in figures:
        goal = f"  [{figure.goal}: {VERDICTS[figure.met]}]" if figure.goal else ""
        lines.append(f"{figure.what:{width}}  {figure.measured}{goal}")
    return "\n".join(lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def as_table(figures: list[Figure]) -> str:
    rows = ["| what | measured | goal | |", "|---|---|---|---|"]
    rows += [f"| {_cell(f.what)} | {_cell(f.measured)} | {_cell(f.goal)} | {VERDICTS[f.met]} |"
             for f in figures]
    return "\n".join(rows)


def circumstances(machine: dict, setting: dict) -> str:
    """The sentence above a table: where and how it was measured."""
    return (f"Kernel {machine['kernel']}, {machine['processors']} processors ({machine['cpu']}), "
            f"load {machine['load_average_before']:.2f} before; `--seconds {setting['seconds']} "
            f"--alternations {setting['alternations']}`.")


def put_tables(page: pathlib.Path, tables: dict[str, str]) -> None:
    """Puts each case's table between its two marks of the page; what has none is added below."""
    text = page.read_text(encoding="utf-8") if page.exists() else ""
    for case, table in tables.items():
        begin, end = f"<!-- {case}: begin -->", f"<!-- {case}: end -->"
        block = f"{begin}\n{table}\n{end}"
        before, found, rest = text.partition(begin)
        if not found:
            text = (text.rstrip("\n") + "\n\n" if text else "") + f"### {case}\n\n{block}\n"
            continue
        _, found, after = rest.partition(end)
        if not found:
            raise ValueError(f"{page}: {begin} without {end}")
        text = before + block + after
    page.write_text(text, encoding="utf-8")
