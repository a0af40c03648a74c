#!/usr/bin/env python3
"""Each house check must find the mistake that it is for, and nothing in the same code without it."""

import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from samples import complaints  # noqa: E402
from selftest_ratchets import Classes, Draw, Figures, Folders, Prose, Wishes  # noqa: E402, F401
from source import strip  # noqa: E402


class Strip(unittest.TestCase):
    def test_comments_and_literals_go_lines_stay(self):
        text = 'int a; // time()\n/* rand()\n */ f("throw", \'"\', 1\'000);\n#include "a/b.h"\n'
        code = strip(text)
        self.assertEqual(code.count("\n"), text.count("\n"))
        for word in ("time", "rand", "throw"):
            self.assertNotIn(word, code)
        self.assertIn('#include "a/b.h"', code)
        self.assertIn("1'000", code)

    def test_raw_strings(self):
        self.assertNotIn("rand", strip('auto s = R"x(rand() ")x"; int b;'))
        self.assertIn("int b", strip('auto s = R"x(rand() ")x"; int b;'))


class Includes(unittest.TestCase):
    def test_forms(self):
        for name in ("../core/ids.h", "ids.h", "source/ids.h"):
            found = complaints("includes", {"queue/a.cc": f'\n#include "{name}"\n'})
            self.assertEqual(len(found), 1, name)
            self.assertTrue(found[0].startswith("queue/a.cc:2: "))
        good = '#include "core/ids.h"\n#include <vector>\n// #include "../x.h"\n'
        self.assertEqual(complaints("includes", {"queue/a.cc": good}), [])


class Names(unittest.TestCase):
    def test_two_types_of_one_name(self):
        one = "namespace subak {\nstruct Pod {\n  int a;\n};\n}\n"
        two = "namespace subak {\nnamespace {\nint x;\n}\nclass Pod final : public A<B> {};\n}\n"
        found = complaints("names", {"admission/pod.h": one, "engine/job.h": two})
        self.assertEqual(len(found), 1)
        self.assertTrue(found[0].startswith("engine/job.h:5: subak::Pod is defined in admission/pod.h:2 too"))
        self.assertEqual(len(complaints("names", {"engine/a.cc": one, "tests/engine/b.cc": two})), 1)
        self.assertEqual(len(complaints("names", {"tests/engine/a.h": one, "tests/engine/b.cc": two})), 1)

    def test_what_is_private_or_no_definition(self):
        one = "namespace subak {\nstruct Pod {};\n}\n"
        for other in (
            "namespace subak::engine {\nstruct Pod {};\n}\n",
            "namespace subak {\nnamespace {\nstruct Pod {};\n}\n}\n",
            "namespace subak {\nstruct Pod;\nvoid f(struct Pod);\n}\n",
            "namespace subak {\nstruct Outer {\n  struct Pod {};\n};\nvoid f() {\n  struct Pod {};\n}\n}\n",
            "namespace subak {\ntemplate <class Pod>\nvoid f() {}\n// struct Pod {};\n}\n",
        ):
            self.assertEqual(complaints("names", {"queue/a.h": one, "queue/b.h": other}), [], other)
        self.assertEqual(complaints("names", {"tests/engine/a.cc": one, "tests/queue/b.cc": one}), [])


