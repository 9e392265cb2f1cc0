#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tools/test hides no failure: a tree of its own, a cmake that is a stand-in, the real ctest."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

TOOLS = pathlib.Path(__file__).resolve().parents[2] / "tools"

# Configures by writing a ctest file with one test for each build; builds nothing. A build or a test
# fails when its name is in the environment.
CMAKE = """#!/bin/bash
echo "$*" >>cmake-calls
if [[ $1 == --preset ]]; then
  mkdir -p "build/$2"
  result=true
  [[ " $FAILING_TESTS " == *" $2 "* ]] && result=false
  printf 'add_test(works_%s %s)\\nset_tests_properties(works_%s PROPERTIES LABELS unit)\\n' \
    "$2" "$result" "$2" >"build/$2/CTestTestfile.cmake"
elif [[ $1 == --build ]]; then
  [[ " $FAILING_BUILDS " == *" $3 "* ]] && exit 1
fi
exit 0
"""


class ToolsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for name in ("tools", "stand-ins"):
            (self.root / name).mkdir()
        shutil.copy(TOOLS / "test", self.root / "tools/test")
        stand_in = self.root / "stand-ins/cmake"
        stand_in.write_text(CMAKE, encoding="utf-8")
        stand_in.chmod(0o755)

    def run_test(self, *arguments: str, builds: str = "", tests: str = ""):
        environment = dict(os.environ, PATH=f"{self.root}/stand-ins:{os.environ['PATH']}",
                           ROUTELENS_NO_DEPS="1", FAILING_BUILDS=builds, FAILING_TESTS=tests)
        done = subprocess.run([str(self.root / "tools/test"), *arguments], env=environment,
                              capture_output=True, text=True, check=False, cwd="/")
        return done.returncode, done.stdout

    def last_summary(self, output: str) -> str:
        lines = [line for line in output.splitlines() if "tests passed" in line]
        self.assertTrue(lines, output)
        return lines[-1]

    def test_success_ends_with_the_summary_of_ctest(self):
        status, output = self.run_test("--label", "unit", "--label", "asan", "--label", "tsan")
        self.assertEqual(status, 0, output)
        self.assertEqual(self.last_summary(output),
                         "100% tests passed, 0 tests failed out of 3")
        self.assertTrue(output.rstrip().splitlines()[-1].startswith("Total Test time"), output)

    def test_steps_are_named_and_timed(self):
        _, output = self.run_test("--label", "unit")
        for step in ("build dev", "headers stand alone", "tests"):
            self.assertIn(f"==> {step}", output)
            self.assertRegex(output, rf"<== {step}: ok, \d+ s")

    def test_a_failed_test_fails_the_run(self):
        status, output = self.run_test("--label", "unit", tests="dev")
        self.assertNotEqual(status, 0)
        self.assertIn("1 tests failed out of 1", self.last_summary(output))

    def test_a_failed_build_fails_the_run_and_does_not_stop_it(self):
        status, output = self.run_test("--label", "unit", "--label", "asan", "--label", "tsan",
                                       builds="asan")
        self.assertNotEqual(status, 0)
        self.assertIn("<== build asan: FAILED", output)
        self.assertIn("<== build tsan: ok", output)
        self.assertIn("tools/test: failed step: build asan", output)
        self.last_summary(output)

    def test_no_test_at_all_is_a_failure(self):
        status, _ = self.run_test("--label", "check")
        self.assertNotEqual(status, 0)

    def test_quick_builds_one_flavour(self):
        self.run_test("--quick")
        calls = (self.root / "cmake-calls").read_text(encoding="utf-8")
        self.assertIn("--preset dev", calls)
        self.assertNotIn("asan", calls)

    def test_full_builds_all(self):
        if os.geteuid() != 0:
            self.skipTest("without --quick the script itself asks for root")
        self.run_test("--full")
        calls = (self.root / "cmake-calls").read_text(encoding="utf-8")
        for preset in ("dev", "release", "asan", "tsan", "fuzz"):
            self.assertIn(f"--preset {preset}", calls)


if __name__ == "__main__":
    unittest.main()
