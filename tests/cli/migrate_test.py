#!/usr/bin/env python3
"""subak migrate tree: its files on a real service, and Slurm's factors of trees that were written as dumps.

Usage: migrate_test.py PATH_TO_SUBAK PATH_TO_SUBAKD

The factors are those of a real slurmctld, from the folder SUBAK_GOLDEN, else ../shared/golden beside the source.
Without that folder, the tests of factors skip.
"""

import glob
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import unittest

SUBAK, SUBAKD = (os.path.abspath(path) for path in (sys.argv.pop(1), sys.argv.pop(1)))
HERE = os.path.dirname(os.path.abspath(__file__))
DATA = os.path.join(HERE, "data", "migrate")
GOLDEN = os.environ.get("SUBAK_GOLDEN") or os.path.join(HERE, "..", "..", "..", "shared", "golden")
DEADLINE_S = 120  # generous: other work may share the machine
PORTS = ("--listen-webhook", "127.0.0.1:0", "--listen-grpc", "127.0.0.1:0", "--listen-http", "127.0.0.1:0")
FILES = ("university.dump", "company.dump", "portal.dump", "cohorts.yaml", "single.yaml", "listed.json")
ROW = re.compile(r"- \{path: \"?([^,\"]+)\"?, shares: (\d+)")


