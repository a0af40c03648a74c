"""Self-tests of the checks whose counts may only fall, and of the figures; selftest.py runs them."""

import importlib
import os
import re
import subprocess
import sys
import unittest

from samples import complaints, lowered, made, measured
from source import Tree


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
        "beats our own", "kept for ever", "[a](docs/whom)", "core/must.h",
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
        for allowed, wrong in (
            ("A 41 16 # why", 0),
            ("A 41 16 #", 1),
            ("A 41 16", 1),
            ("A 40 16 # why", 1),
            ("A 42 16 # why", 1),
            ("A 41 17 # why\nB 50 - # why", 2),
        ):
            files = {**big(41, 16), "tools/house/classes.txt": allowed}
            self.assertEqual(len(complaints("classes", files)), wrong, allowed)
        files = {**big(41, 9), "tools/house/classes.txt": "A 50 20 # why"}
        self.assertEqual(lowered("classes", files), (["A 41 - # why"], []))

    def test_attributes_of_locks(self):
        text = """
            class SUBAK_THREAD_ATTRIBUTE(capability("mutex")) A {
              int f() SUBAK_REQUIRES(m_) { return a_; }
              Mutex m_;
              int a_ SUBAK_GUARDED_BY(m_) = 0;
              std::vector<int> b_ SUBAK_GUARDED_BY(m_);
            };
        """
        self.assertEqual(measured("classes", {"net/a.h": text}), {"A": (1, 3)})


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


class Wishes(unittest.TestCase):
    TABLE = {
        "model/gang_terms.h": "Wish<bool>{.member = &GangTerms::balanced, .x},\nWish<int>{\n"
        "    .member = &GangTerms::spare}\nstruct GangTerms { bool balanced; int spare; };\n"
    }

    def count(self, path, text):
        return measured("wishes", {**self.TABLE, path: text})["spare"][0] - 1

    def test_what_names_a_wish(self):
        for text in ("n.spare = 1;", "out.set_spare(1);", "f(&GangTerms::spare);", 'f("subak.gpu/spare");'):
            self.assertEqual(self.count("queue/a.cc", text), 1, text)
        for text in ("// a spare node", "int spare_nodes;", 'f("a spare node");', "reset_spare(n);"):
            self.assertEqual(self.count("queue/a.cc", text), 0, text)
        self.assertEqual(self.count("tests/queue/a.cc", "n.spare = 1;"), 0)
        self.assertEqual(self.count("proto/subak/v1/a.proto", "  int32 spare = 7;"), 1)
        self.assertEqual(self.count("proto/subak/v1/a.proto", "  // spare = 7;"), 0)
        self.assertEqual(measured("wishes", {"core/a.h": "int spare;"}), {})

    def test_ratchet(self):
        def named(count):
            return {**self.TABLE, **{f"queue/a{i}.cc": "n.spare = 1;" for i in range(count - 1)}}

        self.assertEqual(complaints("wishes", named(10)), [])
        found = complaints("wishes", named(11))
        self.assertEqual(len(found), 1)
        self.assertTrue(found[0].startswith("spare: 11 files, at most 10: "), found)
        for allowed, wrong in (("spare 11", 0), ("spare 12", 1), ("spare 10", 1)):
            self.assertEqual(len(complaints("wishes", {**named(11), "tools/house/wishes.txt": allowed})), wrong)


class Draw(unittest.TestCase):
    def test_a_seed_draws_the_same(self):
        draw = importlib.import_module("draw")
        lines = [f"The number {i} is one of a hundred numbers.\n\n" for i in range(100)]
        files = {"README.md": "".join(lines), "core/a.h": "// The pod waits for its node in here.\nint a;\n"}
        with made(files) as tree:
            rows, headers, pages = draw.drawn(tree, 7, (9, 10, 5))
            again = draw.drawn(tree, 7, (9, 10, 5))
            other = draw.drawn(tree, 8, (9, 10, 5))
        self.assertEqual((rows, headers, pages), again)
        self.assertNotEqual(rows, other[0])
        self.assertEqual(rows[0], ("core/a.h:1", "The pod waits for its node in here."))
        self.assertEqual((len(rows), headers, pages), (1 + 3, ["core/a.h"], []))


class Figures(unittest.TestCase):
    def figure(self, name, files):
        with made(files) as tree:
            return getattr(importlib.import_module("figures"), name)(tree)

    def test_promises(self):
        text = (
            'void must(bool ok);\nstd::optional<Error> check(int a) { return check(a, 1); }\nvoid f(A a) {\n'
            '  must(a, "x");\n  if (a) assert(a.check());\n  for (;;) { check(a, ""); }\n  a.check(); n::check(a);\n}\n'
        )
        found = self.figure("promises", {"queue/a.cc": text, "core/a.cc": text, "engine/b/a.h": text})
        self.assertEqual(found, {"accounting": (0, 0), "model": (0, 0), "placement": (0, 0), "queue": (2, 3), "engine": (2, 3)})

    def test_lines(self):
        header = "// a\n//\nint a;  // b\n\nint b;\nint c;  /* c */\n"
        files = {"core/a.h": header, "core/a.cc": header, "tests/a.h": header, "tools/a.h": header}
        self.assertEqual(self.figure("comment_lines", files), (6, 2, 4))
        self.assertEqual(self.figure("lines", files), {"core": (2, 12), "tests": (1, 6), "tools": (1, 6)})

    def test_wishes(self):
        files = {**Wishes.TABLE, "core/a.h": "bool balanced; int spare;", "tests/a.cc": "int spare;"}
        self.assertEqual(self.figure("wishes_named", files), {"balanced": 2, "spare": 2, "any": 2})
        self.assertEqual(self.figure("wishes_named", {"core/a.h": "int spare;"}), {"any": 0})

    def test_prose_by_area(self):
        files = {"docs/design/a.md": "anew", "docs/a.md": "anew", "core/a.h": "// anew", "core/b.cc": "// anew"}
        expected = {"docs/design": (0, 0, 1), "docs": (0, 0, 1), "core": (0, 0, 2)}
        self.assertEqual(self.figure("prose_by_area", files), expected)

    def test_all_of_it_is_printed(self):
        for files in ({"core/a.h": "class A {};\n"}, {"x": ""}):
            with made(files) as tree:
                done = subprocess.run(
                    [sys.executable, os.path.join(os.path.dirname(os.path.abspath(__file__)), "figures.py"),
                     "--root", tree.root], capture_output=True, check=True, text=True,
                )  # fmt: skip
                self.assertEqual(done.stdout.count("\n\n"), 6, done.stdout)
