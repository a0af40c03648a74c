#!/usr/bin/env python3
"""What README.md prints under "Use it" and "Use it with your fleet" works line by line on a fresh state.

Usage: use_it_test.py SUBAK SUBAKD SUBAK_PLAY

A line is run as it stands, by one shell, in a folder where build/bin is the programs' own. Only the ports differ, and
`kubectl`, which prints a file. A line without an expectation below is a failure: so each says something.
"""

import datetime
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

SUBAK, SUBAKD, PLAY = (os.path.abspath(sys.argv.pop(1)) for _ in range(3))
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
CONFIG = os.path.join(ROOT, "deploy", "demo", "subak.yaml")
NODES = os.path.join(HERE, "data", "fleet.json")
PORTS = ("--listen-webhook", "127.0.0.1:0", "--listen-grpc", "127.0.0.1:0", "--listen-http", "127.0.0.1:0")
DEADLINE_S = 240  # of one line; generous: other work may share the machine
JOB_SECONDS = "6"
COLUMNS = 100
END = "@@end"

# What each line, by its words, has to print.
EXPECTED = {
    "status": r"serving, leader(?s:.*)demo +enforce +synced",
    "account set": r"account ml\.audio created",
    "job submit": r"^$",
    "claims": r"JOB +ACCOUNT(?s:.*)1-\d+ +ml\.audio +NVIDIA-H100\S+=4 .* 1-7 +ml\.vision/ana",
    "queue": r"POS +JOB(?s:.*) 1-\d+ +(ml|bio)",
    "why": r"^job 1-\d+ of ml\.audio: 1x4, 4 GPUs",
    "plan": r"(?:2m|1m\d\ds) from(?s:.*)in demo\n(?s:.*)\d+ start(?s:.*)JOB +NAME",
    "job watch": r"1-\d+ +ml\.audio +1x4 (?s:.*)finished",
    "job get": r"^job 1-7 (?s:.*)preempted: +for 1-\d+ of ml\.audio at",
    "share": r"(?s)audio.*vision|vision.*audio",
    "usage report": r"ml\.audio(?s:.*)ml\.vision(?s:.*)TOTAL +\d+\.\d\d",
    "admin backup": r"file: +today\.db",
}
EXPECTED_FLEET = {
    "cluster import": r"imported \d+ nodes",
    "account set": r"team-a|ml",
}


def lines_of(heading):
    """The commands of the first code block below a heading of README.md, without their comments."""
    with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as file:
        text = file.read()
    block = re.search(rf"^## {re.escape(heading)}\n.*?^```\n(.*?)^```$", text, re.M | re.S)
    joined = re.sub(r" *\\\n *", " ", block.group(1))  # a line that ends in a backslash goes on in the next
    return [re.sub(r"\s+#.*", "", line) for line in joined.splitlines()]