def run(*arguments, server="", stdin=""):
    return subprocess.run(
        [SUBAK, *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        env={**os.environ, "SUBAK_SERVER": server},
        check=False,
    )


def migrated(*files):
    done = run("migrate", "tree", *files)
    assert done.returncode == 0, done.stderr
    return done.stdout


def label(path):
    return re.split(r"[./]", path)[-1]


class OnService(unittest.TestCase):
    """Each test has an empty service."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.server = ""

    def start(self, config):
        path = os.path.join(self.folder.name, "subak.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write("apiVersion: subak.gpu/v1\nkind: Configuration\n" + config)
        state = os.path.join(self.folder.name, "subak.db")
        process = subprocess.Popen(
            [SUBAKD, "--config", path, "--state", state, *PORTS],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        ports = dict(re.findall(r"(\w+)=([\d.]+:\d+)", process.stdout.readline()))
        self.assertIn("grpc", ports, config)
        self.server = ports["grpc"]
        self.addCleanup(process.communicate, timeout=DEADLINE_S)
        self.addCleanup(process.send_signal, signal.SIGTERM)

    def ok(self, *arguments, stdin=""):
        done = run(*arguments, server=self.server, stdin=stdin)
        self.assertEqual(done.returncode, 0, f"{arguments}: {done.stdout}{done.stderr}")
        return done.stdout

    def apply(self, name):
        text = migrated(os.path.join(DATA, name))
        block = re.search(r"# For the configuration of subakd.*?\n((?:#   .*\n)+)", text)
        self.start(re.sub(r"^#   ", "", block.group(1), flags=re.M) if block else "")
        rows = text.count("\n- {path: ")
        self.assertGreater(rows, 0)
        apply = "account", "apply", "-f", "-", "--reason", "migration"
        self.assertIn(f"{rows} account", self.ok(*apply, "--dry-run", stdin=text))
        self.assertIn(f"{rows} account", self.ok(*apply, stdin=text))
        # The service has what the file says: nothing is left to change.
        self.assertEqual(self.ok("account", "diff", "-f", "-", stdin=text), "")
        return text


for each in FILES:

    def check(self, name=each):
        self.apply(name)

    setattr(OnService, "test_" + each.replace(".", "_"), check)


class Files(unittest.TestCase):
    def test_two_clusters_get_an_account_each(self):
        text = migrated(os.path.join(DATA, "company.dump"), os.path.join(DATA, "university.dump"))
        self.assertIn("\n- {path: forge, shares: 1, limit: gpu=512}", text)
        self.assertIn("\n- {path: forge.research.vision, ", text)
        self.assertIn("\n- {path: hilltop.physics.lattice/mara, ", text)

    def test_a_flavor_may_be_in_another_file(self):
        flavor = (
            "apiVersion: kueue.x-k8s.io/v1beta1\nkind: ResourceFlavor\nmetadata: {name: a100}\n"
            "spec: {nodeLabels: {nvidia.com/gpu.product: NVIDIA-A100-SXM4-80GB-MIG-1g.10gb}}\n"
        )
        done = run("migrate", "tree", os.path.join(DATA, "listed.json"), "-", stdin=flavor)
        self.assertIn("quota: NVIDIA-A100-SXM4-80GB=9", done.stdout)
        self.assertNotIn("do not have this flavor", done.stdout)

    def test_a_million_lines_are_refused(self):
        with tempfile.NamedTemporaryFile("w", suffix=".dump") as file:
            file.write("Cluster - 'c'\nParent - 'root'\n" + "Account - 'a'\n#\n" * 1 + "#\n" * 1000000)
            file.flush()
            done = run("migrate", "tree", file.name)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn(":500001: want at most 500000 lines\n  -> ", done.stderr)

    def test_a_cut_dump_is_refused_or_reported_wherever_it_ends(self):
        with open(os.path.join(DATA, "university.dump"), encoding="utf-8") as file:
            text = file.read()
        whole = text.count("\n")
        refused = 0
        for end in range(len(text) - 400, len(text), 7):
            done = run("migrate", "tree", "-", stdin=text[:end])
            if done.returncode == 2:
                refused += 1
                self.assertEqual(done.stdout, "")
                self.assertRegex(done.stderr, r"^subak: standard input:\d+: .*want .*\n  -> ")
            elif text[end - 1] != "\n":
                self.assertIn("Look whether the dump is complete.", done.stdout, f"{end} of {whole} lines")
        self.assertGreater(refused, 20)


def dump_of(tree):
    """The tree of a golden case, as sacctmgr dump writes it: parents before their children."""
    children = {}
    for row in sorted(tree, key=lambda row: row["order"]):
        children.setdefault(row["account"] if row["user"] else row["parent"], []).append(row)
    lines = ["Cluster - 'golden':Fairshare=1:QOS='normal'"]
    parents = ["root"]
    for parent in parents:
        lines.append(f"Parent - '{parent}'")
        for row in children.get(parent, ()):
            shares = 2147483647 if row["shares"] == "parent" else row["shares"]
            kind, name = ("User", row["user"]) if row["user"] else ("Account", row["account"])
            lines.append(f"{kind} - '{name}':Fairshare={shares}")
            if not row["user"]:
                parents.append(name)
    return "\n".join(lines) + "\n"


def tree_of_account_file(text):
    """The rows of an account file, in the form of sim share."""
    tree = [{"account": "root", "user": None, "parent": None, "shares": 1}]
    tree.append({"account": "root", "user": "root", "parent": "root", "shares": 1})
    for path, shares in ROW.findall(text):
        account, _, user = path.partition("/")
        parent = account if user else account.rpartition(".")[0]
        row = {"account": label(account), "user": user or None, "parent": label(parent) or "root"}
        tree.append({**row, "shares": int(shares)})
    return tree


@unittest.skipUnless(os.path.isdir(GOLDEN), f"no reference figures at {GOLDEN}; set SUBAK_GOLDEN")
class Factors(unittest.TestCase):
    def cases(self):
        paths = sorted(glob.glob(os.path.join(GOLDEN, "[0-9]*.json")))
        self.assertGreaterEqual(len(paths), 14)
        for path in paths:
            with open(path, encoding="utf-8") as file:
                case = json.load(file)
            yield case, 1e-7 if case["name"].startswith("13") else 1e-9

    def factors(self, case, tree):
        """Slurm's factors of the tree with the usage of the case, by account and user."""
        known = {(row["account"], row["user"]): row for row in case["tree"]}
        for row in tree:
            if not row["user"] and row["parent"] == "root" and ("root", row["account"]) in known:
                row["account"], row["user"] = "root", row["account"]  # a user of the root is an account here
            source = known[row["account"], row["user"]]
            row["raw_usage"], row["order"] = source["raw_usage"], source["order"]
        self.assertEqual(len(tree), len(known))
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump({"tree": tree, "dampening": case.get("dampening")}, file)
            file.flush()
            policy = "fair-tree" if case["algorithm"] == "fair_tree" else "classic"
            done = run("sim", "share", file.name, "--policy", policy, "--output", "json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return {(row["account"], row["user"] or None): row for row in json.loads(done.stdout)["rows"]}

    def compare(self, case, got, tolerance):
        for want in case["expected"]:
            name = want["account"], want["user"]
            if name == ("root", None):
                continue
            merged = want.get("fairshare_if_tied_accounts_were_merged")
            want = {**want, "fairshare": want["fairshare"] if merged is None else merged}
            for field in ("norm_shares", "effective_usage", "level_fs", "fairshare"):
                value = want[field]
                if isinstance(value, (int, float)):
                    self.assertLessEqual(
                        abs(got[name][field] - value), tolerance * abs(value), f"{name} {field}"
                    )
                elif value is not None:
                    self.assertEqual(got[name][field], value, f"{name} {field}")

    def test_the_tree_as_json_has_the_golden_factors(self):
        for case, tolerance in self.cases():
            text = run("migrate", "tree", "-", "--output", "json", stdin=dump_of(case["tree"])).stdout
            tree = json.loads(text)["tree"]
            for row in tree:
                names = {"(root)": "root", None: None}
                row["account"] = names.get(row["account"]) or label(row["account"])
                row["parent"] = names[row["parent"]] if row["parent"] in names else label(row["parent"])
            with self.subTest(case["name"]):
                self.compare(case, self.factors(case, tree), tolerance)

    def test_the_account_file_has_the_golden_factors(self):
        compared = 0
        for case, tolerance in self.cases():
            if any(row["shares"] == "parent" for row in case["tree"]):
                continue  # Subak has no such shares; the next test
            text = run("migrate", "tree", "-", stdin=dump_of(case["tree"])).stdout
            with self.subTest(case["name"]):
                self.compare(case, self.factors(case, tree_of_account_file(text)), tolerance)
            compared += 1
        self.assertGreaterEqual(compared, 12)

    def test_children_of_a_parent_account_keep_their_part(self):
        compared = 0
        for case, tolerance in self.cases():
            above = {
                row["account"] for row in case["tree"] if not row["user"] and row["shares"] == "parent"
            }
            if not above or case["algorithm"] != "classic":
                continue
            users_with_parent = {row["account"] for row in case["tree"] if row["user"] and row["shares"] == "parent"}
            text = run("migrate", "tree", "-", stdin=dump_of(case["tree"])).stdout
            got = self.factors(case, tree_of_account_file(text))
            for want in case["expected"]:
                if want["account"] not in above - users_with_parent or not want["user"]:
                    continue
                value = got[want["account"], want["user"]]["norm_shares"]
                self.assertLessEqual(abs(value - want["norm_shares"]), tolerance * want["norm_shares"])
                compared += 1
        self.assertGreaterEqual(compared, 1)


if __name__ == "__main__":
    unittest.main()
