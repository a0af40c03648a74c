#!/usr/bin/env python3
"""Each house check must find the mistake that it is for, and nothing in the same code without it."""

import contextlib
import importlib
import os
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from source import Tree, strip  # noqa: E402


@contextlib.contextmanager
def made(files):
    with tempfile.TemporaryDirectory() as root:
        for path, text in files.items():
            full = os.path.join(root, path)
            os.makedirs(os.path.dirname(full), exist_ok=True)
            with open(full, "w", encoding="utf-8") as file:
                file.write(text)
        yield Tree(root)


def complaints(check, files):
    with made(files) as tree:
        return list(importlib.import_module(check).run(tree))


def measured(check, files):
    with made(files) as tree:
        return importlib.import_module(check).measure(tree)


def lowered(check, files):
    """The list that `check.py --ratchet` makes, without its first line, and what it complains of."""
    module = importlib.import_module(check)
    with made({"tools/house/x": "", **files}) as tree:
        found = list(module.LIST.lower(tree, module.measure(tree)))
        with open(os.path.join(tree.root, module.LIST.path), encoding="utf-8") as file:
            return file.read().splitlines()[1:], found


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
        self.assertEqual(complaints("purity", {"server/runtime/clock.cc": text}), [])
        self.assertEqual(complaints("purity", {"server/api/a.cc": "// clock: gRPC's deadline\n" + text}), [])
        self.assertNotEqual(complaints("purity", {"core/a.cc": "// clock: no\n" + text}), [])
        self.assertEqual(complaints("purity", {"server/api/a.cc": "throw std::bad_alloc();"}), [])


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
        "docs/operations.md": "### SubakA\n",
        "deploy/prometheus/rules.yml": "  - record: subak:b:p99\n    expr: f(subak_b_seconds_bucket)\n",
        "deploy/prometheus/alerts.yml": "      - alert: SubakA\n        expr: subak_a > 1 or subak:b:p99 > 1\n"
        "        annotations:\n          runbook: docs/operations.md#subaka\n",
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
            ("docs/operations.md", "### SubakA", "### SubakB"),
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


