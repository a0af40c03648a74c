#!/usr/bin/env python3
"""Each shell block of docs/ and CONTRIBUTING.md runs as it is printed, from its first line to its last.

Usage: doc_blocks_test.py SUBAK SUBAKD STANDIN

The programs of Subak are real and watch a stand-in of an API server. What would change this machine or needs a real cluster
is played by PLAYED below: it checks the files that it is given and runs the command behind `--`. Absolute folders
are moved below a temporary one. Blocks that a test cannot run are in NOT_RUN, each with the reason.
README.md has a test of its own, use_it_test.py.
"""

import csv
import glob
import gzip
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from standin_cluster import Cluster

SUBAK, SUBAKD, STANDIN = (os.path.abspath(sys.argv.pop(1)) for _ in range(3))
ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
PAGES = ["CONTRIBUTING.md", *sorted(glob.glob("docs/*.md", root_dir=ROOT))]
DEADLINE_S = 240  # of one block; generous: other work may share the machine
COMMANDS = ("cat", "subak", "subakd", "kubectl", "apt-get", "install", "systemctl", "tools/build")
MOVED = ("/var/lib/subak/", "/backup/", "/etc/subak/")

# By the first words of a block.
NOT_RUN = {
    "tools/build": "builds the tree; the test that builds is make test itself",
    "subakd [": "a synopsis",
}

# Plays kubectl, apt-get and the like.
PLAYED = """#!/usr/bin/env python3
import os, subprocess, sys
name, words = os.path.basename(sys.argv[0]), sys.argv[1:]
if "--" in words:
    sys.exit(subprocess.call(words[words.index("--") + 1:]))
files = [w.split("=", 1)[1] for w in words if w.startswith("--from-file=")]
if name == "install":
    files += [w for w in words[:-1] if "/" in w]
if name == "helm":
    files += [words[2] + "/Chart.yaml"] + [w.split("=", 1)[1] for w in words if w.startswith("webhooks.ca=")]
missing = [f for f in files if not os.path.exists(f)]
if missing:
    sys.exit(f"{name}: no such file: {missing}")
if name == "kubectl" and words[:3] == ["apply", "-f", "-"]:
    objects = [o for o in sys.stdin.read().split("\\n---\\n") if o.strip()]
    if not objects or not all("kind:" in o and "apiVersion:" in o for o in objects):
        sys.exit("kubectl apply: an object has no kind or apiVersion")
    print(f"applied {len(objects)} objects")
elif name == "kubectl" and words[:1] == ["get"]:
    print("pod/subak-0")
"""
PLAYED_NAMES = ("kubectl", "helm", "apt-get", "systemctl", "useradd", "runuser", "install")

_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)


def blocks(text):
    """The shell blocks of a page."""
    return [body for _, body in _BLOCK.findall(text) if body.split(None, 1)[0] in COMMANDS]


def reason_not_to_run(block):
    return next((why for words, why in NOT_RUN.items() if block.startswith(words)), None)


