#!/usr/bin/env python3
"""A real leader and a real `subakd --follow`: the same answers, also while the leader is away, and none before it was heard.

Usage: replica_test.py PATH_TO_SUBAKD PATH_TO_SUBAK
"""

import json
import os
import re
import shutil
import signal
import ssl
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.request

SUBAKD, SUBAK = (os.path.abspath(path) for path in (sys.argv.pop(1), sys.argv.pop(1)))
DEADLINE_S = 120  # generous: other work may share the machine
H100 = "NVIDIA-H100-80GB-HBM3"


def until(what, condition):
    end = time.monotonic() + DEADLINE_S
    while time.monotonic() < end:
        if condition():
            return
        time.sleep(0.05)
    raise AssertionError(f"not within {DEADLINE_S} s: {what}")


def review(gpus, namespace="team-a", resource="nvidia.com/gpu", user="ana", **spec):
    amounts = {"cpu": "4", "memory": "8Gi", **({resource: str(gpus)} if gpus else {})}
    container = {"name": "c", "image": "i", "resources": {"limits": amounts, "requests": amounts}}
    return {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": "u1",
            "kind": {"group": "", "version": "v1", "kind": "Pod"},
            "operation": "CREATE",
            "namespace": namespace,
            "userInfo": {"username": user},
            "object": {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": "p", "namespace": namespace},
                "spec": {"containers": [container], **spec},
            },
        },
    }


REVIEWS = [
    review(1), review(8), review(0), review(5, user="bob"), review(1, "team-b"), review(1, "nowhere"),
    review(1, "kube-system"), review(1, "infra"), review(2, resource="example.com/gpu"),
    review(1, resource="nvidia.com/mig-1g.10gb"), review(1, nodeName="n1"),
    review(1, nodeSelector={"nvidia.com/gpu.product": H100}),
]  # fmt: skip


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.state = os.path.join(self.folder, "subak.db")
        self.tls = os.path.join(self.folder, "tls")
        self.logs = 0

    def spawn(self, *flags):
        self.logs += 1
        log = open(os.path.join(self.folder, f"log{self.logs}"), "w+", encoding="utf-8")
        self.addCleanup(log.close)
        child = subprocess.Popen([SUBAKD, *flags, "--listen-webhook", "127.0.0.1:0", "--listen-http", "127.0.0.1:0"],
                                 stdout=subprocess.PIPE, stderr=log, text=True)  # fmt: skip
        self.addCleanup(child.communicate)
        self.addCleanup(child.kill)
        line = child.stdout.readline()
        log.seek(0)
        self.assertTrue(line.startswith("subakd ready"), log.read())
        child.ports = dict(re.findall(r"(\w+)=([\d.]+:\d+)", line))
        child.log = log.name
        return child

    def leader(self, grpc="127.0.0.1:0", *flags):
        return self.spawn("--state", self.state, "--listen-grpc", grpc, "--mode", "enforce", "--gpu-kind",
                          "example.com/gpu", "--system-namespace", "infra", *flags)  # fmt: skip

    def replica(self, leader, *flags):
        pair = ("--tls-cert", os.path.join(self.tls, "tls.crt"), "--tls-key", os.path.join(self.tls, "tls.key"))
        return self.spawn("--follow", leader, *pair, *flags)

    def subak(self, server, *words, code=0):
        done = subprocess.run([SUBAK, "--server", server, *words], capture_output=True, text=True,
                              timeout=DEADLINE_S, check=False)  # fmt: skip
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stdout

    def accounts(self, server):
        for path, more in (("ml", ("--limit", "gpu=4", "--namespaces", "team-a")), ("bio", ("--namespaces", "team-b"))):
            self.subak(server, "account", "set", path, *more, "--reason", "test")
        self.subak(server, "account", "set", "ml/bob", "--limit", "gpu=2", "--reason", "test")
        self.subak(server, "account", "drain", "bio", "--reason", "test")

    def ask(self, child, body, path="/mutate"):
        request = urllib.request.Request(f"https://{child.ports['webhook']}{path}", json.dumps(body).encode())
        context = ssl.create_default_context(cafile=os.path.join(self.tls, "ca.crt"))
        with urllib.request.urlopen(request, timeout=DEADLINE_S, context=context) as reply:
            return reply.read().decode()

    def answers(self, child):
        return [self.ask(child, body, path) for body in REVIEWS for path in ("/mutate", "/validate", "/mutate/other")]

    def get(self, child, path):
        try:
            with urllib.request.urlopen(f"http://{child.ports['http']}{path}", timeout=DEADLINE_S) as reply:
                return reply.status, reply.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def metric(self, child, name):
        found = re.search(rf"^{name}(?:\{{.*\}})? (\S+)$", self.get(child, "/metrics")[1], re.MULTILINE)
        return found and float(found.group(1))

    def copied(self, child):
        until("a copy", lambda: self.metric(child, "subak_static_known") == 1)