class Purity(unittest.TestCase):
    BAD = (
        "#include <random>",
        "#include <iostream>",
        "auto t = std::chrono::steady_clock::now();",
        "auto t = time(nullptr);",
        "auto t = std::time(nullptr);",
        "int r = rand();",
        "int f() { return rand(); }",
        'auto p = getenv("HOME");',
        "std::random_device d;",
        "void f() { throw 1; }",
        "thread_local int x;",
    )
    GOOD = (
        "TimeMs time() const;",
        "auto t = input.time();",
        "auto t = clock_.at(t);",
        "const DecayClock& clock() const { return clock_; }",
        "auto c = tree->clock();",
        "// rand() and throw\n",
        "int throwaway = 0, retry = 1;",
    )

    def test_core(self):
        for text in self.BAD:
            self.assertNotEqual(complaints("purity", {"core/a.cc": text}), [], text)
        for text in self.GOOD:
            self.assertEqual(complaints("purity", {"core/a.cc": text}), [], text)

    def test_one_file_reads_the_clock(self):
        text = "auto t = std::chrono::steady_clock::now();"
        self.assertEqual(len(complaints("purity", {"server/api/a.cc": text})), 1)
        self.assertEqual(complaints("purity", {"server/runtime/clock/clock.cc": text}), [])
        self.assertEqual(complaints("purity", {"server/api/a.cc": "// clock: gRPC's deadline\n" + text}), [])
        self.assertNotEqual(complaints("purity", {"core/a.cc": "// clock: no\n" + text}), [])
        self.assertEqual(complaints("purity", {"server/api/a.cc": "throw std::bad_alloc();"}), [])

    def test_locks(self):
        for text in ("std::mutex m;", "const std::lock_guard lock(m);", "std::condition_variable wake;"):
            self.assertEqual(len(complaints("purity", {"net/a.cc": text})), 1, text)
            self.assertEqual(complaints("purity", {"threads/mutex.h": text}), [])
        self.assertEqual(complaints("purity", {"net/a.cc": "Mutex m; MutexLock lock(m);"}), [])


class Order(unittest.TestCase):
    def test_loops(self):
        head = "struct A { std::unordered_map<int, std::vector<int>> rows_; };\n"
        for loop in (
            "void f() { for (auto& [k, v] : rows_) g(k); }",
            "void f(A* a) { for (auto& r : a->rows_) g(r); }",
            "auto x = std::accumulate(rows_.begin(), rows_.end(), 0);",
        ):
            self.assertEqual(len(complaints("order", {"queue/a.h": head, "queue/a.cc": loop})), 1, loop)
            excused = "// any order: summed\n" + loop
            self.assertEqual(complaints("order", {"queue/a.h": head, "queue/a.cc": excused}), [])
        fine = head + "void f() { for (auto& r : sorted_rows_) rows_.find(r); }"
        self.assertEqual(complaints("order", {"queue/a.h": fine}), [])
        self.assertEqual(complaints("order", {"server/a.cc": head + "void f() { for (auto& r : rows_) g(r); }"}), [])

    def test_alias(self):
        text = "using Map = std::unordered_map<int, int>;\nMap seen;\nvoid f() { for (auto x : seen) g(x); }"
        self.assertEqual(len(complaints("order", {"core/a.cc": text})), 1)


class Lengths(unittest.TestCase):
    @staticmethod
    def function(lines):
        return "namespace n {\nclass A {\n int f(int x) const {\n" + " x += 1;\n" * (lines - 2) + " }\n};\n}\n"

    def test_functions(self):
        self.assertEqual(complaints("lengths", {"core/a.cc": self.function(70)}), [])
        found = complaints("lengths", {"core/a.cc": self.function(71)})
        self.assertEqual(found, ["core/a.cc:f: 71 lines, at most 70: split it"])

    def test_a_lambda_counts_where_it_stands(self):
        body = "void g() {\n auto h = [&](int x) {\n" + " x += 1;\n" * 80 + " };\n}\n"
        self.assertEqual([c.split(":")[1] for c in complaints("lengths", {"core/a.cc": body})], ["g"])

    def test_tables_and_types_are_no_functions(self):
        rows = " {1, 2},\n" * 100
        self.assertEqual(complaints("lengths", {"core/a.h": "constexpr int t[] = {\n" + rows + "};\n"}), [])
        fields = " int a(int);\n" * 100
        self.assertEqual(complaints("lengths", {"core/a.h": "struct B : C<int> {\n" + fields + "};\n"}), [])

    def test_files_and_the_ratchet(self):
        long_file = {"core/a.cc": "int x;\n" * 501}
        self.assertEqual(len(complaints("lengths", long_file)), 1)
        for allowed, wrong in ((501, 0), (502, 1), (500, 1)):
            files = dict(long_file, **{"tools/house/long.txt": f"# why\ncore/a.cc {allowed}\n"})
            self.assertEqual(len(complaints("lengths", files)), wrong, allowed)
        stale = {"core/a.cc": "int x;\n", "tools/house/long.txt": "core/a.cc 600\n"}
        self.assertEqual(len(complaints("lengths", stale)), 1)

    def test_columns_of_headers(self):
        wide = "// " + "word " * 19 + "abc"  # 101 columns
        found = complaints("lengths", {"core/a.h": f"#pragma once\n{wide}\n{wide[:-1]}\n"})
        self.assertEqual(found, ["core/a.h:2: 101 columns, at most 100: wrap it"])
        self.assertEqual(len(complaints("lengths", {"tools/demo_edge/a.h": f"int a;  {wide}\n"})), 1)
        umlauts = "// " + "wörd " * 19 + "ab"  # 100 columns in 119 bytes
        for line in (umlauts, "// https://" + "x" * 100, '#include "core/' + "x" * 100 + '.h"'):
            self.assertEqual(complaints("lengths", {"core/a.h": line + "\n"}), [], line)
        for path in ("core/a.cc", "tests/core/a.h"):
            self.assertEqual(complaints("lengths", {path: wide + "\n"}), [], path)


