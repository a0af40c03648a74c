#!/usr/bin/env python3
"""The real binary on a real PostgreSQL: a server that is killed and comes back, a second leader, what is refused.

Usage: subakd_postgres_test.py PATH_TO_SUBAKD PATH_TO_SUBAK
"""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.request

from pg_server import DEADLINE_S, Server

GRANTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "deploy", "postgres", "service_role.sql")
SUBAKD, SUBAK = (os.path.abspath(path) for path in (sys.argv.pop(1), sys.argv.pop(1)))
LOCAL = ("--database-durability", "local")  # the servers here have no standbys
PORTS = ("--listen-webhook", "127.0.0.1:0", "--listen-grpc", "127.0.0.1:0", "--listen-http", "127.0.0.1:0")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Process:
    """A running subakd, in a folder of its own."""

    def __init__(self, state, *flags, durability=LOCAL, wait=True):
        self.folder = tempfile.mkdtemp(prefix="subak_pgd_")
        self.http = free_port()
        ports = (*PORTS[:-1], f"127.0.0.1:{self.http}")
        pipe = subprocess.PIPE
        self.child = subprocess.Popen(
            [SUBAKD, "--state", state, *durability, *ports, *flags], stdout=pipe, stderr=pipe, text=True, cwd=self.folder
        )
        if wait:
            self.is_ready()

    def is_ready(self):
        """Waits for its first line, which says the ports."""
        self.ports = dict(re.findall(r"(\w+)=([\d.]+:\d+)", self.child.stdout.readline()))

    def health(self):
        """What /readyz says, once the port answers."""
        end = time.monotonic() + DEADLINE_S
        while time.monotonic() < end:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{self.http}/readyz", timeout=DEADLINE_S) as reply:
                    return reply.read().decode()
            except urllib.error.HTTPError as error:
                return error.read().decode()
            except OSError:
                time.sleep(0.02)
        raise RuntimeError("no answer")

    def wait(self):
        self.errors = self.child.communicate(timeout=DEADLINE_S)[1]
        shutil.rmtree(self.folder)
        return self.child.returncode

    def end(self, how):
        self.child.send_signal(how)
        return self.wait()

    def call(self, *words):
        command = [SUBAK, "--server", self.ports["grpc"], *words]
        done = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE_S, check=False)
        return done.returncode, done.stdout, done.stderr

    def set_shares(self, path, shares):
        return self.call("account", "set", path, "--shares", str(shares), "--reason", "test")


class OnPostgres(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server()

    @classmethod
    def tearDownClass(cls):
        cls.server.end()

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

    def test_a_second_one_waits_and_takes_over(self):
        state = self.server.make_database("two")
        first = Process(state)
        self.assertEqual(first.set_shares("ml", 2)[0], 0)
        second = Process(state, wait=False)
        self.assertIn("recovering", second.health())
        begin = time.monotonic()
        self.assertEqual(first.end(signal.SIGTERM), 0)
        second.is_ready()
        print(f"after SIGTERM another leads within {time.monotonic() - begin:.1f} s", file=sys.stderr)
        self.assertEqual(second.set_shares("ml", 3)[0], 0)

        third = Process(state, wait=False)
        begin = time.monotonic()
        second.child.send_signal(signal.SIGSTOP)  # it hangs, and does not know
        third.is_ready()
        print(f"after a stop another leads within {time.monotonic() - begin:.1f} s", file=sys.stderr)
        self.assertEqual(third.set_shares("ml", 4)[0], 0)
        second.child.send_signal(signal.SIGCONT)
        second.call("account", "set", "ml", "--shares", "9", "--reason", "late")
        self.assertEqual(second.wait(), 3)
        self.assertIn("leads by now", second.errors)
        self.assertIn("shares 3 -> 4", third.call("audit")[1])
        self.assertRegex(third.call("account", "get", "ml")[1], r"shares:\s+4")

        fourth = Process(state, wait=False)
        self.assertIn("recovering", fourth.health())
        self.assertEqual(fourth.end(signal.SIGTERM), 0)  # while it waits
        self.assertEqual(third.end(signal.SIGTERM), 0)

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
        second = Process(as_service, wait=False)
        self.assertIn("recovering", second.health())
        self.assertEqual(first.end(signal.SIGTERM), 0)  # with a checkpoint
        self.assertNotIn("may do more", first.errors)
        second.is_ready()
        self.assertEqual(second.set_shares("ml", 4)[0], 0)
        self.assertEqual(second.end(signal.SIGKILL), -signal.SIGKILL)
        third = Process(as_service, "--ignore-checkpoint")
        self.assertRegex(third.call("account", "get", "ml")[1], r"shares:\s+4")
        self.assertEqual(third.end(signal.SIGTERM), 0)
        for change in ("UPDATE facts SET seq = seq", "DELETE FROM facts", "DELETE FROM ledger", "UPDATE audit SET seq = seq",
                       "TRUNCATE facts", "DROP TABLE facts"):
            with self.assertRaises(subprocess.CalledProcessError, msg=change):
                self.server.psql(change, "books", "books_service")


if __name__ == "__main__":
    unittest.main(verbosity=2)
