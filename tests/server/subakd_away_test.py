#!/usr/bin/env python3
"""The real binary that starts while its PostgreSQL is away: it answers reviews, by the copy of before or by none, and goes on with
the same connections once the database is back.

Usage: subakd_away_test.py PATH_TO_SUBAKD PATH_TO_SUBAK
"""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest

from pg_replica import LOCAL, PORTS, SUBAKD, OnPostgres, Process, Reviews
from pg_server import DEADLINE_S

UNHEARD = "has not heard from its leader yet"
ACCOUNT = ("account", "set", "ml", "--namespaces", "ml", "--reason", "test", "--limit")


class Away(OnPostgres):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="subak_copy_")
        self.addCleanup(shutil.rmtree, self.folder)
        self.copy = os.path.join(self.folder, "subak.static")

    def replica(self, state, **how):
        """What it keeps of its own outlives it."""
        replica = Process(state, "--known-folder", self.folder, **how)
        self.addCleanup(replica.child.kill)  # where the test fails
        return replica

    def waiting(self, state):
        """One whose database is away, once it answers reviews."""
        replica = self.replica(state, waits=True)

        def answers():
            try:
                return replica.review()
            except OSError:
                return None  # it does not listen yet

        replica.until(answers)
        self.assertEqual(replica.get("/healthz"), "ok\n")
        replica.until(lambda: "waits for the database" in replica.health())
        self.assertIn("waits for the database", replica.get("/readyz?leader"))
        with self.assertRaises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", int(replica.grpc.split(":")[1])), DEADLINE_S)
        return replica

    def status_of(self, replica, path):
        with socket.create_connection(("127.0.0.1", replica.http), DEADLINE_S) as line:
            line.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode())
            return int(line.makefile().readline().split()[1])

    def goes_on(self, replica, reviews):
        """The database is back: it leads, and no review was left without an answer."""
        replica.is_ready()
        replica.until_it_leads()
        self.assertGreater(reviews.end(), 0)
        self.assertEqual(reviews.failed, [])

    def left_by_a_leader(self, name):
        """A database that is away, and the copy of a leader that stopped: `ml` has at most 4 GPUs."""
        state = self.server.make_database(name)
        first = self.replica(state)
        self.assertEqual(first.call(*ACCOUNT, "gpu=4")[0], 0)
        self.assertEqual(first.end(signal.SIGTERM), 0)
        self.assertTrue(os.path.exists(self.copy))
        return state

    def test_without_a_copy_it_gates_and_refuses_nothing(self):
        state = self.server.make_database("fresh")
        self.server.kill()
        try:
            begin = time.monotonic()
            asked_to_stop = self.waiting(state)
            self.assertEqual(asked_to_stop.end(signal.SIGTERM), 0)
            self.assertIn("waits for the database", asked_to_stop.errors)
            self.assertIn("there is no copy to decide reviews by", asked_to_stop.errors)
            replica = self.waiting(state)
            line = replica.connection()
            for gpus, namespace in ((1, "ml"), (8, "ml"), (1, "nowhere")):
                answer = replica.review(gpus, namespace, over=line)
                self.assertTrue(answer["allowed"])
                self.assertIn("patch", answer)
                self.assertIn(UNHEARD, answer["warnings"][0])
            self.assertEqual(replica.metric("subak_static_known"), 0)
            self.assertEqual(replica.metric('subak_listener_serves{listener="webhook"}'), 1)
            if time.monotonic() < begin + 10:
                self.assertEqual(self.status_of(replica, "/readyz"), 503)
            replica.until(lambda: "GPU pods are gated" in replica.health())
            self.assertEqual(self.status_of(replica, "/readyz"), 200)
            self.assertEqual(self.status_of(replica, "/readyz?leader"), 503)
            socket_before, asked = line.sock, Reviews(replica)
        finally:
            self.server.start()
        self.goes_on(replica, asked)
        self.assertNotIn("patch", replica.review(1, "nowhere", over=line))  # no account names it: not ours
        self.assertIs(line.sock, socket_before)
        self.assertEqual(replica.call(*ACCOUNT, "gpu=4")[0], 0)
        self.assertIn("patch", replica.review(4, over=line))
        self.assertFalse(replica.review(8, over=line)["allowed"])
        self.assertEqual(replica.end(signal.SIGTERM), 0)

    def test_with_a_copy_it_judges_as_before(self):
        state = self.left_by_a_leader("known")
        self.server.kill()
        try:
            replica = self.waiting(state)
            line = replica.connection()
            allowed, denied = replica.review(4, over=line), replica.review(8, over=line)
            self.assertIn("patch", allowed)
            self.assertNotIn(UNHEARD, str(allowed))
            self.assertFalse(denied["allowed"])
            self.assertNotIn("patch", replica.review(1, "nowhere", over=line))  # no account names it: not ours
            self.assertIn("decided by a copy of", replica.health())
            self.assertEqual(self.status_of(replica, "/readyz"), 200)
            self.assertEqual(replica.metric("subak_static_known"), 1)
            self.assertLess(replica.metric("subak_static_age_seconds"), DEADLINE_S)
            socket_before, asked = line.sock, Reviews(replica)
        finally:
            self.server.start()
        self.goes_on(replica, asked)
        self.assertEqual((replica.review(4, over=line), replica.review(8, over=line)), (allowed, denied))
        self.assertEqual(replica.call(*ACCOUNT, "gpu=16")[0], 0)
        self.assertIn("patch", replica.review(8, over=line))
        self.assertIs(line.sock, socket_before)
        self.assertNotIn("subak_static", replica.get("/metrics"))
        self.assertEqual(replica.end(signal.SIGTERM), 0)
        self.assertIn("reviews are decided by the last copy", replica.errors)

    def test_a_standby_that_was_killed_has_a_copy_too(self):
        state = self.server.make_database("standby")
        first = Process(state)
        self.assertEqual(first.call(*ACCOUNT, "gpu=4")[0], 0)
        second = self.replica(state)
        second.until(lambda: os.path.exists(self.copy))
        self.assertEqual(second.end(signal.SIGKILL), -signal.SIGKILL)
        self.server.kill()
        try:
            second = self.waiting(state)
            self.assertFalse(second.review(8)["allowed"])
            self.assertIn("patch", second.review(4))
        finally:
            self.server.start()
        second.is_ready()
        self.assertEqual(second.health(), "a standby: webhook and reads are served\n")
        self.assertEqual(second.end(signal.SIGTERM), 0)
        self.assertEqual(first.end(signal.SIGTERM), 0)

    def test_a_copy_that_is_damaged_is_logged_and_not_used(self):
        state = self.left_by_a_leader("damaged")
        with open(self.copy, "r+b") as file:
            file.seek(40)
            byte = file.read(1)
            file.seek(40)
            file.write(bytes([byte[0] ^ 4]))
        self.server.kill()
        try:
            replica = self.waiting(state)
            self.assertIn(UNHEARD, replica.review(8)["warnings"][0])
            self.assertEqual(replica.metric("subak_static_known"), 0)
        finally:
            self.server.start()
        replica.is_ready()
        replica.until_it_leads()
        self.assertFalse(replica.review(8)["allowed"])
        self.assertEqual(replica.end(signal.SIGTERM), 0)
        self.assertRegex(replica.errors, r"the copy for a start without the database is not used.*its checksum differs")
        again = self.replica(state)  # it was written anew
        self.assertEqual(again.end(signal.SIGTERM), 0)
        self.assertNotIn("is not used", again.errors)

    def test_what_is_refused_is_refused_once_the_server_answers(self):
        refused = subprocess.run([SUBAKD, "--state", self.server.address("postgres", "nobody"), *LOCAL, *PORTS],
                                 capture_output=True, text=True, timeout=DEADLINE_S, check=False, cwd=self.folder)
        self.assertEqual(refused.returncode, 1)
        self.assertIn('role "nobody" does not exist', refused.stderr)


unittest.main()
