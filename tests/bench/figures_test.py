#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Figures, tables and the page they are put into; and the figures of each case that judges."""

import pathlib
import re
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
TREE = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(TREE / "bench"))

import case_kernel  # noqa: E402
import case_live  # noqa: E402
import case_pipeline  # noqa: E402
import figures  # noqa: E402
from bench_support import summarize_pairs  # noqa: E402


def verdicts(found):
    return {figure.what: figure.met for figure in found if figure.goal}


class Figures(unittest.TestCase):
    def test_a_goal_is_met_at_its_border_and_missed_beyond(self):
        self.assertTrue(figures.at_least("a", "1", 1.0, 1.0, "1").met)
        self.assertFalse(figures.at_least("a", "1", 0.99, 1.0, "1").met)
        self.assertTrue(figures.at_most("a", "1", 1.0, 1.0, "1").met)
        self.assertFalse(figures.at_most("a", "1", 1.01, 1.0, "1").met)

    def test_a_pair_is_judged_by_its_median(self):
        pairs = summarize_pairs([(100, 98), (100, 97), (100, 50)])
        self.assertTrue(figures.pair("load", pairs, "per s", 0.97).met)
        self.assertFalse(figures.pair("load", pairs, "per s", 0.98).met)
        self.assertIsNone(figures.pair("load", pairs, "per s").met)

    def test_what_cannot_run_says_why_and_is_not_judged(self):
        figure = figures.pair("tool", {"cannot_run": "no kprobes"}, "per s", 0.97)
        self.assertIn("no kprobes", figure.measured)
        self.assertIsNone(figure.met)

    def test_a_table_has_one_row_for_each_figure(self):
        table = figures.as_table([figures.Figure("a|b", "1"), figures.Figure("c", "2", "g", True)])
        self.assertEqual(table.splitlines()[2:], ["| a\\|b | 1 |  |  |", "| c | 2 | g | met |"])


class Page(unittest.TestCase):
    def put(self, text, tables):
        with tempfile.TemporaryDirectory() as folder:
            page = pathlib.Path(folder) / "page.md"
            page.write_text(text, encoding="utf-8")
            figures.put_tables(page, tables)
            return page.read_text(encoding="utf-8")

    def test_a_table_replaces_the_one_between_its_marks_and_nothing_else(self):
        page = "top\n<!-- a: begin -->\nold\n<!-- a: end -->\nmiddle\n<!-- b: begin -->\nkept\n" \
               "<!-- b: end -->\nbottom\n"
        self.assertEqual(self.put(page, {"a": "new"}), page.replace("old", "new"))

    def test_putting_twice_is_putting_once(self):
        once = self.put("", {"a": "new"})
        self.assertEqual(self.put(once, {"a": "new"}), once)

    def test_a_mark_without_its_end_is_refused(self):
        with self.assertRaises(ValueError):
            self.put("<!-- a: begin -->\n", {"a": "new"})

    def test_every_case_has_its_marks_on_one_page(self):
        source = (TREE / "bench/run").read_text(encoding="utf-8")
        cases = re.findall(r'^    "(\w+)": Case\(', source, re.MULTILINE)
        self.assertGreater(len(cases), 5)
        for case in cases:
            page = "docs/tls-library.md" if case == "library" else "bench/README.md"
            text = (TREE / page).read_text(encoding="utf-8")
            self.assertEqual(text.count(f"<!-- {case}: begin -->\n"), 1, case)
            self.assertEqual(text.count(f"<!-- {case}: end -->\n"), 1, case)

    def test_the_readme_says_what_every_case_measures(self):
        source = (TREE / "bench/run").read_text(encoding="utf-8")
        readme = (TREE / "bench/README.md").read_text(encoding="utf-8")
        for case in re.findall(r'^    "(\w+)": Case\(', source, re.MULTILINE):
            self.assertTrue(f"| `{case}` |" in readme or f"`bench/run {case}`" in readme, case)


class Cases(unittest.TestCase):
    def test_programs_are_held_against_the_empty_one_of_their_type(self):
        times = {"on_egress": {"ns": 190.0, "runs": 9}, "empty_egress": {"ns": 90.0, "runs": 9},
                 "on_ingress": {"ns": 191.1, "runs": 9}, "empty_ingress": {"ns": 90.0, "runs": 9},
                 "on_exec": {"ns": 5000.0, "runs": 1}}
        found = case_kernel.figures_of_kernel({case_kernel.SETTLED: times})
        self.assertEqual(verdicts(found), {f"{case_kernel.SETTLED}: on_egress": True,
                                           f"{case_kernel.SETTLED}: on_ingress": False})
        self.assertEqual(len(found), 3)

    def test_the_slowest_attach_counts(self):
        found = case_kernel.figures_of_attach({
            "load_ms": 1, "unload_ms": 1, "boundaries": 2,
            "attach_ms": {"median": 1, "max": 101}, "detach_ms": {"median": 1, "max": 999}})
        self.assertEqual(list(verdicts(found).values()), [False, True])

    def test_a_flood_that_was_too_slow_is_not_met_however_long_it_took(self):
        flood = {"load": {"connects": 500_000, "seconds": 20.0, "per_second": 25_000},
                 "loss": {"kernel_ring_full": 0, "exchanges_truncated": 400_000},
                 "judged": 500_000}
        found = verdicts(case_live.figures_of_loss(flood))
        self.assertFalse(found["connects made"])
        self.assertTrue(found["lost"])
        self.assertTrue(found["connects that were judged"])

    def test_a_loss_is_named(self):
        flood = {"load": {"connects": 500_000, "seconds": 10.0, "per_second": 50_000},
                 "loss": {"kernel_ring_full": 7}, "judged": 499_990}
        found = {figure.what: figure for figure in case_live.figures_of_loss(flood)}
        self.assertEqual(found["lost"].measured, "kernel_ring_full 7")
        self.assertIsNone(found["lost"].met)

    def test_peers_may_not_grow_memory(self):
        def sizes(peers):
            return {"live": {"rss_after_kib": 32 * 1024, "table_full": 0},
                    "few_peers": {"rss_after_kib": 20_000, "table_full": 1},
                    "peers": {"rss_after_kib": peers, "table_full": 2}}

        self.assertTrue(all(verdicts(case_pipeline.figures_of_memory(sizes(20_500))).values()))
        self.assertFalse(all(verdicts(case_pipeline.figures_of_memory(sizes(22_000))).values()))

    def test_only_the_settled_path_may_not_allocate(self):
        entry = {"events_per_second": 2e6, "allocations_per_event": 0.5}
        found = case_pipeline.figures_of_pipeline({"SettledKeepAlive": entry, "Other": entry})
        self.assertEqual([figure.met for figure in found], [True, False, True, None])


if __name__ == "__main__":
    unittest.main()