class Prose(unittest.TestCase):
    WORDS = "Subak gives " + "some " * 28  # 30 words

    def counts(self, path, text):
        return measured("prose", {path: text})[path]

    def test_columns(self):
        wide = "word " * 20 + "w"
        for path in ("README.md", "docs/design/a.md"):
            self.assertEqual(self.counts(path, f"{wide}\n{wide[1:]}\n")[0], 1)
        for text in (f"| {wide} |", f"```\n{wide}\n```", "- https://" + "x" * 100, "x" * 101):
            self.assertEqual(self.counts("docs/a.md", text)[0], 0, text)
        self.assertEqual(measured("prose", {"tests/README.md": wide}), {})

    def test_sentences(self):
        fine = self.WORDS.strip()
        for text in (
            f"{fine}.",
            f"{fine}. {fine}!\n{fine}?",
            f"{fine}:\n\n- {fine}\n- {fine}",
            f"# {fine}\n{fine}",
            f"| {fine} | {fine} |",
            f"```\n{fine} {fine}\n```",
            fine.replace("some", "`a b c`") + ".",
            f"*{fine}.* {fine}",
            f"{fine} + = —",
        ):
            self.assertEqual(self.counts("docs/a.md", text)[1], 0, text)
        split = fine.replace(" ", "\n")
        for text in (f"{fine} more.", f"{split}\nmore", f"{fine} e.g. more", f"- {fine}\n  more"):
            self.assertEqual(self.counts("docs/a.md", text)[1], 1, text)

    def test_sentences_of_headers(self):
        long = self.WORDS + "more."
        half = self.WORDS[:100]
        for text, count in (
            (f"// {long}", 1),
            (f"int a;  // {half}\n        // {half}", 1),
            (f"int a;  // {half}\nint b;  // {half}", 0),
            (f"// {half}\nint a;\n// {half}", 0),
            (f"// {half}\n//\n// {half}", 0),
            (f"// - {half}\n//   {half}", 1),
            (f"//   a  {half}\n//      {half}\n//   b  x\n// {half}", 1),
            (f"/* {half}\n * {half} */", 1),
            (f"// {half}\n//   +-----+ and +----+\n// {half}", 0),
        ):
            self.assertEqual(self.counts("core/a.h", text)[1], count, text)
            self.assertEqual(self.counts("core/a.cc", text)[1], 0)
        self.assertEqual(measured("prose", {"tests/core/a.h": f"// {long}"}), {})

    def test_sentences_of_help(self):
        half = self.WORDS[:100]
        text = f'c.flag("--a", f,\n "{half}"\n "{half}");'
        self.assertEqual(self.counts("cli/a.cc", text)[1], 1)
        self.assertEqual(self.counts("core/a.cc", text)[1], 0)
        for fine in (f'f("{half}", "{half}");', f'f("{half}:\\n  {half}");'):
            self.assertEqual(self.counts("cli/a.cc", fine)[1], 0, fine)

    BAD = (
        "the place is taken back", "it gives its place back", "a gang finds no place", "has its place",
        "holds are given back", "take quota back", "kept nodes", "nodes that are kept", "node is kept for a job",
        "it keeps nodes", "told start", "the start that it was told", "its odds", "an outlook", "the engine runs ahead",
        "what enforce would do", "it rehearses", "cards of what is seen", "a pod's cards", "the teller",
        "tells people", "nobody", "the core is told", "a word of the core", "an earlier word may", "a word that",
        "barred", "a bar", "turns such pods away", "light pods", "a beat", "accepts the loss", "known facts",
        "the door", "a log that is cut", "the surveyor", "dear reads", "a line of jobs", "out of its line",
        "a picture", "a gang that is whole", "must()", "fact or note", "Anew", "whoever", "whom", "somebody's",
        "thereby", "nodes\nthat are\nkept",
    )  # fmt: skip
    GOOD = (
        "nodes are reserved", "a line of the file", "it takes place in the order", "has its place in the order",
        "data loss", "a power cut", "GPU cards", "keeps its node", "told apart", "in words", "notes", "bars.cc",
        "Fleet::bars", "docs/door.md", "barred()", "the-door-x", "known", "whole GPUs", "`anew`", "`whoever\nwaits`",
        "beats our own", "[a](docs/whom)", "core/must.h",
    )  # fmt: skip

    def test_words(self):
        for text in self.BAD:
            for path, whole in (("docs/a.md", text), ("core/a.cc", f"// {text}".replace("\n", "\n// "))):
                self.assertGreaterEqual(self.counts(path, whole)[2], 1, whole)
        for text in self.GOOD:
            for path in ("docs/a.md", "core/a.cc", "proto/subak/v1/a.proto"):
                whole = text if path.endswith(".md") else f"// {text}".replace("\n", "\n// ")
                self.assertEqual(self.counts(path, whole)[2], 0, whole)

    def test_every_pattern_is_seen_to_match(self):
        prose = importlib.import_module("prose")
        for word, ours, _ in prose.WORDS:
            pattern = re.compile(ours.replace(" ", r"\s+"), re.I)
            self.assertTrue(any(word in t.lower() and pattern.search(t) for t in self.BAD), ours)

    def test_words_of_strings(self):
        for text, count in (
            ('f("done anew");', 1),
            ('f("done "\n  "anew");', 1),
            ('f("anew");', 0),
            ('int anew;', 0),
            ('auto a = R"x(done anew)x";', 0),
        ):
            self.assertEqual(self.counts("core/a.cc", text)[2], count, text)
        self.assertEqual(self.counts("docs/a.md", "nodes that are kept for it")[2], 1)

    def test_ratchet(self):
        files = {"docs/a.md": "Whoever asks anew.\n"}
        entry = "tools/house/prose.txt"
        self.assertEqual(len(complaints("prose", files)), 1)
        for was, wrong in (
            ("docs/a.md - - 2", 0),
            ("docs/a.md - - 1", 1),
            ("docs/a.md - - 3", 1),
            ("docs/b.md 1 - -", 2),
        ):
            self.assertEqual(len(complaints("prose", {**files, entry: was})), wrong, was)
        for was, now, rose in (
            ("docs/a.md 3 - 5\ndocs/b.md 1 - -\n", ["docs/a.md - - 2"], 0),
            ("docs/a.md - - 1\n", ["docs/a.md - - 1"], 1),
            ("", [], 1),
        ):
            self.assertEqual(lowered("prose", {**files, entry: was})[0], now)
            self.assertEqual(len(lowered("prose", {**files, entry: was})[1]), rose)
        self.assertEqual(lowered("prose", files), (["docs/a.md - - 2"], []))

    def test_a_renamed_file_takes_its_line_along(self):
        files = {"docs/a.md": "Whoever asks anew.\n", "tools/house/prose.txt": "docs/a.md - - 2\n"}
        with made(files) as tree:
            me = ["-c", "user.name=x", "-c", "user.email=x"]
            commit, move = [*me, "commit", "-qm", "x"], ["mv", "docs/a.md", "docs/b.md"]
            for args in (["init", "-q"], ["add", "-A"], commit, move):
                subprocess.run(["git", "-C", tree.root, *args], check=True)
            prose, tree = importlib.import_module("prose"), Tree(tree.root)
            self.assertEqual(list(prose.LIST.lower(tree, prose.measure(tree))), [])
            self.assertEqual(prose.LIST.read(tree), {"docs/b.md": (0, 0, 2)})


