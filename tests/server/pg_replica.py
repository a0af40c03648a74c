"""A subakd on PostgreSQL for tests, and the programs that they are about: the first two arguments, PATH_TO_SUBAKD and
PATH_TO_SUBAK."""

import http.client
import json
import os
import re
import shutil
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.error
import urllib.request

from pg_server import DEADLINE_S, Server
from ports import free_ports

SUBAKD, SUBAK = (os.path.abspath(path) for path in (sys.argv.pop(1), sys.argv.pop(1)))
LOCAL = ("--database-durability", "local")  # the servers here have no standbys
PORTS = ("--listen-webhook", "127.0.0.1:0", "--listen-grpc", "127.0.0.1:0", "--listen-http", "127.0.0.1:0")


class Process:
    """A running subakd, in a folder of its own."""

    def __init__(self, state, *flags, durability=LOCAL, waits=False):
        """`waits`: its database is away, and so it does not say yet that it serves."""
        self.folder = tempfile.mkdtemp(prefix="subak_pgd_")
        self.http, grpc, self.webhook = free_ports(3)
        self.grpc = f"127.0.0.1:{grpc}"
        ports = (PORTS[0], f"127.0.0.1:{self.webhook}", PORTS[2], self.grpc, PORTS[4], f"127.0.0.1:{self.http}")
        pipe = subprocess.PIPE
        self.child = subprocess.Popen(
            [SUBAKD, "--state", state, *durability, *ports, "--mode", "enforce", "--advertise", self.grpc, *flags],
            stdout=pipe, stderr=pipe, text=True, cwd=self.folder,
        )
        if not waits:
            self.is_ready()

    def is_ready(self):
        """Waits for its first line, which says the ports."""
        self.ports = dict(re.findall(r"(\w+)=([\d.]+:\d+)", self.child.stdout.readline()))

    def get(self, path):
        """What the HTTP port says, whatever the status."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.http}{path}", timeout=DEADLINE_S) as reply:
                return reply.read().decode()
        except urllib.error.HTTPError as error:
            return error.read().decode()

    def http_says(self, path):
        """The same; None: nobody answers yet."""
        try:
            return self.get(path)
        except urllib.error.URLError:
            return None

    def health(self):
        return self.get("/readyz")

    def leads(self):
        return self.get("/readyz?leader") == "ok\n"

    def until(self, condition):
        end = time.monotonic() + DEADLINE_S
        while not condition():
            if time.monotonic() > end:
                raise RuntimeError("it does not come")
            time.sleep(0.02)

    def until_it_leads(self):
        self.until(self.leads)

    def metric(self, name):
        return float(re.search(rf"^{name} (\S+)$", self.get("/metrics"), re.MULTILINE)[1])

    def connection(self):
        """To the webhook, for one review after the other."""
        context = ssl.create_default_context(cafile=os.path.join(self.folder, "var/tls/ca.crt"))
        return http.client.HTTPSConnection("127.0.0.1", self.webhook, timeout=DEADLINE_S, context=context)

    def review(self, gpus=1, namespace="ml", over=None):
        """The webhook's answer to a pod with GPUs, over a connection of its own or the given one."""
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": namespace},
               "spec": {"containers": [{"name": "c", "resources": {"limits": {"nvidia.com/gpu": str(gpus)}}}]}}
        body = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
            "uid": "u1", "kind": {"group": "", "version": "v1", "kind": "Pod"}, "namespace": namespace, "operation": "CREATE",
            "userInfo": {"username": "ana"}, "object": pod}}
        line = over or self.connection()
        line.request("POST", "/mutate", json.dumps(body), {"Content-Type": "application/json"})
        reply = line.getresponse()
        if reply.status != 200:
            raise OSError(f"{reply.status} {reply.read().decode()}")
        answer = json.loads(reply.read())["response"]
        if not over:
            line.close()
        return answer

    def wait(self):
        self.errors = self.child.communicate(timeout=DEADLINE_S)[1]
        shutil.rmtree(self.folder)
        return self.child.returncode

    def end(self, how):
        self.child.send_signal(how)
        return self.wait()

    def begin(self, *words, server=None):
        command = [SUBAK, "--server", server or self.ports["grpc"], *words]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def call(self, *words, server=None):
        done = self.begin(*words, server=server)
        out, errors = done.communicate(timeout=DEADLINE_S)
        return done.returncode, out, errors

    def set_shares(self, path, shares, server=None):
        words = ("account", "set", path, "--shares", str(shares), "--namespaces", path, "--reason", "test")
        return self.call(*words, server=server)


class Reviews:
    """Pods that come one after the other."""

    def __init__(self, replica):
        self.failed = []
        self.answered = 0
        self.stopped = threading.Event()
        self.thread = threading.Thread(target=self.run, args=(replica,))
        self.thread.start()

    def run(self, replica):
        while not self.stopped.is_set():
            try:
                replica.review()
                self.answered += 1
            except (OSError, http.client.HTTPException) as error:
                self.failed.append(str(error))

    def end(self):
        self.stopped.set()
        self.thread.join()
        return self.answered


class OnPostgres(unittest.TestCase):
    """Tests that share a server."""

    @classmethod
    def setUpClass(cls):
        cls.server = Server()

    @classmethod
    def tearDownClass(cls):
        cls.server.end()