def write_trace(path, days, product):
    """A job of 8 GPUs an hour for so many days, in the columns that docs/fairness.md names."""
    with gzip.open(path, "wt", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow("job_id submit_s duration_s gpus gpu_type team user gang_pods state".split())
        for hour in range(days * 24):
            team = f"t{hour % 5}"
            rows.writerow([hour, hour * 3600, 1800 + hour % 7 * 600, 8, product, team, f"{team}u", 1, "Pass"])


class DocBlocks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        tools = os.path.join(cls.folder, "tools")
        for moved in MOVED:
            os.makedirs(cls.folder + moved)
        os.makedirs(tools)
        os.mkdir(os.path.join(cls.folder, "build"))
        os.symlink(os.path.dirname(SUBAK), os.path.join(cls.folder, "build", "bin"))
        os.symlink(os.path.join(ROOT, "deploy"), os.path.join(cls.folder, "deploy"))
        os.symlink(SUBAK, os.path.join(tools, "subak"))
        os.symlink(SUBAKD, os.path.join(tools, "subakd"))
        os.symlink(os.path.join(ROOT, "tools", "check_statement"), os.path.join(tools, "check_statement"))
        for name in PLAYED_NAMES:
            with open(os.path.join(tools, name), "w", encoding="utf-8") as file:
                file.write(PLAYED)
            os.chmod(file.name, 0o755)
        write_trace(os.path.join(cls.folder, "philly.csv.gz"), 40, "")
        write_trace(os.path.join(cls.folder, "venus.csv.gz"), 190, "V100")
        with open(os.path.join(cls.folder, "password"), "w", encoding="utf-8") as file:
            file.write("secret\n")
        cls.cluster = Cluster(STANDIN, cls.folder)
        cls.addClassCleanup(cls.cluster.close)
        cls.cluster.make_namespace("team-a", "true")
        cls.cluster.make_pod("waits", "2026-11-01T12:00:00Z")
        cls.cluster.install()
        cls.environment = {
            **os.environ,
            "PATH": tools + ":" + os.environ["PATH"],
            "KUBECONFIG": cls.cluster.kubeconfig,
            "SUBAK_SERVER": cls.start_service(),
        }
        cls.prepare()

    @classmethod
    def start_service(cls):
        words = [SUBAKD, "--state", "s.db", "--cluster", "main:observe", "--kubeconfig", cls.cluster.kubeconfig]
        for name in ("webhook", "grpc", "http"):
            words += [f"--listen-{name}", "127.0.0.1:0"]
        with open(os.path.join(cls.folder, "log"), "w", encoding="utf-8") as log:
            service = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=log, text=True, cwd=cls.folder)

        def stop():
            service.terminate()
            service.wait(timeout=DEADLINE_S)
            service.stdout.close()

        cls.addClassCleanup(stop)
        return re.search(r"grpc=(\S+)", service.stdout.readline())[1]

    @classmethod
    def prepare(cls):
        """The files that pages take for granted: a backup, the CA and the token of an installation, and a dump of Slurm."""
        shutil.copy(os.path.join(ROOT, "tests", "cli", "data", "migrate", "company.dump"), os.path.join(cls.folder, "acme.dump"))
        done = cls.run_shell("subak install --keys made\ncp made/tls/ca.crt ca.crt\nmkdir -p var/lib/subak/tls\n"
                             "cp ca.crt var/lib/subak/tls/\nsubak admin backup backup/subak-before.db")  # fmt: skip
        assert done.returncode == 0, done.stdout

    @classmethod
    def run_shell(cls, block):
        return subprocess.run(
            ["bash", "-e", "-o", "pipefail", "-c", block], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            stdin=subprocess.DEVNULL, cwd=cls.folder, env=cls.environment, timeout=DEADLINE_S,
        )  # fmt: skip

    def test_each_block_runs(self):
        run, left = 0, set()
        for page in PAGES:
            with open(os.path.join(ROOT, page), encoding="utf-8") as file:
                text = file.read()
            for block in blocks(text):
                if why := reason_not_to_run(block):
                    left.add(why)
                    continue
                moved = re.sub("|".join(MOVED), lambda m: self.folder + m[0], block)
                done = self.run_shell(moved)
                self.assertEqual(done.returncode, 0, f"{page}:\n{block}\n{done.stdout}")
                run += 1
        self.assertGreaterEqual(run, 13)
        self.assertEqual(left, set(NOT_RUN.values()), "a reason without a block")

    def test_it_notices(self):
        self.assertNotEqual(self.run_shell("subak account sett ml").returncode, 0)
        self.assertNotEqual(self.run_shell("kubectl create secret x --from-file=no/such").returncode, 0)
        self.assertNotEqual(self.run_shell("echo nothing | kubectl apply -f -").returncode, 0)
        self.assertNotEqual(self.run_shell("subak status --sever x\ntrue").returncode, 0)
        self.assertEqual(blocks("```\nsubak status\n```\n```yaml\na: b\n```\n"), ["subak status\n"])


if __name__ == "__main__":
    if shutil.which("bash") is None:
        sys.exit("bash is missing")
    unittest.main()