class Classes(unittest.TestCase):
    NONE = (
        "", "public:", "using X = std::function<void(int)>;", "typedef int (*F)(int);", "friend class B;",
        "friend bool operator==(const A&, const A&) = default;", "friend int f(A) { return 1; }",
        "enum class E : int { a, b };", "struct B;", "struct B { int a; void f(); };", 'static_assert(f(1), "");',
        "static constexpr int a = 3;", "static constexpr int a[] = {1, 2};", "inline static const int a = f();",
        "template <class T> using V = std::vector<T>;", "// int a;", "#define F(x) int x(int)\n", "using B::B;",
        "template <class T> friend void f(T);", "enum { a = 1 };",
    )  # fmt: skip
    METHOD = (
        "void f();", "int f(int a = g(1), int b = {}) const { if (a) { b(); } return 1; }", "A();", "~A();",
        "A(A&&) = delete;", "explicit A(int x) : x_(x), y_{g(x)}, z_(1) {}", "A() : B<int>{1} { f(); }",
        "explicit operator bool() const { return x; }", "bool operator==(const A&) const = default;",
        "A& operator<<(int);", "auto operator<=>(const A&) const;", "int operator()(int) const;",
        "int operator[](int);",
        "template <class F, int N = 3> bool f(F&& g) { return g(); }",
        "static int f(std::map<int, A> x);",
        "[[nodiscard]] auto f() const -> std::vector<int>;", "virtual void f() = 0;", "void f() && noexcept(true);",
        "std::function<void(int)> f(int);", "template <class T> requires (N<T>) void f();", "private:\n void f();",
        "MOCK_METHOD(int, f, (), (override));", "decltype(x) f();", "void f(); void f(int); void f(int) const {}",
        "std::pair<int, int> f(int (*g)(int), int h[3]);", "operator std::string() const;",
    )  # fmt: skip
    MEMBER = (
        "int a;", "int a = 3;", "int a{3};", "std::vector<int> a{1, 2};", "std::map<int, std::set<A>> a = {{1, 2}};",
        "int a : 3;", "bool a : 1 = false;", "int (*f)(int, int) = nullptr;", "void (A::*f)(int);",
        "std::function<void(int)> f;",
        "std::function<void(int)> f = [](int x) { g(x); };", "int a[3] = {};", "static int a;",
        "inline static bool a = false;",
        "const int a = f(1, 2);", "mutable std::mutex a;", "alignas(64) std::atomic<int> a{0};", "const char* const a;",
        "std::array<int, N::names.size()> a{};", "enum E { x } a;", "struct { int x, y; } a;", "A* a = new A(1);",
        "decltype(f(1)) a;", "[[maybe_unused]] int a = 1 << 3;", "int (&a)[3];", "protected: int a;",
        "std::unique_ptr<struct B> a;", "bool a = b < c;",
    )  # fmt: skip

    def of(self, *declarations):
        body = "\n".join(declarations)
        text = f"namespace n {{\nclass A final : public B<int> {{\n{body}\n}};\n}}\n"
        return measured("classes", {"core/a.h": text})["n::A"]

    def test_kinds(self):
        for kinds, count in ((self.NONE, (0, 0)), (self.METHOD, (1, 0)), (self.MEMBER, (0, 1))):
            for text in kinds:
                self.assertEqual(self.of(text), count, text)
                self.assertEqual(self.of("int x;", text, "void y();"), (count[0] + 1, count[1] + 1), text)
        self.assertEqual(self.of("int a = 1, b{2}, *c;", "unsigned d : 1, e : 2;"), (0, 5))
        self.assertEqual(self.of("A();", "~A();", "A& operator=(A&);", "bool operator<(A);", "A operator>(A);"), (5, 0))

    def test_names(self):
        text = """namespace a::b {
        namespace { struct C { int x; struct D { int y, z; void f() { struct L { int l; }; } }; void g(); }; }
        template <class T> struct E { T t; };
        template <> struct E<int> : F { int t, u; };
        }  // namespace
        extern "C" { enum class G : int { x }; union H { int a; float b; }; }
        struct a::b::C::I { int i; };
        void f(struct J j) { class K { int k; } k; }
        """
        self.assertEqual(
            measured("classes", {"core/a.cc": text}),
            {"a::b::C": (1, 1), "a::b::C::D": (1, 2), "a::b::C::D::L": (0, 1), "a::b::E": (0, 2), "H": (0, 2),
             "a::b::C::I": (0, 1), "K": (0, 1)},
        )  # fmt: skip

    def test_ratchet(self):
        def big(methods, members):
            rows = [f" void f{i}() {{}}" for i in range(methods)] + [f" int a{i} = 1;" for i in range(members)]
            return {"core/a.h": "class A {\n" + "\n".join(rows) + "\n};\n"}

        self.assertEqual(complaints("classes", big(40, 15)), [])
        self.assertEqual(complaints("classes", big(41, 15)), ["A: 41 methods, at most 40: split the class"])
        self.assertEqual(len(complaints("classes", big(41, 16))), 2)
        for allowed, wrong in (("A 41 16", 0), ("A 40 16", 1), ("A 42 16", 1), ("A 41 17\nB 50 -", 2)):
            self.assertEqual(len(complaints("classes", {**big(41, 16), "tools/house/classes.txt": allowed})), wrong)
        self.assertEqual(lowered("classes", {**big(41, 9), "tools/house/classes.txt": "A 50 20"}), (["A 41 -"], []))


class Folders(unittest.TestCase):
    def test_files(self):
        def full(folder, files):
            return {f"{folder}/a{i}.{('h', 'cc')[i % 2]}": "" for i in range(files)}

        below = {**full("core", 20), **full("core/b", 20), "core/a.py": "", "core/CMakeLists.txt": ""}
        self.assertEqual(measured("folders", below), {"core": (20,), "core/b": (20,)})
        self.assertEqual(complaints("folders", {**below, **full("core", 25)}), [])
        self.assertEqual(
            complaints("folders", full("tests/core", 26)), ["tests/core: 26 files, at most 25: split it by subject"]
        )
        for allowed, wrong in (("core 26", 0), ("core 27", 1), ("core 25", 1)):
            files = {**full("core", 26), "tools/house/folders.txt": allowed}
            self.assertEqual(len(complaints("folders", files)), wrong)
        more = {**full("core", 28), "tools/house/folders.txt": "core 26\n"}
        rose = "core: 28 files, was 26 and may only fall: split it by subject"
        self.assertEqual(lowered("folders", more), (["core 26"], [rose]))


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


if __name__ == "__main__":
    unittest.main()