class Limits(unittest.TestCase):
    def test_unused(self):
        limits = "inline constexpr std::size_t kOne = 1;\ninline constexpr int kTwo = 2;\n"
        used = "bool f(int x) { return x > limits::kOne; }"
        found = complaints("limits", {"core/limits.h": limits, "core/a.cc": used})
        self.assertEqual(found, ["core/limits.h:2: kTwo is enforced nowhere"])
        only_tests = {"core/limits.h": limits, "core/a.cc": used, "tests/a.cc": "limits::kTwo"}
        self.assertEqual(len(complaints("limits", only_tests)), 1)


class Monitoring(unittest.TestCase):
    GOOD = {
        "server/metrics/a.cc": 'out.gauge("subak_a", "A."); histogram(registry_, "subak_b_seconds", "B.")',
        "docs/metrics.md": "| `subak_a` {x} | a |\n| `subak_b_seconds` | b |\n",
        "docs/alerts.md": "### SubakA\n",
        "deploy/prometheus/rules.yml": "  - record: subak:b:p99\n    expr: f(subak_b_seconds_bucket)\n",
        "deploy/prometheus/alerts.yml": "      - alert: SubakA\n        expr: subak_a > 1 or subak:b:p99 > 1\n"
        "        annotations:\n          runbook: docs/alerts.md#subaka\n",
        "tests/deploy/alerts_test.yml": "labels: '{alertname=\"SubakA\"}' " 'ALERTS{alertname="SubakA", alertstate="firing"}',
        "deploy/grafana/a.json": '{"templating": {"list": []}, "panels": [{"type": "stat", "title": "A", "description":'
        ' "a", "fieldConfig": {"defaults": {"unit": "s"}}, "targets": [{"expr": "subak_a"}]}]}',
    }

    def changed(self, path, old, new):
        self.assertIn(old, self.GOOD[path])
        return complaints("monitoring", {**self.GOOD, path: self.GOOD[path].replace(old, new)})

    def test_each_mistake(self):
        self.assertEqual(complaints("monitoring", self.GOOD), [])
        for path, old, new in (
            ("deploy/grafana/a.json", "subak_a", "subak_c"),
            ("deploy/grafana/a.json", '"description": "a"', '"description": ""'),
            ("deploy/grafana/a.json", '"unit": "s"', '"unit": ""'),
            ("deploy/prometheus/rules.yml", "subak_b_seconds_bucket", "subak_b_bucket"),
            ("deploy/prometheus/alerts.yml", "subak:b:p99", "subak:c:p99"),
            ("deploy/prometheus/alerts.yml", "#subaka", "#subakb"),
            ("docs/alerts.md", "### SubakA", "### SubakB"),
            ("tests/deploy/alerts_test.yml", 'labels: ', ""),
            ("tests/deploy/alerts_test.yml", ', alertstate="firing"', ""),
            ("docs/metrics.md", "| `subak_a` {x} | a |\n", ""),
            ("docs/metrics.md", "subak_b_seconds", "subak_c"),
        ):
            self.assertNotEqual(self.changed(path, old, new), [], (path, old))


