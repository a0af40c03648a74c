#!/usr/bin/env python3
"""The real binary on a real PostgreSQL: a server that is killed and comes back, a standby that serves and takes over, what is refused.

Usage: subakd_postgres_test.py PATH_TO_SUBAKD PATH_TO_SUBAK
SUBAK_AWAY_S: for how many seconds the database is away (3).
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from pg_replica import LOCAL, PORTS, SUBAK, SUBAKD, OnPostgres, Process, Reviews
from pg_server import DEADLINE_S, Server

GRANTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "deploy", "postgres", "service_role.sql")
AWAY_S = int(os.environ.get("SUBAK_AWAY_S", "3"))


class Replicas(OnPostgres):
    def test_what_was_acknowledged_is_there_after_kills_of_either(self):
        first = Process(self.server.address())
        self.assertEqual(first.set_shares("ml", 2)[0], 0)
        self.server.kill()
        self.server.start()
        code, _, errors = first.set_shares("ml", 3)
        self.assertEqual((code, errors), (0, ""))
        self.assertEqual(first.end(signal.SIGKILL), -signal.SIGKILL)
        second = Process(self.server.address())
        shown = second.call("account", "get", "ml")[1]
        self.assertRegex(shown, r"shares:\s+3")
        self.assertIn("shares 2 -> 3", second.call("audit")[1])
        self.assertIn("store:          postgres subak@", second.call("status")[1])

        self.assertEqual(second.end(signal.SIGTERM), 0)

    def test_a_standby_says_what_a_change_would_do_as_its_leader_does(self):
        state = self.server.make_database("whatif")
        leader = Process(state)
        for words in (("cluster", "import", "--cluster", "c", "--nodes", "2x8:NVIDIA-H100-80GB-HBM3"),
                      *(("account", "set", name, "--shares", "1", "--reason", "test") for name in ("ml", "bio")),
                      *(("job", "submit", "--cluster", "c", "--account", account, "--gpus", gpus, "--time-limit", "1h")
                        for account, gpus in (("ml", "16"), ("ml", "8"), ("bio", "8"), ("ml", "16"), ("bio", "1")))):  # fmt: skip
            code, _, errors = leader.call(*words)
            self.assertEqual(code, 0, errors)
        standby = Process(state)
        self.assertFalse(standby.leads())
        node = json.loads(leader.call("--output", "json", "cluster", "nodes")[1])["nodes"][0]["spec"]["name"]
        change = os.path.join(standby.folder, "change.yaml")
        with open(change, "w", encoding="utf-8") as out:
            out.write(f"accounts:\n  - path: bio\n    shares: 7\nnodes:\n  - {{cluster: c, like: {node}, count: +1}}\n")

        def report(replica):
            code, out, errors = replica.call("--output", "json", "whatif", "-f", change)
            self.assertEqual(code, 0, errors)
            return json.loads(out)

        def same_fact():
            nonlocal wanted, shown
            wanted, shown = report(leader), report(standby)
            return wanted["lastSequence"] == shown["lastSequence"]

        wanted = shown = None
        standby.until(same_fact)  # the standby may be a little behind
        self.assertEqual(shown, wanted)
        self.assertGreater(shown["changed"]["installedGpus"], shown["unchanged"]["installedGpus"])
        self.assertGreater(len(shown["present"]["starts"]), 0)
        for replica in (standby, leader):
            self.assertEqual(replica.end(signal.SIGTERM), 0)

    def test_a_standby_serves_and_takes_over(self):
        state = self.server.make_database("two")
        first = Process(state)
        self.assertEqual(first.set_shares("ml", 2)[0], 0)
        second = Process(state)  # it says that it is ready, and does not lead
        self.assertEqual(second.health(), "a standby: webhook and reads are served\n")
        self.assertEqual((first.health(), first.leads(), second.leads()), ("ok\n", True, False))
        self.assertEqual((first.metric("subak_leader"), second.metric("subak_leader")), (1, 0))
        self.assertEqual(second.metric("subak_leader_epoch"), 1)
        self.assertLess(second.metric("subak_standby_lag_seconds"), DEADLINE_S)
        self.assertRegex(second.call("account", "get", "ml")[1], r"shares:\s+2")
        self.assertEqual(second.call("audit")[1], first.call("audit")[1])
        self.assertRegex(second.call("status")[1], r"serving, not the leader\nleader: +\S+ process \d+ at "
                         + first.ports["grpc"] + r", epoch 1\nas of: ")
        self.assertEqual(second.review(), first.review())
        self.assertIn("patch", second.review())

        code, _, errors = second.set_shares("ml", 3)
        self.assertEqual(code, 3)
        self.assertIn(f"{second.ports['grpc']} does not lead", errors)
        self.assertIn(f"{first.ports['grpc']} leads: name it", errors)
        both = f"{second.ports['grpc']},{first.ports['grpc']}"
        self.assertEqual(second.set_shares("ml", 3, server=both)[0], 0)
        self.assertEqual(first.call("admin", "backup", os.path.join(first.folder, "copy.db"), server=both)[0], 0)

        # The ports go on: whoever is connected notices nothing, and no review is left without an answer.
        asked = Reviews(second)
        begin = time.monotonic()
        self.assertEqual(first.end(signal.SIGTERM), 0)
        second.until_it_leads()
        print(f"after SIGTERM another leads within {time.monotonic() - begin:.1f} s", file=sys.stderr)
        self.assertEqual(second.set_shares("ml", 4)[0], 0)
        self.assertGreater(asked.end(), 0)
        self.assertEqual(asked.failed, [])
        self.assertEqual(second.metric("subak_leader"), 1)

        third = Process(state)
        begin = time.monotonic()
        second.child.send_signal(signal.SIGSTOP)  # it hangs, and does not know
        both = f"{second.ports['grpc']},{third.ports['grpc']}"
        self.assertEqual(third.set_shares("ml", 5, server=both)[0], 0)  # the one does not answer, the other does not lead yet
        print(f"after a stop a command is done within {time.monotonic() - begin:.1f} s", file=sys.stderr)
        second.child.send_signal(signal.SIGCONT)
        second.call("account", "set", "ml", "--shares", "9", "--reason", "late")
        self.assertEqual(second.wait(), 4)
        self.assertIn("leads by now", second.errors)
        self.assertIn("shares 4 -> 5", third.call("audit")[1])
        self.assertRegex(third.call("account", "get", "ml")[1], r"shares:\s+5")

        fourth = Process(state)
        self.assertEqual(fourth.end(signal.SIGTERM), 0)  # while it waits
        self.assertEqual(third.end(signal.SIGTERM), 0)

    def test_while_the_database_is_away_reads_go_on_and_changes_are_refused(self):
        state = self.server.make_database("away")
        first = Process(state)
        self.assertEqual(first.set_shares("ml", 2)[0], 0)
        second = Process(state)
        asked = [Reviews(replica) for replica in (first, second)]
        self.server.kill()
        time.sleep(AWAY_S)
        waiting = first.begin("account", "set", "ml", "--shares", "3", "--reason", "waits")
        first.until(lambda: first.metric("subak_store_waiting_seconds") > 2)
        code, _, errors = first.set_shares("bio", 1)
        self.assertEqual(code, 3)
        self.assertRegex(errors, r"the database has not answered for \d+ s")
        for replica in (first, second):
            self.assertRegex(replica.call("account", "get", "ml")[1], r"shares:\s+2")
            self.assertIn("patch", replica.review())
            self.assertEqual(replica.get("/healthz"), "ok\n")
            self.assertFalse(replica.leads())
        self.assertEqual(first.health(), "the database is away: webhook and reads are served\n")
        self.assertIn("waits for the database", first.call("status")[1])
        self.assertGreater(second.metric("subak_standby_lag_seconds"), 1)
        self.assertIsNone(waiting.poll())
        self.server.start()
        for reviews in asked:  # none was left without an answer, or waited for the database
            self.assertGreater(reviews.end(), 10 * AWAY_S)
            self.assertEqual(reviews.failed, [])
        self.assertEqual(waiting.communicate(timeout=DEADLINE_S)[1], "")
        self.assertEqual(waiting.returncode, 0)
        both = f"{first.ports['grpc']},{second.ports['grpc']}"
        self.assertEqual(first.set_shares("bio", 1, server=both)[0], 0)
        for replica in (first, second):
            replica.until(lambda replica=replica: "3" in re.search(r"shares:\s+(\d+)", replica.call("account", "get", "ml")[1])[1])
            self.assertEqual(replica.end(signal.SIGTERM), 0)

    def test_configurations_that_differ_are_shown_and_not_fought_over(self):
        state = self.server.make_database("configured")
        first = Process(state, "--patience", "1h")
        second = Process(state, "--patience", "3h")
        said = "says patience_ms=10800000, in force patience_ms=3600000"

        def puts():
            rows = json.loads(second.call("audit", "--output", "json")[1])["entries"]
            return [row["actor"] for row in rows if row["what"] == "policy_set"]

        second.until(lambda: second.metric("subak_configuration_differences") == 1)
        self.assertEqual(first.metric("subak_configuration_differences"), 0)
        self.assertIn(said, second.call("status")[1])
        self.assertNotIn("the configuration of this replica", first.call("status")[1])
        self.assertEqual(first.set_shares("ml", 2)[0], 0)
        second.until(lambda: "ml" in second.call("account", "tree")[1])  # so it sees the first at work
        self.assertEqual(first.end(signal.SIGKILL), -signal.SIGKILL)
        second.until_it_leads()
        self.assertIn(said, second.call("status")[1])
        self.assertEqual(second.metric("subak_configuration_differences"), 1)
        self.assertEqual(puts(), ["config"])
        # Handed over, which is somebody's doing, it is put in.
        first = Process(state, "--patience", "3h")
        self.assertEqual(second.set_shares("ml", 3)[0], 0)
        self.assertEqual(second.end(signal.SIGTERM), 0)
        self.assertIn("the configuration is not applied", second.errors)
        first.until_it_leads()
        first.until(lambda: first.metric("subak_configuration_differences") == 0)
        # Who comes when the last is gone begins anew.
        self.assertEqual(first.end(signal.SIGKILL), -signal.SIGKILL)
        second = Process(state, "--patience", "2h")
        second.until_it_leads()
        second.until(lambda: second.metric("subak_configuration_differences") == 0)
        self.assertEqual(puts(), ["config"] * 3)
        self.assertEqual(second.end(signal.SIGTERM), 0)

    def test_a_backup_goes_to_a_file_and_back_into_a_database(self):
        first = Process(self.server.make_database("moved"))
        self.assertEqual(first.set_shares("ml", 2)[0], 0)
        self.assertEqual(first.set_shares("bio", 3)[0], 0)
        file = os.path.join(first.folder, "backup.db")
        code, said, errors = first.call("admin", "backup", file)
        self.assertEqual((code, errors), (0, ""))
        digest = re.search(r"digest:\s+(\w+)", said)[1]
        target = self.server.make_database("again")

        def restore(state, *flags):
            command = [SUBAK, "admin", "restore", file, "--state", state, *flags]
            return subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE_S, check=False)

        done = restore(target)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn(digest, done.stdout)
        again = restore(target)
        self.assertNotEqual(again.returncode, 0)
        self.assertIn("a store is there already", again.stderr)
        self.assertNotEqual(restore(target, "--force").returncode, 0)
        second = Process(target)
        self.assertRegex(second.call("account", "get", "bio")[1], r"shares:\s+3")
        self.assertEqual(second.call("audit")[1], first.call("audit")[1])
        self.assertEqual(second.end(signal.SIGTERM), 0)
        local = os.path.join(first.folder, "local.db")
        self.assertEqual(restore(local).returncode, 0)
        third = Process(local)
        self.assertRegex(third.call("account", "get", "bio")[1], r"shares:\s+3")
        self.assertEqual(third.end(signal.SIGTERM), 0)
        self.assertEqual(first.end(signal.SIGTERM), 0)

    def test_a_restore_until_a_fact_into_a_database(self):
        first = Process(self.server.make_database("long"))
        self.assertEqual(first.set_shares("ml", 2)[0], 0)
        self.assertEqual(first.set_shares("bio", 3)[0], 0)
        file = os.path.join(first.folder, "backup.db")
        self.assertEqual(first.call("admin", "backup", file)[0], 0)
        edits = json.loads(first.call("audit", "--output", "json")[1])["entries"]
        seq = next(edit["sequence"] for edit in edits if edit["subject"] == "ml")
        target = self.server.make_database("short")
        done = subprocess.run([SUBAK, "admin", "restore", file, "--state", target, "--until", seq],
                              capture_output=True, text=True, timeout=DEADLINE_S, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, rf"until: +fact {seq} of .*\nleft out: +\d+ later facts")
        self.assertEqual(self.server.psql("SELECT max(seq) FROM facts", "short"), [seq])
        self.assertEqual(first.end(signal.SIGTERM), 0)
        second = Process(target)
        self.assertRegex(second.call("account", "get", "ml")[1], r"shares:\s+2")
        self.assertEqual(second.call("account", "get", "bio")[0], 4)
        self.assertEqual(second.set_shares("bio", 4)[0], 0)
        self.assertEqual(second.end(signal.SIGTERM), 0)

    def test_without_its_database_it_does_not_start(self):
        done = subprocess.run([SUBAKD, "--state", self.server.address("none"), *LOCAL, *PORTS], capture_output=True,
                              text=True, timeout=DEADLINE_S, check=False, cwd=self.server.folder)
        self.assertEqual(done.returncode, 1)
        self.assertIn('database "none" does not exist', done.stderr)

    def test_a_server_without_synchronous_standbys_is_taken_if_that_is_said(self):
        state = self.server.make_database("alone")
        done = subprocess.run([SUBAKD, "--state", state, *PORTS], capture_output=True, text=True, timeout=DEADLINE_S,
                              check=False, cwd=self.server.folder)
        self.assertEqual(done.returncode, 1)
        self.assertIn("without synchronous standbys", done.stderr)
        self.assertIn("databaseDurability: local", done.stderr)
        standby = Server(copy_of=self.server)
        try:
            self.server.set("synchronous_standby_names", "standby")
            self.assertEqual(Process(state, durability=()).end(signal.SIGTERM), 0)
        finally:
            self.server.set("synchronous_standby_names", "")
            standby.end()

    def test_a_role_that_may_not_change_rows_is_enough(self):
        for role in ("books_owner", "books_service"):
            self.server.psql(f"CREATE ROLE {role} LOGIN")
        self.server.psql("CREATE DATABASE books OWNER books_owner")
        as_service = self.server.address("books", "books_service")
        done = subprocess.run([SUBAKD, "--state", as_service, *LOCAL, *PORTS], capture_output=True, text=True,
                              timeout=DEADLINE_S, check=False, cwd=self.server.folder)
        self.assertEqual(done.returncode, 1)
        self.assertIn("permission denied", done.stderr)

        owner = Process(self.server.address("books", "books_owner"))
        self.assertEqual(owner.set_shares("ml", 2)[0], 0)
        self.assertEqual(owner.end(signal.SIGTERM), 0)
        self.assertIn("may do more than the service needs", owner.errors)
        self.server.run_file(GRANTS, "books", "books_owner", service="books_service")

        first = Process(as_service)
        self.assertEqual(first.set_shares("ml", 3)[0], 0)
        second = Process(as_service)
        self.assertIn("a standby", second.health())
        self.assertEqual(first.end(signal.SIGTERM), 0)  # with a checkpoint
        self.assertNotIn("may do more", first.errors)
        second.until_it_leads()
        self.assertEqual(second.set_shares("ml", 4)[0], 0)
        self.assertEqual(second.end(signal.SIGKILL), -signal.SIGKILL)
        third = Process(as_service, "--ignore-checkpoint")
        self.assertRegex(third.call("account", "get", "ml")[1], r"shares:\s+4")
        self.assertEqual(third.end(signal.SIGTERM), 0)
        for change in ("UPDATE facts SET seq = seq", "DELETE FROM facts", "DELETE FROM ledger", "UPDATE audit SET seq = seq",
                       "TRUNCATE facts", "DROP TABLE facts"):
            with self.assertRaises(subprocess.CalledProcessError, msg=change):
                self.server.psql(change, "books", "books_service")


class AFailoverToACopyThatWasBehind(unittest.TestCase):
    """Facts that were acknowledged are not in the database any more."""

    def setUp(self):
        self.server = Server()
        self.addCleanup(self.server.end)
        self.state = self.server.make_database("behind")
        self.folders = [tempfile.mkdtemp(prefix="subak_known_") for _ in range(2)]
        for folder in self.folders:
            self.addCleanup(shutil.rmtree, folder)

    def start(self, number):
        """A replica; what it knows outlives it."""
        return Process(self.state, "--known-folder", self.folders[number])

    def last(self):
        return int(self.server.psql("SELECT max(seq) FROM facts", "behind")[0])

    def epoch(self):
        return int(self.server.psql("SELECT epoch FROM lead", "behind")[0])

    def test_nobody_leads_who_knows_more_until_that_is_accepted(self):
        first, second = self.start(0), self.start(1)
        self.assertEqual(first.set_shares("ml", 2)[0], 0)
        self.server.keep_copy()
        self.assertEqual(first.set_shares("ml", 3)[0], 0)
        self.assertEqual(first.set_shares("bio", 1)[0], 0)
        second.until(lambda: second.call("account", "get", "bio")[0] == 0)
        known = self.last()
        self.server.fall_back()
        last = self.last()
        self.assertLess(last, known)
        late = first.begin("account", "set", "ml", "--shares", "9", "--reason", "late")
        self.assertEqual(first.wait(), 3)  # it does not go on
        self.assertIn(f"the database ends with fact {last}, and fact {known} was durable", first.errors)
        self.assertNotEqual(late.wait(DEADLINE_S), 0)
        late.communicate()
        self.assertEqual(second.wait(), 3)
        self.assertIn("a fact that this replica knows is no longer in", second.errors)

        first, second = self.start(0), self.start(1)
        words = f"knows facts up to {known}, and the database, which ends with {last}, lacks {known - last} of them"
        for replica in (first, second):
            self.assertIn(words, replica.get("/readyz?leader"))
            self.assertIn(words, replica.health())
            self.assertEqual(replica.metric("subak_known_facts_missing"), known - last)
            self.assertIn(words, replica.call("status")[1])
            self.assertRegex(replica.call("account", "get", "ml")[1], r"shares:\s+2")
            self.assertEqual(replica.call("account", "get", "bio")[0], 4)
        epoch = self.epoch()
        time.sleep(5)  # longer than a silence after which a lead is taken
        self.assertFalse(first.leads() or second.leads())
        self.assertEqual((self.epoch(), self.last()), (epoch, last))

        accept = ("admin", "accept-loss", "--reason", "the other site burnt", "--until")
        code, _, errors = first.call(*accept, str(last + 1))
        self.assertEqual(code, 1)
        self.assertIn(f"want {last}, the last fact of the database", errors)
        self.assertNotEqual(first.call(*accept, str(known))[0], 0)
        code, said, errors = first.call(*accept, str(last), "--dry-run")
        self.assertEqual((code, errors), (0, ""))
        self.assertIn("would be lost", said)
        self.assertFalse(first.leads())
        code, said, errors = first.call(*accept, str(last))
        self.assertEqual((code, errors), (0, ""))
        self.assertIn(f"ends with fact {last}; this replica knew facts up to {known}", said)
        first.until_it_leads()
        self.assertRegex(first.call("audit")[1], r"loss accepted +store")
        self.assertEqual(first.set_shares("ml", 4)[0], 0)
        second.until(lambda: second.metric("subak_known_facts_missing") == 0)
        self.assertEqual(first.end(signal.SIGTERM), 0)
        second.until_it_leads()
        self.assertRegex(second.call("account", "get", "ml")[1], r"shares:\s+4")
        self.assertNotEqual(second.call(*accept, str(self.last()))[0], 0)  # nothing is missing any more
        third = self.start(0)
        self.assertIn("a standby: webhook", third.health())
        self.assertEqual(third.end(signal.SIGTERM), 0)
        self.assertEqual(second.end(signal.SIGTERM), 0)
        self.assertIn("an operator accepted that facts are lost", first.errors)


if __name__ == "__main__":
    if sys.argv[-1] == "--list":
        named = [name for name in sys.argv[1:-1] if hasattr(Replicas, name.split(".")[-1])]
        print("\n  ".join(["tests", *named]))
        sys.exit(not named)
    unittest.main(verbosity=2)
