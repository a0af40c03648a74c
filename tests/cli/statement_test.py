#!/usr/bin/env python3
"""Statements of a store that is in the tree, computed again from the ledger's CSV by tools/check_statement.

Usage: statement_test.py PATH_TO_SUBAK PATH_TO_SUBAKD
"""

import calendar
import contextlib
import csv
import io
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "server"))
import pg_server  # noqa: E402

SUBAK, SUBAKD = (os.path.abspath(path) for path in (sys.argv.pop(1), sys.argv.pop(1)))
TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CHECK = os.path.join(TREE, "tools", "check_statement")
DEADLINE_S = 120  # generous: other work may share the machine
LISTEN = "--listen-webhook", "127.0.0.1:0", "--listen-grpc", "127.0.0.1:0", "--listen-http", "127.0.0.1:0"


def ms_of(stamp):
    """The time of a JSON timestamp in ms since 1970."""
    seconds, _, rest = stamp.rstrip("Z").partition(".")
    whole = calendar.timegm(time.strptime(seconds, "%Y-%m-%dT%H:%M:%S"))
    return whole * 1000 + int((rest + "000")[:3])


def seconds_of(amount):
    return int(amount.get("gpuSeconds", 0)) + int(amount.get("restMilligpuMs", 0)) / 1e6


class StatementTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.state = state = os.path.join(cls.folder.name, "subak.db")
        shutil.copy(os.path.join(TREE, "tests", "golden", "store", "v1.db"), state)
        command = SUBAKD, "--state", state, *LISTEN
        cls.child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        cls.server = dict(re.findall(r"(\w+)=([\d.]+:\d+)", cls.child.stdout.readline()))["grpc"]
        rows = list(csv.DictReader(io.StringIO(cls.subak("usage", "ledger", "--limit", "0", "--output", "csv"))))
        cls.month = rows[0]["FROM"][:7]
        cls.rows = [row for row in rows if row["FROM"][:7] == cls.month]
        cls.payer = next(row["PAYER"].split("/")[0] for row in cls.rows if not row["PAYER"].startswith("("))

    @classmethod
    def tearDownClass(cls):
        cls.child.kill()
        cls.child.communicate()
        cls.folder.cleanup()

    @classmethod
    def run_subak(cls, *arguments):
        command = SUBAK, "--server", cls.server, *arguments
        return subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE_S, check=False)

    @classmethod
    def subak(cls, *arguments):
        done = cls.run_subak(*arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def path(self, name, text):
        path = os.path.join(self.folder.name, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def next_month(self):
        year, month = map(int, self.month.split("-"))
        return f"{year + month // 12}-{month % 12 + 1:02}-01"

    def entries(self, account):
        window = "--from", f"{self.month}-01", "--to", self.next_month(), "--limit", "0"
        of = ("--account", account) if account else ()
        return self.subak("usage", "ledger", *of, *window, "--output", "csv")

    def check(self, statement, entries):
        files = self.path("statement.json", statement), self.path("entries.csv", entries)
        return subprocess.run([CHECK, *files], capture_output=True, text=True, timeout=DEADLINE_S, check=False)

    def prices(self):
        """Two prices in the month, for each product; the second begins on the second day that has an entry."""
        days = sorted({row["FROM"][:10] for row in self.rows})
        return self.path("prices.yaml", "currency: EUR\ngpus:\n- {from: 2020-01-01, product: gpu, perHour: 2.37}\n"
                         f"- {{from: {days[-1]}, product: gpu, perHour: 1.013}}\n")  # fmt: skip

    def test_share_over_time_is_the_share_of_each_moment(self):
        ledger = list(csv.DictReader(io.StringIO(self.subak("usage", "ledger", "--limit", "0", "--output", "csv"))))
        # The second time that jobs started: rows that go on begin at midnight.
        begin = next(row["FROM"] for row in ledger if row["FROM"][:10] > ledger[0]["FROM"][:10] and row["FROM"][11:16] != "00:00")
        end = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(ms_of(begin) / 1000 + 3600))
        period = "--from", begin, "--to", end, "--step", "5m"
        rows = [json.loads(line) for line in self.subak("share", self.payer, *period, "--output", "json").splitlines()]
        self.assertGreater(len(rows), 3)
        self.assertEqual(ms_of(rows[-1]["time"]), ms_of(end))
        for row, after in zip(rows, rows[1:]):
            self.assertLess(ms_of(row["time"]), ms_of(after["time"]), "the rows are in order")
            self.assertEqual(ms_of(row["time"]) % 300_000, 0, "a whole step")
        self.assertGreater(len({json.dumps(row["rows"]) for row in rows}), 3, "they are of different moments")
        for row in rows[:: max(1, len(rows) // 10)]:
            alone = json.loads(self.subak("share", self.payer, "--at", row["time"], "--output", "json"))
            self.assertEqual(row["rows"], alone["rows"][:1], row["time"])
        table = self.subak("share", self.payer, *period)
        self.assertEqual(len(table.splitlines()), 1 + len(rows))
        self.assertIn("RECENT USE", table)
        # Moments before the first fact have no row.
        early = self.subak("share", self.payer, "--from", "2001-01-01", "--to", begin, "--step", "30d")
        self.assertLessEqual(len(early.splitlines()), 2)

    def test_share_over_time_refuses_what_it_cannot_show(self):
        for arguments, code, words in (
            (("--from", "7d", "--at", "5"), 2, "--at and --watch"),
            (("--from", "7d", "--step", "1m"), 2, "at least 5 minutes"),
            (("--from", "400d", "--step", "5m"), 2, "more than 3,000 steps"),
            (("--from", "2026-01-02", "--to", "2026-01-01"), 2, "before the end of the period"),
            (("--from", "2001-01-01", "--to", "2001-01-02"), 4, "no figure"),
        ):
            done = self.run_subak("share", self.payer, *arguments)
            self.assertEqual((done.returncode, words in done.stderr), (code, True), done.stderr)
        self.assertEqual(self.run_subak("share", "nobody", "--from", "1d").returncode, 4)

    def test_a_stranger_computes_the_same(self):
        for account in "", self.payer:
            statement = self.subak("usage", "statement", account, self.month, "--prices", self.prices(), "--output", "json")
            entries = self.entries(account)
            done = self.check(statement, entries)
            self.assertEqual(done.returncode, 0, done.stderr)
            wanted = len(self.rows) if not account else json.loads(statement)["entries"]["count"]
            self.assertIn(f"{wanted} entries", done.stdout)
            self.assertGreater(float(json.loads(statement)["cost"]), 0)
            # Entries that come later change nothing.
            header, last = entries.splitlines()[0], entries.splitlines()[-1]
            self.assertTrue(header.startswith("FACT,"))
            later = entries + str(10**9) + last[last.index(",") :] + "\n"
            self.assertEqual(self.check(statement, later).returncode, 0)

    def test_one_changed_byte_is_found(self):
        statement = self.subak("usage", "statement", "", self.month, "--prices", self.prices(), "--output", "json")
        entries = self.entries("")
        row = entries.splitlines()[len(self.rows) // 2]
        digit = re.search(r"\.(\d)\d{5},", row)
        changed = row[: digit.start(1)] + str((int(digit.group(1)) + 1) % 10) + row[digit.end(1) :]
        self.assertIn("SHA-256", self.check(statement, entries.replace(row, changed)).stderr)
        self.assertEqual(self.check(statement, entries.replace(row + "\n", "")).returncode, 1)
        asked = json.loads(statement)
        for field, wrong in ("gpuSeconds", "1.000000"), ("cost", "0.01"):
            told = dict(asked, **{field: wrong})
            self.assertIn("the statement says", self.check(json.dumps(told), entries).stderr)
            told = dict(asked, lines=[dict(asked["lines"][0], **{field: wrong}), *asked["lines"][1:]])
            self.assertIn("line 1", self.check(json.dumps(told), entries).stderr)

    def test_a_store_of_an_older_version_is_restored(self):
        """The golden store has no column for namespaces, and no sums of days."""
        golden = os.path.join(TREE, "tests", "golden", "store", "v1.db")
        command = SUBAK, "admin", "restore", golden, "--state", self.state + ".old"
        done = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE_S, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_the_same_after_a_restore_into_either_store(self):
        command = "usage", "statement", "", self.month, "--prices", self.prices(), "--output", "json"
        wanted, entries = json.loads(self.subak(*command)), self.entries("")
        backup = os.path.join(self.folder.name, "backup.db")
        self.subak("admin", "backup", backup)
        database = pg_server.Server()
        try:
            for other in os.path.join(self.folder.name, "restored.db"), database.make_database("restored"):
                told = self.of_a_restore(backup, other, *command)
                self.assertEqual(json.loads(told), wanted, other)
                self.assertEqual(self.check(told, entries).returncode, 0)
        finally:
            database.end()

    def of_a_restore(self, backup, state, *command):
        """What the command prints of a service with the restored backup."""
        restore = [SUBAK, "admin", "restore", backup, "--state", state]
        done = subprocess.run(restore, capture_output=True, text=True, timeout=DEADLINE_S, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        durable = ("--database-durability", "local") if "://" in state else ()
        child = subprocess.Popen((SUBAKD, "--state", state, *durable, *LISTEN), cwd=self.folder.name,
                                 stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)  # fmt: skip
        try:
            server = dict(re.findall(r"(\w+)=([\d.]+:\d+)", child.stdout.readline()))["grpc"]
            asked = [SUBAK, "--server", server, *command]
            for _ in range(100):  # with a database it leads a little later, and reads before that
                done = subprocess.run(asked, capture_output=True, text=True, timeout=DEADLINE_S, check=False)
                if done.returncode == 0:
                    return done.stdout
                time.sleep(0.1)
            self.fail(done.stderr)
        finally:
            child.kill()
            child.communicate()

    def test_a_changed_sum_of_a_day_is_found(self):
        # A month that is closed: its figures do not change while the service runs.
        window = "--from", f"{self.month}-01", "--to", self.next_month()
        report = "usage", "report", "--by", "product,namespace,month", *window, "--output", "csv"
        before, deadline = self.subak(*report), time.monotonic() + DEADLINE_S
        while int(json.loads(self.subak("usage", "verify", "--output", "json")).get("daySums", 0)) == 0:
            self.assertLess(time.monotonic(), deadline, "there are no sums of days")
            time.sleep(0.1)
        self.assertEqual(self.subak(*report), before)
        with contextlib.closing(sqlite3.connect(self.state, isolation_level=None)) as db:
            (day, good) = db.execute("SELECT day, sums FROM usage_days ORDER BY day LIMIT 1").fetchone()
            change = "UPDATE usage_days SET sums = ? WHERE day = ?"
            changed = good[:-1] + bytes([good[-1] ^ 1])
            db.execute(change, (changed, day))
            done = self.run_subak("usage", "verify")
            self.assertEqual(done.returncode, 1, done.stdout)
            self.assertIn("1 daily sums are damaged", done.stdout)
            self.assertIn("every balance is the sum of its rows", done.stdout)
            self.assertEqual(self.subak(*report), before)
            db.execute(change, (good, day))
        self.assertEqual(self.run_subak("usage", "verify").returncode, 0)

    def test_table_csv_and_page_have_the_same_total(self):
        command = "usage", "statement", self.payer, self.month, "--prices", self.prices()
        told = json.loads(self.subak(*command, "--output", "json"))
        page = os.path.join(self.folder.name, "page.html")
        table = self.subak(*command, "--page", page)
        self.assertIn(told["gpuSeconds"], table)
        self.assertIn(told["entries"]["sha256"], table)
        lines = list(csv.DictReader(io.StringIO(self.subak(*command, "--output", "csv"))))
        self.assertEqual([line["GPU SECONDS"] for line in lines], [line["gpuSeconds"] for line in told["lines"]])
        with open(page, encoding="utf-8") as file:
            text = file.read()
        for wanted in told["cost"] + " EUR", told["gpuHours"], told["entries"]["sha256"], self.payer:
            self.assertIn(wanted, text)
        self.assertNotIn("<script", text)

    def test_a_month_that_goes_on_is_provisional(self):
        now = time.strftime("%Y-%m", time.gmtime())
        self.assertTrue(json.loads(self.subak("usage", "statement", "", now, "--output", "json"))["provisional"])
        old = json.loads(self.subak("usage", "statement", "", self.month, "--output", "json"))
        self.assertFalse(old["provisional"])
        # The service knows which months are open. In the first days of a month, the month before is open too.
        days = "usage", "report", "--from", "1h", "--output", "json"
        open_since = json.loads(self.subak(*days))["openSince"]
        self.assertGreater(open_since[:7], self.month)
        self.assertLessEqual(open_since[:10], now + "-01")
        self.subak("policy", "set", "monthOpenDays=28", "--reason", "slow clusters")
        self.assertEqual(json.loads(self.subak(*days))["openSince"], open_since, "a closed month stays closed")

    def test_quota_and_budget_are_beside_use(self):
        team = "quota-team"
        self.subak("account", "set", team, "--quota", "6", "--reason", "x")
        self.subak("account", "set", team + ".a", "--quota", "4", "--budget", "100h/month,soft=30h/total", "--reason", "x")
        time.sleep(1.2)
        self.subak("account", "set", team, "--quota", "none", "--reason", "the sum of its children")
        answer = json.loads(self.subak("usage", "report", "--account", team, "--from", "7d", "--output", "json"))
        got = {row["account"]: seconds_of(row["quota"]) for row in answer["allowances"]}
        set_at = {path: self.edit_times(path) for path in (team, team + ".a")}
        until = ms_of(answer["time"])
        first, last = set_at[team]
        (child,) = set_at[team + ".a"]
        self.assertEqual(round(got[team + ".a"] * 1000), 4 * (until - child))
        self.assertEqual(round(got[team] * 1000), 6 * (last - first) + 4 * (until - last))
        budgets = [row["budget"] for row in answer["allowances"][1]["budgets"]]
        self.assertEqual(budgets, ["100h/month", "soft=30h/total"])
        rows = self.report("--account", team, "--from", "7d")
        self.assertEqual([row["ACCOUNT"] for row in rows], [team, team + ".a"], "accounts without use have lines")
        self.assertEqual((rows[1]["BUDGET GRANTED"], rows[1]["BUDGET SPENT"], rows[1]["BUDGET LEFT"]), ("100.00", "0.00", "100.00"))
        self.assertEqual(rows[0]["BUDGET"], "")
        days = self.report("--account", team, "--from", "7d", "--by", "day")
        self.assertEqual({row["ACCOUNT"] for row in days}, {team, team + ".a"})
        self.assertIn(team, {row["ACCOUNT"] for row in self.report("--prices", self.prices())})
        past = self.report("--account", team, "--from", "14d", "--to", "7d")
        self.assertEqual([row for row in past if row["BUDGET"]], [], "a past period has no present budgets")
        table = self.subak("usage", "report", "--account", team, "--from", "7d")
        self.assertRegex(table, r"QUOTA HOURS +BUDGET LEFT\n")
        self.assertNotIn("QUOTA HOURS", self.subak("usage", "report", "--account", team, "--by", "product"))
        self.subak("account", "delete", team + ".a", "--reason", "x")
        self.subak("account", "delete", team, "--reason", "x")

    def report(self, *arguments):
        return list(csv.DictReader(io.StringIO(self.subak("usage", "report", *arguments, "--output", "csv"))))

    def edit_times(self, path):
        """When the account was edited, in ms, the oldest edit first."""
        edits = json.loads(self.subak("account", "history", path, "--output", "json"))["edits"]
        return [ms_of(edit["time"]) for edit in reversed(edits)]

    def test_bad_input(self):
        for month in "2026", "2026-13", "2026-00", "26-01", "2026-1", "2026-01-01", "next":
            done = self.run_subak("usage", "statement", "", month)
            self.assertEqual(done.returncode, 2, month)
            self.assertIn("want a month such as 2026-10", done.stderr)
        self.assertEqual(self.run_subak("usage", "statement", "nobody", self.month).returncode, 4)
        gap = self.path("gap.yaml", "currency: EUR\ngpus:\n- {from: 2999-01-01, product: gpu, perHour: 1}\n")
        done = self.run_subak("usage", "statement", "", self.month, "--prices", gap)
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, "has no price on " + self.month + r"-\d\d, on which it was used")
        done = self.run_subak("usage", "report", "--prices", gap)
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, r"has no price on \d{4}-\d\d-\d\d, on which it was used")
        told = json.loads(self.subak("usage", "statement", "", "1999-01", "--output", "json"))
        self.assertEqual((told["entries"]["count"], told["lines"]), (0, []))


if __name__ == "__main__":
    unittest.main()