class Paths(unittest.TestCase):
    def test_homes(self):
        for path in ("/ho" + "me/ana/x", "/ro" + "ot/x"):
            self.assertEqual(len(complaints("paths", {"core/a.cc": f'"{path}"'})), 1, path)
        self.assertEqual(complaints("paths", {"core/a.cc": '"/var/lib/subak" "a/work/b"'}), [])


class Workflow(unittest.TestCase):
    def of(self, *lines):
        text = "\n".join(("matrix:", "  target: [test, lint]", "steps:") + lines)
        files = {".github/workflows/ci.yml": text, "Makefile": "test: build\n\tctest\nlint:\n"}
        return complaints("workflow", files)

    def test_targets(self):
        self.assertEqual(self.of("  - run: make test"), [])
        self.assertEqual(self.of("  - run: make ${{ matrix.target }}"), [])
        self.assertEqual(len(self.of("  - run: make tests")), 1)
        self.assertEqual(len(self.of("  - run: make test", "    run: ctest -j8")), 1)
        self.assertEqual(len(self.of("  - uses: actions/checkout@v4")), 1)
        self.assertEqual(len(self.of("  - run: make test && curl x")), 1)
        self.assertEqual(len(self.of("  - run: |", "      make test")), 2)


class Rooms(unittest.TestCase):
    CODE = {"queue/a.h": '#include "core/b.h"\n', "core/b.h": "\n"}

    def test_says_what_it_uses(self):
        fine = {"core/README.md": "# core: x\n\nUses: nothing of this tree\n", "queue/README.md": "# q\n\nUses: `core`\n"}
        self.assertEqual(complaints("rooms", {**self.CODE, **fine}), [])
        wrong = {**fine, "queue/README.md": "# q\n\nUses: `core`, `model`\n"}
        self.assertEqual(len(complaints("rooms", {**self.CODE, **wrong})), 1)
        twice = {**fine, "queue/README.md": "# q\n\nUses: `core`\n\nUses: `core`\n"}
        self.assertEqual(len(complaints("rooms", {**self.CODE, **twice})), 1)
        no_heading = {**fine, "queue/README.md": "#q\n\nUses: `core`\n"}
        self.assertEqual(len(complaints("rooms", {**self.CODE, **no_heading})), 1)
        self.assertEqual(len(complaints("rooms", self.CODE)), 2)
        long = {**fine, "core/README.md": "# x\n" * 10 + "Uses: nothing of this tree\n"}
        self.assertEqual(len(complaints("rooms", {**self.CODE, **long})), 1)

    def test_no_circle(self):
        circle = {**self.CODE, "core/b.h": '#include "queue/a.h"\n'}
        found = complaints("rooms", circle)
        self.assertEqual(found, ["a circle of rooms: core uses queue uses core"])

    def test_the_drawing_is_that_of_the_includes(self):
        import rooms

        graph = {"core": set(), "queue": {"core"}, "engine": {"core", "queue"}}
        self.assertEqual(rooms.floors(graph), [["core"], ["queue"], ["engine"]])
        self.assertEqual(rooms.reduced(graph)["engine"], {"queue"})
        drawn = rooms.drawing(graph)
        self.assertEqual(drawn.count("<line"), 2)
        self.assertNotEqual(drawn, rooms.drawing({**graph, "queue": set()}))


class Links(unittest.TestCase):
    def test_leads_to_a_file_and_a_heading(self):
        docs = {
            "docs/a.md": "# One `thing`, two\n\n## Again\n\n## Again\n",
            "README.md": "[a](docs/a.md#one-thing-two) [b](docs/a.md#again-1) [c](#here) [d](https://x.y)\n\n# Here\n",
        }
        self.assertEqual(complaints("links", docs), [])
        for wrong in ("[x](docs/b.md)", "[x](docs/a.md#two)", "![x](img/x.svg)", "[x](#there)"):
            found = complaints("links", {**docs, "docs/c.md": f"text\n\n{wrong}\n"})
            self.assertEqual(len(found), 1, wrong)
            self.assertTrue(found[0].startswith("docs/c.md:3: "), found)
        self.assertEqual(complaints("links", {"docs/c.md": "```\n[x](nowhere)\n```\n`[x](nowhere)`\n"}), [])


if __name__ == "__main__":
    unittest.main()
