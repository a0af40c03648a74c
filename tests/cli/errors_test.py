#!/usr/bin/env python3
"""What subak says when something is wrong, against a real subakd: two messages of each command as golden text.

Usage: errors_test.py PATH_TO_SUBAK PATH_TO_SUBAKD

SUBAK_GOLDEN_WRITE=1 writes data/errors.txt anew. Read it then as somebody who sees these messages for the first
time: one line of what, one of what to do.
"""

import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import unittest

SUBAK, SUBAKD = (os.path.abspath(path) for path in (sys.argv.pop(1), sys.argv.pop(1)))
HERE = os.path.dirname(os.path.abspath(__file__))
GOLDEN = os.path.join(HERE, "data", "errors.txt")
COMMANDS = os.path.join(HERE, "data", "errors_commands.txt")
DEADLINE_S = 120  # generous: other work may share the machine
PORTS = ("--listen-webhook", "127.0.0.1:0", "--listen-grpc", "127.0.0.1:0", "--listen-http", "127.0.0.1:0")
LINE_BYTES = 200

FLEET = "--nodes", "2x8:NVIDIA-H100-80GB-HBM3"
SETUP = (
    ("cluster", "import", "--cluster", "default", *FLEET),
    ("cluster", "import", "--cluster", "other", "--nodes", "1x8:NVIDIA-H100-PCIe"),
    ("cluster", "mode", "default", "enforce", "--reason", "test"),
    ("account", "set", "ml", "--limit", "8", "--reason", "test"),
    ("account", "set", "ml.vision", "--reason", "test"),
    ("job", "submit", "--cluster", "default", "--account", "ml.vision", "--user", "ana", "--gpus", "8"),
)
FILES = {
    "broken.yaml": "accounts:\n- path: ml\n  colour: red\n",
    "orphan.yaml": "accounts:\n- path: nobody.below\n  shares: 1\n",
    "empty.yaml": "accounts: []\n",
    "broken.json": '{"items": [',
    "job.json": '{"colour": "red"}\n',
    "prices.yaml": "currency: EUR\ngpus:\n- {from: today, product: H100, perHour: 2}\n",
    "cut.dump": "Cluster - 'acme'\nParent - 'root'\nAccount - 'ml':Description='machine lea",
    "trace.csv": "colour\nred\n",
    "store.db": "this is no store\n",
}


class Errors(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        for name, text in FILES.items():
            with open(os.path.join(cls.folder.name, name), "w", encoding="utf-8") as file:
                file.write(text)
        cls.server = subprocess.Popen(
            [SUBAKD, "--state", "subak.db", *PORTS],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=cls.folder.name,
        )
        ports = dict(re.findall(r"(\w+)=([\d.]+:\d+)", cls.server.stdout.readline()))
        cls.address = ports["grpc"]
        cls.environment = {**os.environ, "SUBAK_SERVER": cls.address, "TZ": "UTC0"}
        for arguments in SETUP:
            done = cls.run_subak(arguments)
            assert done.returncode == 0, done.stderr

    @classmethod
    def tearDownClass(cls):
        cls.server.send_signal(signal.SIGTERM)
        cls.server.communicate(timeout=DEADLINE_S)
        cls.folder.cleanup()

    @classmethod
    def run_subak(cls, arguments):
        return subprocess.run(
            [SUBAK, *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=DEADLINE_S,
            env=cls.environment,
            cwd=cls.folder.name,
            check=False,
        )

    def message(self, line):
        done = self.run_subak(shlex.split(line))
        self.assertNotEqual(done.returncode, 0, line)
        told = done.stderr.splitlines()
        self.assertEqual(len(told), 2, f"{line}: {done.stderr}")
        self.assertTrue(told[0].startswith("subak: ") and told[1].startswith("  -> "), done.stderr)
        for part in told:
            self.assertLessEqual(len(part), LINE_BYTES, line)
        return f"$ subak {line}\n{done.stderr}exit {done.returncode}\n".replace(self.address, "SERVER")

    def test_messages(self):
        with open(COMMANDS, encoding="utf-8") as file:
            lines = [line.rstrip("\n") for line in file if line.strip() and not line.startswith("#")]
        got = "\n".join(self.message(line) for line in lines)
        if os.environ.get("SUBAK_GOLDEN_WRITE") == "1":
            with open(GOLDEN, "w", encoding="utf-8") as file:
                file.write(got)
        with open(GOLDEN, encoding="utf-8") as file:
            self.assertEqual(got, file.read())

    def test_two_of_each_command(self):
        with open(COMMANDS, encoding="utf-8") as file:
            lines = [line.split() for line in file if line.strip() and not line.startswith("#")]
        for command in self.commands(()):
            told = [line for line in lines if tuple(line[: len(command)]) == command]
            self.assertGreaterEqual(len(told), 2, f"data/errors_commands.txt: two for {' '.join(command)}")

    def commands(self, above):
        """The commands that take no command themselves, as help lists them."""
        listing = self.run_subak([*above, "--help"]).stdout.partition("Subcommands:")[2]
        names = re.findall(r"^  (\S+)", listing, re.MULTILINE)
        if not names and above:
            yield above
        for name in names:
            if name not in ("completion", "version"):
                yield from self.commands((*above, name))


if __name__ == "__main__":
    unittest.main()