class Follow(Case):
    def test_answers_as_its_leader_and_without_it(self):
        leader = self.leader()
        self.accounts(leader.ports["grpc"])
        replica = self.replica(leader.ports["grpc"])
        self.assertEqual(set(replica.ports), {"webhook", "http"})
        self.copied(replica)
        wanted = self.answers(leader)
        self.assertEqual(self.answers(replica), wanted)
        self.assertEqual({json.loads(a)["response"]["allowed"] for a in wanted}, {True, False})
        self.assertEqual(self.metric(replica, "subak_static_age_seconds"), 0)
        self.assertEqual(self.get(replica, "/readyz"), (200, "ok\n"))

        leader.kill()
        leader.wait(timeout=DEADLINE_S)
        until("an age", lambda: self.metric(replica, "subak_static_age_seconds") > 0)
        self.assertEqual(self.answers(replica), wanted)
        self.assertEqual(self.get(replica, "/readyz"), (200, "ok\n"))
        self.assertIsNone(self.metric(replica, "subak_leader"))
        self.assertGreater(self.metric(replica, "subak_admission_seconds_count"), 0)

        back = self.leader(leader.ports["grpc"])
        self.subak(back.ports["grpc"], "account", "set", "ml", "--limit", "gpu=16", "--reason", "more")
        until("the edit", lambda: json.loads(self.ask(replica, review(8)))["response"]["allowed"])
        self.assertEqual(self.answers(replica), self.answers(back))
        replica.send_signal(signal.SIGTERM)
        self.assertEqual(replica.wait(timeout=DEADLINE_S), 0)

    def test_gates_without_denying_before_it_has_heard_of_a_leader(self):
        gone = self.leader()
        address = gone.ports["grpc"]
        gone.kill()
        gone.wait(timeout=DEADLINE_S)
        replica = self.replica(address, "--gpu-kind", "example.com/gpu")
        for body in REVIEWS:
            for path in ("/mutate", "/validate"):
                self.assertTrue(json.loads(self.ask(replica, body, path))["response"]["allowed"], body)
        for body in (review(8), review(2, resource="example.com/gpu"), review(1, "nowhere")):
            answer = json.loads(self.ask(replica, body))["response"]
            self.assertIn("patch", answer)
            self.assertIn("has not heard from its leader yet", answer["warnings"][0])
        for body in (review(0), review(1, "kube-system"), review(1, nodeName="n1")):
            self.assertNotIn("patch", json.loads(self.ask(replica, body))["response"])
        self.assertEqual(self.metric(replica, "subak_static_known"), 0)
        self.assertEqual(self.get(replica, "/healthz"), (200, "ok\n"))
        self.assertIn(self.get(replica, "/readyz")[1], ("waits for the leader's first copy\n", "ok\n"))
        self.leader(address)
        self.copied(replica)
        self.assertNotIn("patch", json.loads(self.ask(replica, review(1, "nowhere")))["response"])

    def test_over_tls_with_a_token(self):
        self.subak("nobody:1", "install", "--keys", self.folder)
        tokens, made = (os.path.join(self.folder, "tokens", name) for name in ("tokens", "token"))
        token = os.path.join(self.folder, "own-token")
        with open(token, "w", encoding="utf-8") as file:
            file.write("another-token-than-that\n")
        pair = ("--tls-cert", os.path.join(self.tls, "tls.crt"), "--tls-key", os.path.join(self.tls, "tls.key"))
        leader = self.leader("127.0.0.1:0", *pair, "--tokens", tokens)
        ca = ("--follow-ca", os.path.join(self.tls, "ca.crt"))
        replica = self.replica(leader.ports["grpc"], *ca, "--follow-token", token)

        def said():
            with open(replica.log, encoding="utf-8") as log:
                return log.read()

        until("a refusal", lambda: "leader not followed" in said())
        self.assertNotIn("another-token-than-that", said())
        self.assertEqual(self.metric(replica, "subak_static_known"), 0)
        shutil.copyfile(made, token)
        self.copied(replica)
        self.assertEqual(self.answers(replica), self.answers(leader))


class Refused(unittest.TestCase):
    def refused(self, *flags):
        done = subprocess.run([SUBAKD, "--check-config", *flags], capture_output=True, text=True, timeout=DEADLINE_S,
                              check=False)  # fmt: skip
        self.assertEqual(done.returncode, 1, done.stdout)
        return done.stderr

    def test_what_makes_no_sense_for_a_replica(self):
        follow = ("--follow", "127.0.0.1:9444", "--tls-cert", "c", "--tls-key", "k")
        for flags in (("--state", "x"), ("--kubeconfig", "x"), ("--listen-grpc", "127.0.0.1:0"), ("--mode", "warn"),
                      ("--break-glass-group", "x"), ("--in-cluster",)):  # fmt: skip
            said = self.refused(*follow, *flags)
            self.assertTrue(said.startswith(f"subakd: {flags[0]}: "), said)
            self.assertIn("want no such key beside follow", said)
        self.assertIn("want tlsCert and tlsKey", self.refused("--follow", "127.0.0.1:9444"))
        self.assertIn("want followToken", self.refused("--follow", "leader:9444", *follow[2:]))
        self.assertIn("want HOST:PORT", self.refused("--follow", "leader"))
        self.assertIn("want it together with follow", self.refused("--follow-ca", "x"))


unittest.main()
