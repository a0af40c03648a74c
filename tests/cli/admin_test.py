#!/usr/bin/env python3
"""Backup, restore, finalize and accept-clock as an operator does them: the real subak and the real subakd.

Usage: admin_test.py PATH_TO_SUBAK PATH_TO_SUBAKD PATH_TO_MAKE_STORE
"""

import json
import os
import re
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.error
import urllib.request

SUBAK, SUBAKD, MAKE_STORE = (os.path.abspath(sys.argv.pop(1)) for _ in range(3))
GOLDEN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "golden", "store")
DEADLINE_S = 120  # generous: other work may share the machine
PORTS = ("--listen-webhook", "127.0.0.1:0", "--listen-grpc", "127.0.0.1:0", "--listen-http", "127.0.0.1:0")


class Service:
    """A running subakd and the subak that talks to it."""

    def __init__(self, state):
        self.child = subprocess.Popen(
            [SUBAKD, "--state", state, *PORTS], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self.drain = threading.Thread(target=self.child.stderr.read)
        ports = dict(re.findall(r"(\w+)=([\d.]+:\d+)", self.child.stdout.readline()))
        self.drain.start()
        self.environment = {**os.environ, "SUBAK_SERVER": ports["grpc"]}
        self.http = ports["http"]

    def run(self, *arguments):
        return subprocess.run([SUBAK, *arguments], capture_output=True, text=True, timeout=DEADLINE_S,
                              env=self.environment, check=False)  # fmt: skip

    def ok(self, *arguments):
        done = self.run(*arguments)
        if done.returncode != 0:
            raise AssertionError(f"{arguments}: {done.stderr}")
        return done.stdout

    def ready(self):
        """What /readyz answers."""
        try:
            with urllib.request.urlopen(f"http://{self.http}/readyz", timeout=DEADLINE_S) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()

    def json(self, *arguments):
        return json.loads(self.ok(*arguments, "--output", "json"))

    def end(self, how=signal.SIGTERM):
        if self.child.poll() is None:
            self.child.send_signal(how)
            self.child.wait(timeout=DEADLINE_S)
        self.drain.join()
        self.child.stdout.close()
        self.child.stderr.close()
        return self.child.returncode


def refused(*arguments):
    """An offline command that fails: its code and its two lines."""
    done = subprocess.run([SUBAK, *arguments], capture_output=True, text=True, timeout=DEADLINE_S, check=False)
    return done.returncode, done.stderr


def facts(path, until):
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as store:
        return store.execute("SELECT * FROM facts WHERE seq <= ? ORDER BY seq", (until,)).fetchall()


def crc32c(data, before=0):
    crc = ~before & 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return ~crc & 0xFFFFFFFF


def write_head(db):
    """What a store says of its last rows, with the checksum of server/store/file/row_sum.h."""
    (uuid,) = db.execute("SELECT value FROM meta WHERE key = 'uuid'").fetchone()
    seq, seq_sum = db.execute("SELECT seq, sum FROM facts ORDER BY seq DESC LIMIT 1").fetchone()
    counts = [db.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in ("ledger", "audit")]
    row = struct.pack("<4Q", seq, seq_sum & 0xFFFFFFFF, *counts)
    (head_sum,) = struct.unpack("<i", struct.pack("<I", crc32c(row, crc32c(uuid.encode()))))
    db.execute("REPLACE INTO head VALUES (1, ?, ?, ?, ?, ?)", (seq, seq_sum, *counts, head_sum))


class Admin(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.state = self.path("var/subak.db")

    def path(self, name):
        return os.path.join(self.folder, name)

    def start(self, state=None):
        service = Service(state or self.state)
        self.addCleanup(service.end)
        return service

    def offline(self, *arguments):
        done = subprocess.run([SUBAK, *arguments, "--output", "json"], capture_output=True, text=True,
                              timeout=DEADLINE_S, check=False)  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def fleet(self, service):
        service.ok("cluster", "import", "--cluster", "c", "--nodes", "4x8:NVIDIA-H100-80GB-HBM3")
        service.ok("cluster", "mode", "c", "enforce", "--reason", "test")
        service.ok("account", "set", "ml", "--reason", "new")

    def state_at(self, store, seq):
        """The digest after fact `seq`: a restore of the store without what came later."""
        short = f"{store}.short"
        shutil.copy(store, short)
        with sqlite3.connect(short) as db:
            for table in ("facts", "ledger", "audit"):
                db.execute(f"DELETE FROM {table} WHERE seq > ?", (seq,))
            db.execute("DELETE FROM checkpoint")
            db.execute("DELETE FROM meta WHERE key LIKE 'checkpoint%' OR key LIKE 'history%'")
            write_head(db)
        digest = self.offline("admin", "restore", short, "--state", short + ".state")["digest"]
        until = self.offline("admin", "restore", store, "--state", f"{store}.until{seq}", "--until", str(seq))
        self.assertEqual((until["digest"], int(until["sequence"])), (digest, seq))
        return digest

    def test_backup_under_load_comes_back_with_the_same_state(self):
        service = self.start()
        self.fleet(service)
        done = threading.Event()
        counts = []

        def load():
            count = 0
            while not done.is_set() or count == 0:
                service.ok("job", "submit", "--cluster", "c", "--account", "ml", "--user", "ana", "--gpus", "1")
                count += 1
            counts.append(count)

        writers = [threading.Thread(target=load) for _ in range(3)]
        for writer in writers:
            writer.start()
        backups = []
        for i in range(4):
            file = self.path(f"backup{i}.db")
            backups.append(service.json("admin", "backup", file))
            self.assertEqual(backups[-1]["file"], file)
            self.assertEqual(os.stat(file).st_mode & 0o777, 0o600)
        done.set()
        for writer in writers:
            writer.join()
        self.assertEqual(len(counts), 3)
        last = int(service.json("status")["durableSequence"])
        taken = [int(b["sequence"]) for b in backups]
        self.assertEqual(taken, sorted(taken))
        self.assertLess(taken[0], last)  # the load went on
        self.assertEqual([n for n in os.listdir(self.folder) if "part" in n], [])

        chosen, seq = backups[1], taken[1]
        other = self.path("elsewhere/subak.db")
        restored = self.offline("admin", "restore", chosen["file"], "--state", other)
        self.assertEqual((restored["sequence"], restored["digest"]), (chosen["sequence"], chosen["digest"]))
        self.assertEqual(facts(other, seq), facts(self.state, seq))
        second = self.start(other)
        second.ok("job", "submit", "--cluster", "c", "--account", "ml", "--gpus", "1")
        again = second.json("admin", "backup", self.path("again.db"))
        self.assertGreater(int(again["sequence"]), seq)
        self.assertEqual(self.state_at(again["file"], seq), chosen["digest"])
        self.assertEqual(self.state_at(backups[3]["file"], seq), chosen["digest"])
        self.assertIn("every balance is the sum of its rows", second.ok("usage", "verify"))

    def test_what_the_commands_say(self):
        service = self.start()
        self.fleet(service)
        file = self.path("b.db")
        said = service.ok("admin", "backup", file)
        self.assertRegex(said, r"(?m)^digest: +[0-9a-f]{32} after fact \d+$")
        self.assertIn("had the same digest after fact", said)
        for line in said.splitlines():
            self.assertLessEqual(len(line.replace(self.folder, "")), 100, line)
        self.assertEqual(service.run("admin", "backup", file).returncode, 2)
        self.assertIn("exists already", service.run("admin", "backup", file).stderr)
        self.assertEqual(service.run("admin", "backup", self.path("c.db"), "--output", "csv").returncode, 2)
        missing = service.run("admin", "backup", self.path("nowhere/b.db"))
        self.assertEqual(missing.returncode, 4)
        self.assertEqual(missing.stderr.count("\n"), 2)
        self.assertEqual(refused("--server", "127.0.0.1:1", "admin", "backup", self.path("c.db"))[0], 3)
        self.assertEqual(sorted(os.listdir(self.folder)), ["b.db", "var"])

        code, said = refused("admin", "restore", file, "--state", self.state)
        self.assertEqual(code, 1)
        self.assertIn(f"subak.db.lock: locked by process {service.child.pid}\n", said)
        self.assertEqual(service.end(), 0)
        code, said = refused("admin", "restore", file, "--state", self.state)
        self.assertEqual(code, 1)
        self.assertIn("--force", said)
        done = self.offline("admin", "restore", file, "--state", os.path.dirname(self.state), "--force")
        self.assertEqual(done["replaced"], self.state + ".replaced-1")
        self.assertEqual(done["file"], self.state)
        self.assertIn("serving", self.start().ok("status"))

    def test_a_restore_until_a_fact_or_a_time(self):
        service = self.start()
        self.fleet(service)
        service.ok("account", "set", "bio", "--reason", "later")
        file = self.path("b.db")
        last = int(service.json("admin", "backup", file)["sequence"])
        edits = {edit["subject"]: edit for edit in service.json("audit")["entries"]}
        self.assertEqual(service.end(), 0)
        edit = int(edits["ml"]["sequence"])
        with sqlite3.connect(f"file:{file}?mode=ro", uri=True) as db:
            (of_moment,) = db.execute("SELECT max(seq) FROM facts WHERE time_ms = (SELECT time_ms FROM facts WHERE seq = ?)",
                                      (edit,)).fetchone()  # fmt: skip
        for number, (until, seq) in enumerate(((str(edit), edit), (edits["ml"]["time"], of_moment))):
            state = self.path(f"until{number}.db")
            done = subprocess.run([SUBAK, "admin", "restore", file, "--state", state, "--until", until],
                                  capture_output=True, text=True, timeout=DEADLINE_S, check=False)  # fmt: skip
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertRegex(done.stdout, rf"(?m)^until: +fact {seq} of \d")
            self.assertRegex(done.stdout, rf"(?m)^left out: +{last - seq} later facts, up to \d")
            for line in done.stdout.splitlines():
                self.assertLessEqual(len(line.replace(self.folder, "")), 100, line)
            restored = self.start(state)
            self.assertEqual(restored.run("account", "get", "ml").returncode, 0)
            self.assertEqual(restored.run("account", "get", "bio").returncode, 4)
            self.assertNotIn("bio", restored.ok("audit"))
            restored.ok("account", "set", "bio", "--reason", "again")
            self.assertEqual(restored.end(), 0)
        for until in ("0", str(last + 1), "1999-01-01T00:00:00Z"):
            code, said = refused("admin", "restore", file, "--state", self.path("none.db"), "--until", until)
            self.assertEqual(code, 1)
            self.assertIn("--until: ", said)
            self.assertRegex(said, rf"1 to {last}$|\(fact {last}, the last\)$")
        self.assertEqual(refused("admin", "restore", file, "--until", "99999999999999999999")[0], 2)
        self.assertEqual(refused("admin", "restore", file, "--until", "soon")[0], 2)

    def test_a_bad_backup_is_refused_and_leaves_nothing(self):
        service = self.start()
        self.fleet(service)
        file = self.path("b.db")
        service.ok("admin", "backup", file)
        target = self.path("new/subak.db")

        def expect(code, text):
            got, said = refused("admin", "restore", file, "--state", target)
            self.assertEqual(got, code, said)
            self.assertIn(text, said)
            self.assertEqual(said.count("\n"), 2, said)
            self.assertEqual([n for n in os.listdir(self.path("new")) if not n.endswith(".lock")]
                             if os.path.exists(self.path("new")) else [], [])  # fmt: skip

        with sqlite3.connect(file) as db:
            db.execute("UPDATE facts SET body = body || x'00' WHERE seq = 3")
        expect(1, "row 3 of table facts is not what was written")
        os.truncate(file, os.path.getsize(file) // 2)
        expect(1, "cut off")
        with open(file, "w", encoding="utf-8") as text:
            text.write("hello " * 100)
        expect(1, "not an SQLite file")
        os.remove(file)
        expect(4, "no such file")

    def test_a_store_of_the_newest_version_is_final(self):
        os.makedirs(os.path.dirname(self.state))
        shutil.copy(os.path.join(GOLDEN, "v1.db"), self.state)
        service = self.start()
        status = service.json("status")
        newest = status["newestFactVersion"]
        self.assertEqual(status["factVersion"], newest)
        self.assertNotIn("admin finalize", service.ok("status"))
        self.assertEqual(service.run("admin", "finalize").returncode, 2)
        self.assertIn(f"fact version {newest} already", service.ok("admin", "finalize", "--reason", "step", "--dry-run"))
        self.assertIn(f"fact version {newest} already", service.ok("admin", "finalize", "--reason", "step"))
        self.assertEqual(service.end(signal.SIGKILL), -signal.SIGKILL)
        self.assertEqual(self.start().json("status")["factVersion"], newest)

    def test_a_clock_far_ahead_is_accepted_by_hand(self):
        os.makedirs(os.path.dirname(self.state))
        then_ms = int((time.time() - 40 * 86400) * 1000)
        subprocess.run([MAKE_STORE, self.state, "1", "1000", str(then_ms)], check=True)
        service = self.start()
        code, why = service.ready()
        self.assertEqual(code, 503)
        self.assertRegex(why, r"the wall clock is (40d|39d\d+h).* ahead of the last fact: .*subak admin accept-clock")
        status = service.ok("status")
        self.assertIn("waits for accept-clock", status)
        self.assertRegex(status, r"clock: +not believed: it is .* ahead \(see subak admin accept-clock\)")
        refused_edit = service.run("account", "set", "ml", "--reason", "new")
        self.assertEqual(refused_edit.returncode, 1)
        self.assertIn("not ready", refused_edit.stderr)
        self.assertEqual(service.run("admin", "accept-clock").returncode, 2)
        self.assertIn("would go forward by", service.ok("admin", "accept-clock", "--reason", "rest", "--dry-run"))
        self.assertEqual(service.ready()[0], 503)
        accept = ("admin", "accept-clock", "--reason", "rest", "--request-id", "c1")
        self.assertIn("went forward by", service.ok(*accept))
        self.assertEqual(service.ready(), (200, "ok\n"))
        self.assertIn("an earlier call with this request id accepted the clock", service.ok(*accept))
        self.assertNotIn("clock:", service.ok("status"))
        service.ok("account", "set", "ml", "--reason", "new")
        self.assertIn("clock accepted", service.ok("audit", "--subject", "clock"))
        self.assertEqual(service.end(signal.SIGKILL), -signal.SIGKILL)
        self.assertEqual(self.start().ready()[0], 200)

    def test_a_new_store_is_of_the_newest_version(self):
        status = self.start().json("status")
        self.assertEqual(status["factVersion"], status["newestFactVersion"])


if __name__ == "__main__":
    unittest.main()
