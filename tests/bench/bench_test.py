#!/usr/bin/env python3
"""tools/bench with planted parts: one that fails costs its own rows only, and every failure is named."""

import contextlib
import importlib.machinery
import importlib.util
import io
import json
import os
import sys
import tempfile
import unittest

TOOL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools", "bench")


def load():
    loader = importlib.machinery.SourceFileLoader("bench_tool", TOOL)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("bench_tool", loader))
    sys.dont_write_bytecode = True
    loader.exec_module(module)
    return module


def row(name, value=1.0):
    return {"name": name, "value": value, "unit": "us", "limit": None, "ratio": None, "what_the_limit_is": None}


def prints(*rows, then="pass"):
    """A program that prints these rows and then does that."""
    text = "".join(json.dumps(r) + "\n" for r in rows)
    return [sys.executable, "-c", f"import os, sys, time\nprint({text!r}, end='', flush=True)\n{then}"]


class BenchTest(unittest.TestCase):
    def setUp(self):
        self.tool = load()
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.tool.TREE = self.folder.name
        self.tool.NEED_TRACES = {}

    def run_with(self, parts, *arguments):
        """The exit code, the rows that were written, by name, and what was said."""
        self.tool.PARTS = parts
        before, sys.argv = sys.argv, ["bench", *arguments]
        said = io.StringIO()
        try:
            with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
                code = self.tool.main()
        finally:
            sys.argv = before
        with open(os.path.join(self.folder.name, "build", "bench.json"), encoding="utf-8") as f:
            return code, {r["name"]: r for r in json.load(f)}, said.getvalue()

    def test_all_well(self):
        code, rows, said = self.run_with({"a": [prints(row("x"))], "b": [prints(row("y"), row("z"))]})
        self.assertEqual(code, 0)
        self.assertEqual(rows["y"], row("y"))
        self.assertEqual(set(rows), {"x", "y", "z", *self.tool.ELSEWHERE})
        self.assertNotIn("FAILED", said)

    def test_every_kind_of_failure_costs_its_own_rows_only(self):
        self.tool.LONGEST_S = 2
        code, rows, said = self.run_with({
            "fails": [prints(row("kept"), then="sys.exit(3)"), prints(row("second"))],
            "dies": [prints(then="os.abort()")],
            "is-not-there": [[os.path.join(self.folder.name, "no_such_program")]],
            "says-nothing": [prints()],
            "hangs": [prints(row("before"), then="time.sleep(600)")],
            "says-nonsense": [prints(row("good"), then="print('{\"name\": 1}\\n{half')")],
            "well": [prints(row("last"))],
        })
        self.assertEqual(code, 1)
        self.assertEqual(set(rows), {"kept", "second", "before", "good", "last", *self.tool.ELSEWHERE})
        failed = {line.split("FAILED ")[1].split(":")[0] for line in said.splitlines() if "FAILED" in line}
        self.assertEqual(failed, {"fails", "dies", "is-not-there", "says-nothing", "hangs"})
        self.assertIn("ended with 3", said)

    def test_a_missed_goal_is_no_failure(self):
        code, rows, said = self.run_with({"a": [prints(row("read_stall_ms", 9000.0))]})
        self.assertEqual(code, 0)
        self.assertEqual(rows["read_stall_ms"]["value"], 9000.0)
        self.assertIn("MISSED", said)

    def test_rows_that_no_part_measures_say_why(self):
        _, rows, said = self.run_with({"a": [prints(row("x"))]})
        self.assertEqual(rows["release_ratio"]["value"], None)
        self.assertIn("make e2e", rows["release_ratio"]["what_the_limit_is"])
        self.assertIn("make e2e", said)

    def test_one_part_alone(self):
        code, rows, _ = self.run_with({"a": [prints(row("x"))], "b": [prints(row("y"))]}, "b")
        self.assertEqual((code, set(rows)), (0, {"y"}))
        with self.assertRaises(SystemExit):
            self.run_with({"a": [prints(row("x"))]}, "c")


class ListOfRows(unittest.TestCase):
    def test_goals_and_rows_measured_elsewhere_do_not_meet(self):
        tool = load()
        self.assertEqual(set(tool.GOALS) & set(tool.ELSEWHERE), set())


if __name__ == "__main__":
    unittest.main()
