#!/usr/bin/env python3
"""The half-life changes while jobs start, and the service is killed meanwhile: on SQLite, and on PostgreSQL with a standby.

At the end the usage of each account is computed from the rows of the ledger, and compared.

Usage: half_life_test.py PATH_TO_SUBAKD PATH_TO_SUBAK
"""

import datetime
import json
import math
import os
import random
import signal
import tempfile
import time
import unittest

from pg_replica import OnPostgres, Process

KILLS = int(os.environ.get("SUBAK_HALF_LIFE_KILLS", "3"))
SEED = int(os.environ.get("SUBAK_HALF_LIFE_SEED", "1"))
DEADLINE_S = 300  # generous: other work may share the machine
ACCOUNTS = "ml", "bio"
JOBS = 12  # of each account, on 16 GPUs


def instant(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))


def seconds(text):
    return instant(text).timestamp()


def decayed(rows, now, half_life_s):
    """The usage of these rows in GPU-seconds at one instant."""
    def weight(text):
        return math.exp2((instant(text) - now).total_seconds() / half_life_s)

    life_s = half_life_s / math.log(2)
    return sum(int(row["milligpu"]) / 1000 * life_s * (weight(row["to"]) - weight(row["from"]))
               for row in rows)


class Cases:
    """The cases, for a class that makes processes."""

    def ok(self, *words):
        code, out, errors = self.process.call(*words)
        self.assertEqual(code, 0, f"{words}: {errors}")
        return out

    def json(self, *words):
        return json.loads(self.ok(*words, "--output", "json"))

    def until(self, condition):
        end = time.monotonic() + DEADLINE_S
        while not condition():
            self.assertLess(time.monotonic(), end, "it does not come")
            time.sleep(0.05)

    def set_up_jobs(self):
        """Jobs that start again and again: nothing binds their pods, so each hold ends after a second."""
        self.ok("policy", "set", "halfLife=1m", "hold=1s", "--reason", "test")
        self.ok("cluster", "import", "--nodes", "2x8:NVIDIA-H100-80GB-HBM3")
        for account in ACCOUNTS:
            self.ok("account", "set", account, "--reason", "test")
            for _ in range(JOBS):
                self.ok("job", "submit", "--account", account, "--gpus", "1")

    def change(self, to):
        """Begins a change, and says when."""
        begun = time.time()
        out = self.ok("policy", "set", f"halfLife={to}", "--reason", "test")
        self.assertIn(f"halfLife changes to {to} when all usage is computed again", out)
        return begun

    def half_life(self):
        answer = self.json("policy", "get")
        values = {value["key"]: value["value"] for value in answer["values"]}
        return values["halfLife"], "halfLifeChange" in answer

    def rows(self):
        return self.json("usage", "ledger", "--from", "2020-01-01")["rows"]

    def check_usage(self, half_life_s):
        """Ends all jobs, and compares the usage of each account with that of its rows."""
        for job in self.json("job", "list")["jobs"]:
            if job["state"] != "JOB_STATE_DONE":
                self.ok("job", "cancel", job["id"], "--reason", "test")
        self.until(lambda: all(job["state"] == "JOB_STATE_DONE" for job in self.json("job", "list")["jobs"]))
        rows = self.rows()
        answer = self.json("share")
        now = instant(answer["time"])
        for account in ACCOUNTS:
            own = [row for row in rows if row["holder"] == account]
            self.assertGreater(len(own), 5)
            usage = next(float(row["rawUsageGpuSeconds"]) for row in answer["rows"] if row["account"] == account)
            want = decayed(own, now, half_life_s)
            self.assertGreater(want, 1)
            self.assertLess(abs(usage - want) / want, 1e-9, f"{account}: {usage}, by its rows {want}")
            wrong = decayed(own, now, half_life_s * 1.01)
            self.assertGreater(abs(usage - wrong) / want, 1e-7, "the comparison would see another half-life")

    def longest_gap(self, begun, ended):
        """Between two starts, in seconds: each row of a hold begins with one."""
        starts = sorted({seconds(row["from"]) for row in self.rows() if begun <= seconds(row["from"]) <= ended})
        return max((b - a for a, b in zip([begun, *starts], [*starts, ended])), default=0), len(starts)

    def test_starts_go_on_and_kills_change_nothing(self):
        chance = random.Random(SEED)
        self.set_up_jobs()
        time.sleep(4)
        last = 60
        for kill in range(KILLS):
            last = 600 if last != 600 else 120
            begun = self.change(f"{last // 60}m")
            time.sleep(chance.random() * 0.4)
            self.kill()
            self.until(lambda: self.half_life() == (f"{last // 60}m", False))
            gap, starts = self.longest_gap(begun, time.time())
            print(f"kill {kill}: {time.time() - begun:.1f} s to {last} s; longest gap between starts {gap:.2f} s, {starts}")
        last = 1200
        begun = self.change("20m")
        self.until(lambda: self.half_life() == ("20m", False))
        time.sleep(2)
        gap, starts = self.longest_gap(begun, time.time())
        print(f"no kill: longest gap between starts {gap:.2f} s, {starts}")
        self.assertGreater(starts, 0)
        self.check_usage(last)
        changes = [entry for entry in self.json("audit", "--subject", "policy")["entries"] if not entry.get("error")]
        self.assertIn("the new half-life is in force", [entry.get("reason") for entry in changes])


class OnSqlite(Cases, unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.state = os.path.join(self.folder.name, "subak.db")
        self.process = Process(self.state, durability=())
        self.addCleanup(lambda: self.process.end(signal.SIGKILL))

    def kill(self):
        self.process.end(signal.SIGKILL)
        self.process = Process(self.state, durability=())


class OnDatabase(Cases, OnPostgres):
    """Each kill is one of the leader, and the other process takes over."""

    def setUp(self):
        state = self.server.address()
        self.state = state
        self.process = Process(state)
        self.process.until_it_leads()
        self.standby = Process(state)
        self.addCleanup(lambda: self.process.end(signal.SIGKILL))
        self.addCleanup(lambda: self.standby.end(signal.SIGKILL))

    def kill(self):
        self.process.end(signal.SIGKILL)
        self.process = self.standby
        self.process.until_it_leads()
        self.standby = Process(self.state)


if __name__ == "__main__":
    unittest.main()
