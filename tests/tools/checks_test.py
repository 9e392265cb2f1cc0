#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The checks of tools/ find what they are there for, and pass what is right.

Each test writes a small tree of its own and runs the real script on it with the real layers.toml.
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

TOOLS = pathlib.Path(__file__).resolve().parents[2] / "tools"
APACHE = "// SPDX-License-Identifier: Apache-2.0\n"
KERNEL = "/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */\n"
CONTRACT = "//\n// What this is for.\n"


class CheckTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        (self.root / "tools").mkdir()
        shutil.copy(TOOLS / "layers.toml", self.root / "tools")

    def write(self, name: str, text: str):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def run_check(self, script: str) -> tuple[int, str]:
        done = subprocess.run([sys.executable, "-B", str(TOOLS / script), "--root", str(self.root)],
                              capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    def assert_clean(self, script: str):
        status, output = self.run_check(script)
        self.assertEqual((status, output if status else ""), (0, ""))

    def assert_finds(self, script: str, *words: str):
        status, output = self.run_check(script)
        self.assertEqual(status, 1, output)
        for word in words:
            self.assertIn(word, output)


class Layers(CheckTest):
    script = "check_layers.py"

    def test_a_lower_room_may_be_included(self):
        self.write("base/clock.h", APACHE)
        self.write("userspace/tables/flow_table.cc", APACHE + '#include "base/clock.h"\n'
                   "#include <vector>\n#include \"absl/status/status.h\"\n")
        self.assert_clean(self.script)

    def test_a_higher_room_is_found_with_file_and_line(self):
        self.write("userspace/pipeline/pipeline.h", APACHE)
        self.write("base/clock.cc", APACHE + '#include "userspace/pipeline/pipeline.h"\n')
        self.assert_finds(self.script, "base/clock.cc:2:", "may not include userspace/pipeline")

    def test_libbpf_outside_its_room_is_found(self):
        self.write("userspace/decode/event_decoder.cc", APACHE + "#include <bpf/libbpf.h>\n")
        self.assert_finds(self.script, "userspace/decode may not include libbpf")

    def test_libbpf_in_its_room_passes(self):
        self.write("userspace/kernel/loader.cc", APACHE + "#include <bpf/libbpf.h>\n")
        self.assert_clean(self.script)

    def test_kernel_logic_is_not_for_user_space(self):
        self.write("bpf/lib/emit.bpf.h", KERNEL)
        self.write("userspace/decode/event_decoder.cc", APACHE + '#include "bpf/lib/emit.bpf.h"\n')
        self.assert_finds(self.script, "userspace/decode may not include bpf/lib")

    def test_the_system_is_not_for_pure_rooms(self):
        self.write("userspace/classify/classifier.cc", APACHE + "#include <unistd.h>\n")
        self.assert_finds(self.script, "userspace/classify may not include os")

    def test_nothing_includes_tests(self):
        self.write("tests/support/builder.h", APACHE)
        self.write("userspace/tables/flow_table.cc", APACHE + '#include "tests/support/builder.h"\n')
        self.assert_finds(self.script, "may not include tests")

    def test_a_test_may_include_any_room(self):
        self.write("userspace/kernel/kernel_sensor.h", APACHE)
        self.write("tests/userspace/kernel/kernel_sensor_bpf_test.cc", APACHE +
                   '#include "userspace/kernel/kernel_sensor.h"\n#include <gtest/gtest.h>\n')
        self.assert_clean(self.script)

    def test_a_path_that_is_not_from_the_root_is_found(self):
        self.write("base/clock.h", APACHE)
        self.write("base/clock.cc", APACHE + '#include "clock.h"\n')
        self.assert_finds(self.script, "from the root of the tree")

    def test_a_library_that_nobody_named_is_found(self):
        self.write("base/clock.cc", APACHE + "#include <boost/asio.hpp>\n")
        self.assert_finds(self.script, "boost/asio.hpp", "[libraries]")

    def test_a_second_file_with_a_one_file_library_is_found(self):
        for name in ("routes/policy_parser.cc", "routes/match.cc"):
            self.write(name, APACHE + "#include <yaml-cpp/yaml.h>\n")
        self.assert_finds(self.script, "routes/match.cc:2:", "only one file of routes")

    def test_a_file_outside_every_room_is_found(self):
        self.write("attic/things.h", APACHE + "#include <vector>\n")
        self.assert_finds(self.script, "attic/things.h:2:", "no room")


class Source(CheckTest):
    script = "check_source.py"

    def test_a_good_header_passes(self):
        self.write("base/clock.h", APACHE + CONTRACT + "#pragma once\n")
        self.assert_clean(self.script)

    def test_a_missing_licence_is_found(self):
        self.write("base/clock.cc", "int x;\n")
        self.assert_finds(self.script, "base/clock.cc:1:", "SPDX-License-Identifier: Apache-2.0")

    def test_a_missing_licence_of_a_build_file_is_written_on_request(self):
        self.write("base/CMakeLists.txt", "room(base)\n")
        self.write("tools/x.py", "#!/usr/bin/env python3\npass\n")
        self.assert_finds(self.script, "base/CMakeLists.txt:1:", "tools/x.py:1:")
        subprocess.run([sys.executable, "-B", str(TOOLS / self.script), "--fix", "--root",
                        str(self.root)], capture_output=True, check=True)
        self.assertEqual((self.root / "base/CMakeLists.txt").read_text(),
                         "# SPDX-License-Identifier: Apache-2.0\nroom(base)\n")
        self.assertTrue((self.root / "tools/x.py").read_text().startswith("#!/usr/bin"))
        self.assert_clean(self.script)

    def test_kernel_code_is_under_both_licences(self):
        self.write("bpf/pure/addr.h", APACHE + CONTRACT + "#pragma once\n")
        self.assert_finds(self.script, "GPL-2.0-only OR Apache-2.0")

    def test_a_header_without_a_contract_or_guard_is_found(self):
        self.write("base/clock.h", APACHE + "int x;\n")
        self.assert_finds(self.script, "opens with a comment", "include guard")

    def test_a_clock_in_a_pure_room_is_found(self):
        self.write("userspace/tables/t.cc", APACHE +
                   "auto now = std::chrono::steady_clock::now();\n")
        self.assert_finds(self.script, "userspace/tables/t.cc:2:", "reads a clock")

    def test_a_clock_in_a_comment_is_no_clock(self):
        self.write("userspace/tables/t.cc", APACHE + "// never steady_clock::now() here\n")
        self.assert_clean(self.script)

    def test_a_skip_without_a_reason_is_found(self):
        self.write("tests/t.cc", APACHE + "void F() { GTEST_SKIP(); }\n")
        self.assert_finds(self.script, "tests/t.cc:2:", "says why")

    def test_a_bare_nolint_is_found_and_a_reasoned_one_passes(self):
        self.write("base/a.cc", APACHE + "int a;  // NOLINT\n")
        self.write("base/b.cc", APACHE + "int b;  // NOLINT(bugprone-x): the reason\n")
        status, output = self.run_check(self.script)
        self.assertEqual(status, 1)
        self.assertIn("base/a.cc:2:", output)
        self.assertNotIn("base/b.cc", output)

    def test_unfinished_marks_are_found(self):
        self.write("base/a.cc", APACHE + "// TO" + "DO: later\n")
        self.assert_finds(self.script, "work-in-progress")

    def test_a_long_file_is_reported_and_is_no_error(self):
        self.write("base/a.cc", APACHE + "int x;\n" * 700)
        status, output = self.run_check(self.script)
        self.assertEqual(status, 0)
        self.assertIn("base/a.cc: 701 lines", output)

    def test_scripts_without_a_suffix_are_checked(self):
        self.write("tools/try", "#!/bin/sh\necho\n")
        self.assert_finds(self.script, "tools/try:1:")


class Docs(CheckTest):
    script = "check_docs.py"
    readme = "# base\n" + "".join(
        f"**{heading}:** words\n"
        for heading in ("For", "In", "Out", "May include", "Thread", "Loses data when"))

    def test_a_room_with_its_page_passes(self):
        self.write("base/CMakeLists.txt", "room(\n  base\n  SOURCES clock.cc)\n")
        self.write("base/README.md", self.readme)
        self.assert_clean(self.script)

    def test_a_room_without_a_page_is_found(self):
        self.write("base/CMakeLists.txt", "room(base SOURCES clock.cc)\n")
        self.assert_finds(self.script, "base has no README.md")

    def test_a_missing_heading_is_found(self):
        self.write("base/CMakeLists.txt", "room(base)\n")
        self.write("base/README.md", self.readme.replace("Thread", "Threads"))
        self.assert_finds(self.script, 'no heading "Thread"')

    def test_a_page_that_is_too_long_is_found(self):
        self.write("base/CMakeLists.txt", "room(base)\n")
        self.write("base/README.md", self.readme + "more\n" * 25)
        self.assert_finds(self.script, "at most 25")

    def test_a_room_outside_the_table_is_found(self):
        self.write("attic/CMakeLists.txt", "room(attic)\n")
        self.assert_finds(self.script, "attic is not in tools/layers.toml")

    def test_a_named_file_that_is_not_there_is_found(self):
        self.write("base/clock.h", APACHE)
        self.write("docs/page.md", "Time comes from `base/clock.h`, not `base/watch.h`.\n")
        status, output = self.run_check(self.script)
        self.assertEqual(status, 1)
        self.assertIn("docs/page.md:1: names base/watch.h", output)
        self.assertNotIn("base/clock.h", output)

    def test_a_dead_link_is_found(self):
        self.write("docs/page.md", "[other](other.md) and [the web](https://example.org/x)\n")
        self.assert_finds(self.script, "names other.md")

    def test_paths_of_other_trees_are_none_of_ours(self):
        self.write("docs/page.md", "`/proc/self/maps`, `cgroup/connect4`, `build/release/bin`\n")
        self.assert_clean(self.script)

    def test_a_page_that_a_source_file_mentions_must_exist(self):
        self.write("docs/abi.md", "words\n")
        self.write("base/a.h", "// see docs/abi.md and docs/gone.md\n")
        status, output = self.run_check(self.script)
        self.assertEqual(status, 1)
        self.assertIn("base/a.h:1: names docs/gone.md", output)
        self.assertNotIn("docs/abi.md", output)

    def test_capabilities_and_their_page_agree(self):
        self.write("userspace/kernel/feature_table.cc", '{.name = "connect"}, {.name = "cancel"}\n')
        self.write("docs/coverage.md", "| name |\n| `connect` |\n| `packets` |\n")
        self.assert_finds(self.script, "does not describe cancel", "describes packets")

    def test_broken_data_is_found(self):
        self.write("deploy/a.json", "{")
        self.write("deploy/b.yaml", "a: [1")
        self.write("deploy/c.toml", "a =")
        self.assert_finds(self.script, "deploy/a.json", "deploy/b.yaml", "deploy/c.toml")


class Arguments(unittest.TestCase):
    """Each script explains itself, and refuses what it does not know with status 2."""

    scripts = ("check", "deps", "test", "fuzz-smoke")

    def run_tool(self, *arguments: str) -> subprocess.CompletedProcess:
        return subprocess.run([str(TOOLS / arguments[0]), *arguments[1:]], capture_output=True,
                              text=True, check=False)

    def test_help_is_printed(self):
        for script in self.scripts:
            with self.subTest(script=script):
                done = self.run_tool(script, "--help")
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn(f"Usage: tools/{script}", done.stdout)

    def test_an_unknown_argument_is_refused(self):
        for script in self.scripts:
            with self.subTest(script=script):
                done = self.run_tool(script, "--no-such-thing")
                self.assertEqual(done.returncode, 2)
                self.assertIn("Usage: ", done.stderr)

    def test_a_label_that_no_test_has_is_refused(self):
        done = self.run_tool("test", "--label", "unti")
        self.assertEqual(done.returncode, 2)
        self.assertIn("unknown label 'unti'", done.stderr)


if __name__ == "__main__":
    unittest.main()
