#!/usr/bin/env python3
"""The past as a user asks for it: --at of each read, and subak replay of a live store and of its backup.

Usage: past_test.py PATH_TO_SUBAK PATH_TO_SUBAKD
"""

import datetime
import os
import re
import sqlite3
import time
import unittest

from service_case import Service

AS_OF = re.compile(r"^as of (\S+ \S+) CET, after fact (\d+)$", re.M)


class Past(Service):
    def now(self):
        """A time of its own: nothing else happens within 20 ms of it."""
        time.sleep(0.02)
        now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        time.sleep(0.02)
        return now

    def history(self):
        """A job that held 16 GPUs, and one that waited for it: the moments before and while it waited."""
        cluster, team = self.cluster(), self.account()
        first = self.submit(cluster, team, "--gpus", "16")
        self.ok_with("starting", "job", "get", first)
        before = self.now()
        second = self.submit(cluster, team, "--gpus", "8")
        self.ok_with(second, "queue", "--account", team)
        waits = self.now()
        self.ok("job", "cancel", first)
        self.ok("job", "cancel", second)
        self.now()
        return cluster, team, first, second, before, waits

    def seq_of(self, moment):
        return int(AS_OF.search(self.ok("status", "--at", moment)).group(2))

    def test_each_command_shows_the_moment(self):
        cluster, team, first, second, before, waits = self.history()
        queue = self.ok("queue", "--account", team, "--at", waits)
        self.assertIn(second, queue)
        self.assertRegex(queue, AS_OF)
        self.assertNotIn(second, self.ok("queue", "--at", before))
        self.assertIn("starting", self.ok("job", "get", first, "--at", waits))
        self.assertEqual(self.json("job", "get", first, "--at", waits)["state"], "JOB_STATE_STARTING")
        self.assertIn(first, self.ok("job", "list", "--account", team, "--at", before))
        self.assertNotIn(second, self.ok("job", "list", "--account", team, "--at", before))
        self.fails(4, "job", "get", second, "--at", before)
        why = self.ok("why", second, "--at", waits)
        self.assertIn("it waits because of", why)
        self.assertIn("position 1", why)
        share = {row["account"]: row for row in self.json("share", team, "--at", waits)["rows"]}
        self.assertEqual((share[team]["heldMilligpu"], share[team]["queuedMilligpu"]), ("16000", "8000"))
        nodes = self.json("cluster", "nodes", "--cluster", cluster, "--at", waits)["nodes"]
        self.assertEqual([node["allocatedMilligpu"] for node in nodes], ["8000", "8000"])
        nodes = self.json("cluster", "nodes", "--cluster", cluster, "--at", before)["nodes"]
        self.assertEqual([node["allocatedMilligpu"] for node in nodes], ["8000", "8000"])
        self.assertNotIn("starting", self.ok("job", "get", first))
        status = self.ok("status", "--at", waits)
        self.assertIn("1 queued", status)
        self.assertNotIn("last pass", status)
        seq = AS_OF.search(status).group(2)
        self.assertEqual(self.ok("queue", "--account", team, "--at", seq).splitlines()[:2][1].split()[1], second)

    def test_refusals(self):
        self.cluster()
        self.assertIn("want a fact from 1 to", self.fails(1, "queue", "--at", "99999999"))
        self.assertIn("want a time from", self.fails(1, "queue", "--at", "2001-01-01"))
        self.assertIn("want a time up to now", self.fails(1, "queue", "--at", "2999-01-01"))
        self.assertIn("--at", self.fails(2, "queue", "--at", "soon"))
        self.assertIn("--watch", self.fails(2, "queue", "--watch", "--at", "5"))
        self.assertIn("subak-at", self.fails(1, "queue", "--would", "--at", "5"))

    def start_of(self, first, before):
        """The fact that started a job: the last `attempt_started` that replay finds up to the moment."""
        seq = self.seq_of(before)
        state = os.path.join(self.folder.name, "subak.db")
        for fact in range(seq, 0, -1):
            done = self.run_subak("replay", "--decision", str(fact), "--state", state)
            if f"attempt_started id={first} " in done.stdout:
                return fact, done
        self.fail(f"no start of {first} up to fact {seq}")

    def test_replay(self):
        _, _, first, _, before, waits = self.history()
        state = os.path.join(self.folder.name, "subak.db")
        fact, done = self.start_of(first, before)  # of the live store
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("same:       yes", done.stdout)
        self.assertIn(f"before this pass, job {first} had position 1", done.stdout)
        copy = os.path.join(self.folder.name, "copy.db")
        self.ok("admin", "backup", copy)
        whole = self.json("replay", "--from", "1", "--to", str(self.seq_of(waits)), "--state", copy)
        self.assertTrue(whole["same"])
        self.assertGreaterEqual(int(whole["decisionsSame"]), 1)
        one = self.json("replay", "--decision", str(fact), "--state", copy)
        self.assertEqual((one["same"], one["jobId"]), (True, first))
        self.assertLessEqual(int(one["passBegin"]), fact)
        # A damaged row is refused, with its number.
        with sqlite3.connect(copy) as db:
            db.execute("UPDATE facts SET time_ms = time_ms + 1 WHERE seq = ?", (fact,))
        db.close()
        self.assertIn(str(fact), self.fails(1, "replay", "--decision", str(fact), "--state", copy))
        self.fails(4, "replay", "--decision", "99999999", "--state", state)
        self.fails(4, "replay", "--decision", "5", "--state", os.path.join(self.folder.name, "none.db"))
        self.fails(2, "replay", "--state", state)
        self.fails(2, "replay", "--decision", "5", "--from", "1", "--to", "9", "--state", state)
        self.fails(2, "replay", "--from", "9", "--to", "1", "--state", state)
        self.assertIn("no pass made fact", self.fails(2, "replay", "--decision", "2", "--state", state))


if __name__ == "__main__":
    unittest.main()
