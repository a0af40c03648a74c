"""A subakd of its own for the tests of a class, and subak to call it.

A test that imports this gets two arguments: PATH_TO_SUBAK PATH_TO_SUBAKD
"""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

SUBAK, SUBAKD = (os.path.abspath(path) for path in (sys.argv.pop(1), sys.argv.pop(1)))
DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data")
DEADLINE_S = 120  # generous: other work may share the machine
PORTS = ("--listen-webhook", "127.0.0.1:0", "--listen-grpc", "127.0.0.1:0", "--listen-http", "127.0.0.1:0")
COLUMNS = 100


class Service(unittest.TestCase):
    """A service of its own for the tests of a class, started with these arguments."""

    arguments = ()
    serial = 0

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        state = os.path.join(cls.folder.name, "subak.db")
        cls.server = subprocess.Popen(
            [SUBAKD, "--state", state, *PORTS, *cls.arguments], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        ports = dict(re.findall(r"(\w+)=([\d.]+:\d+)", cls.server.stdout.readline()))
        cls.environment = {**os.environ, "SUBAK_SERVER": ports["grpc"], "TZ": "CET-1"}

    @classmethod
    def tearDownClass(cls):
        cls.server.send_signal(signal.SIGTERM)
        cls.server.communicate(timeout=DEADLINE_S)
        cls.folder.cleanup()

    def run_subak(self, *arguments, stdin=""):
        return subprocess.run(
            [SUBAK, *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=DEADLINE_S,
            env=self.environment,
            check=False,
        )

    def ok(self, *arguments, stdin=""):
        done = self.run_subak(*arguments, stdin=stdin)
        self.assertEqual(done.returncode, 0, f"{arguments}: {done.stderr}")
        self.assertNotIn("\x1b", done.stdout)
        if "wide" not in arguments and "json" not in arguments and "csv" not in arguments:
            for line in done.stdout.splitlines():
                self.assertLessEqual(len(line), COLUMNS, line)
        return done.stdout

    def ok_with(self, wanted, *arguments):
        """The order is made anew at most once a second: until it has what was submitted just now."""
        for _ in range(100):
            out = self.ok(*arguments)
            if wanted in out:
                return out
            time.sleep(0.1)
        self.fail(f"{arguments}: no {wanted} in\n{out}")

    def fails(self, code, *arguments):
        done = self.run_subak(*arguments)
        self.assertEqual(done.returncode, code, f"{arguments}: {done.stdout}{done.stderr}")
        self.assertEqual(done.stderr.count("\n"), 2, done.stderr)
        return done.stderr

    def json(self, *arguments):
        return json.loads(self.ok(*arguments, "--output", "json"))

    def cluster(self):
        """A cluster of its own for each test."""
        Service.serial += 1
        name = f"c{Service.serial}"
        self.ok("cluster", "import", "--cluster", name, "--nodes", "2x8:NVIDIA-H100-80GB-HBM3")
        self.ok("cluster", "mode", name, "enforce", "--reason", "test")
        return name

    def account(self):
        Service.serial += 1
        name = f"team{Service.serial}"
        self.ok("account", "set", name, "--shares", "3", "--reason", "new team")
        return name

    def submit(self, cluster, account, *more):
        return self.json("job", "submit", "--cluster", cluster, "--account", account, *more)["jobId"]