class Shell:
    """One bash that runs line after line, as a terminal would."""

    def __init__(self, folder, environment):
        self.bash = subprocess.Popen(
            ["bash"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            cwd=folder, env=environment,
        )  # fmt: skip

    def run(self, line):
        """(exit code, what it printed)"""
        hangs = threading.Timer(DEADLINE_S, self.bash.kill)
        hangs.start()
        self.bash.stdin.write(f"{line}\necho {END} $?\n")
        self.bash.stdin.flush()
        out = ""
        for got in self.bash.stdout:
            if got.startswith(END):
                hangs.cancel()
                return int(got.split()[1]), out
            out += got
        raise AssertionError(f"no end within {DEADLINE_S} s: {line}\n{out}")

    def end(self):
        self.bash.stdin.close()
        self.bash.wait()
        self.bash.stdout.close()


class UseIt(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        os.mkdir(os.path.join(self.folder, "build"))
        os.symlink(os.path.dirname(SUBAK), os.path.join(self.folder, "build", "bin"))

    def start(self, *command):
        child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=self.folder)
        self.addCleanup(child.stdout.close)
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        hangs = threading.Timer(DEADLINE_S, child.kill)
        hangs.start()
        self.addCleanup(hangs.cancel)
        return child

    def shell(self, grpc, path=""):
        environment = {**os.environ, "SUBAK_SERVER": grpc, "PATH": path + os.environ["PATH"]}
        shell = Shell(self.folder, environment)
        self.addCleanup(shell.end)
        return shell

    def run_lines(self, shell, lines, expected):
        said = {}
        for line in lines:
            words = next((w for w in expected if f"build/bin/subak {w}" in line), None)
            self.assertIsNotNone(words, f"no expectation for: {line}")
            code, out = shell.run(line)
            self.assertEqual(code, 0, f"{line}\n{out}")
            self.assertRegex(out, expected[words], line)
            said[words] = out
        self.assertEqual(set(said), set(expected), "a line of the README is gone")
        return said

    def check_start(self, why):
        """All that the job waits for states a time limit: its start is told at once, and is near."""
        waits = re.search(r"^it (?:starts by|may start around) (\S+ \S+)", why, re.M)
        if waits is None:
            self.assertRegex(why, r"^job \S+ of ml.audio: 1x4, 4 GPUs, (starting|running)", why)
            return
        told = datetime.datetime.strptime(waits[1], "%Y-%m-%d %H:%M:%S")
        self.assertLess(told - datetime.datetime.now(), datetime.timedelta(minutes=10), why)

    def check_plan(self, plan):
        """At most 15 rows of the fleet and 15 jobs."""
        picture, jobs = plan.split("\nJOB ")
        rows = [line for line in picture.splitlines() if re.search(r" \d+  ", line)]
        self.assertIn(len(rows), range(1, 16), plan)
        jobs = [line for line in jobs.splitlines() if re.match(r"\d+-\d+ ", line)]
        self.assertIn(len(jobs), range(1, 16), plan)

    def check_victim(self, shell):
        """A job that gives GPUs back has one end: not that of its time limit, and not that of a hold."""
        until = time.monotonic() + DEADLINE_S
        got, victim = "", ""
        while not got.startswith(f"job {victim} ending"):
            self.assertLess(time.monotonic(), until, got)
            claims = json.loads(shell.run("build/bin/subak claims --output json")[1])["claims"]
            if not claims:
                shell.run("build/bin/subak job submit --account ml.audio --gpus H100=4 --time-limit 1m")
                continue
            victim = claims[0]["victims"][0]["jobId"]
            got = shell.run(f"build/bin/subak job get {victim}")[1]
        self.assertRegex(got, r"preempted: +for \S+ of ml\.audio at [^;]+; it should end by ")
        self.assertNotRegex(got, r"free by|must be bound")
        why = shell.run(f"build/bin/subak why {victim}")[1]
        self.assertIn("GPUs, ending, preempted\n", why)
        self.assertNotIn("expected to be free", why)

    def read_until(self, child, pattern):
        text = ""
        for line in child.stdout:
            text += line
            found = re.search(pattern, text)
            if found:
                return found.group(1)
        raise AssertionError(f"it ended: {text}")

    def test_with_a_played_cluster(self):
        lines = lines_of("Use it")
        self.assertEqual(lines.pop(0), "make play")
        play = self.start(PLAY, "--service", SUBAKD, CONFIG, os.path.join(self.folder, "play"), JOB_SECONDS)
        grpc = self.read_until(play, r"gRPC +(\S+)")
        shell = self.shell(grpc)
        said = self.run_lines(shell, lines, EXPECTED)
        job = shell.run("echo $job")[1].strip()
        self.assertRegex(job, r"^1-\d+$")
        self.assertIn(job, said["why"])
        for words, out in said.items():
            for line in out.splitlines():
                self.assertLessEqual(len(line), COLUMNS, f"{words}: {line}")
        self.check_start(said["why"])
        self.check_plan(said["plan"])
        self.check_victim(shell)
        rows = json.loads(shell.run("build/bin/subak usage report --output json")[1])["rows"]
        used = [int(row["amount"]["gpuSeconds"]) for row in rows if row["account"] == "ml.audio"]
        self.assertGreater(sum(used), 0, rows)
        play.send_signal(signal.SIGINT)
        self.assertEqual(play.wait(timeout=DEADLINE_S), 0)

    def test_with_a_fleet(self):
        lines = lines_of("Use it with your fleet")
        self.assertEqual(lines.pop(0), "make run")
        tools = os.path.join(self.folder, "tools")
        os.mkdir(tools)
        with open(os.path.join(tools, "kubectl"), "w", encoding="utf-8") as file:
            file.write(f'#!/bin/sh\n[ "$*" = "get nodes -o json" ] && cat {NODES}\n')
        os.chmod(file.name, 0o755)
        service = self.start(SUBAKD, "--state", os.path.join(self.folder, "var", "subak.db"), *PORTS)
        shell = self.shell(self.read_until(service, r"grpc=(\S+)"), tools + ":")
        self.run_lines(shell, lines, EXPECTED_FLEET)
        code, out = shell.run("build/bin/subak cluster list --output csv")
        self.assertEqual(code, 0)
        self.assertNotIn("default", out, "an empty cluster of that name is in the way")
        service.send_signal(signal.SIGTERM)
        self.assertEqual(service.wait(timeout=DEADLINE_S), 0)


if __name__ == "__main__":
    unittest.main()
