"""subakd beside the control plane, its command line, and what it wants registered in the cluster."""

import http.client
import json
import os
import re
import signal
import subprocess
import time
from datetime import datetime

from autoscaler import CLASS
from control_plane import Process
from ports import free_ports

CLUSTER = "e2e"
USED = ("USAGE_STATE_USED", "USAGE_STATE_FOREIGN")
START_S = 60
# Pools whose nodes Subak asks for by ProvisioningRequests: the namespaces of cases in cases_pools.py.
REQUESTED_POOLS = ("requested-nodes-come", "requested-nodes-fail", "request-of-a-cancelled-job")


def time_of(text):
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


class CommandFailed(AssertionError):
    pass


class Listening:
    """A process of ours with a port for its health and metrics."""

    def start(self, wait=True):
        self.process.start()
        if wait:
            self.wait_ready()
        return self

    def ready(self):
        try:
            connection = http.client.HTTPConnection("127.0.0.1", self.http_port, timeout=2)
            connection.request("GET", "/readyz")
            return connection.getresponse().status == 200
        except (OSError, http.client.HTTPException):
            return False

    def wait_ready(self):
        end = time.monotonic() + START_S
        while not self.ready():
            if not self.process.alive():
                raise AssertionError(f"subakd ended: {self.process.tail()}")
            if time.monotonic() > end:
                raise AssertionError(f"subakd is not ready within {START_S} s: {self.process.tail()}")
            time.sleep(0.05)

    def metrics(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.http_port, timeout=10)
        connection.request("GET", "/metrics")
        return connection.getresponse().read().decode()

    def metric(self, name):
        """The sum of a metric over its labels."""
        rows = re.findall(rf"^{name}(?:{{[^}}]*}})? (\S+)$", self.metrics(), re.M)
        return sum(float(row) for row in rows)

    def kill(self):
        self.process.stop(signal.SIGKILL)

    def stop(self):
        self.process.stop()


def amount_s(row):
    """GPU-seconds of a row of the ledger."""
    return int(row["milligpu"]) / 1000 * (time_of(row["to"]) - time_of(row["from"]))


def is_refund(row):
    """The row corrects another row."""
    return int(row.get("corrects", 0)) != 0


class Service(Listening):
    """subakd on a state of its own. Its ports stay the same from start to start."""

    def __init__(self, programs, folder, kubeconfig, modes, settings=""):
        self.programs, self.folder = programs, folder
        os.makedirs(folder, mode=0o700, exist_ok=True)
        self.webhook_port, self.grpc_port, self.http_port = free_ports(3)
        self.config = os.path.join(folder, "subak.yaml")
        with open(self.config, "w", encoding="utf-8") as file:
            file.write(self.configuration(kubeconfig, modes) + settings)
        words = ["--config", self.config, "--state", os.path.join(folder, "subak.db")]
        for name, port in (("webhook", self.webhook_port), ("grpc", self.grpc_port), ("http", self.http_port)):
            words += [f"--listen-{name}", f"127.0.0.1:{port}"]
        self.process = Process("subakd", [os.path.join(programs, "subakd"), *words], os.path.join(folder, "subakd.log"))

    def configuration(self, kubeconfig, modes):
        lines = ["apiVersion: subak.gpu/v1", "kind: Configuration", "clusters:", f"  - name: {CLUSTER}",
                 "    mode: enforce", f"    kubeconfig: {kubeconfig}"]  # fmt: skip
        if modes:
            lines += ["    namespaces:", *(f"      {name}: {mode}" for name, mode in sorted(modes.items()))]
        return "\n".join([*lines, "patience: 10s", "halfLife: 1h", "timeLimitGrace: 2s", "reclaim: on",
                          "reclaimMinRun: 2s", "rdmaFabricLabel: e2e/fabric",
                          "alignmentNamespaces: [denied-unaligned=deny]",
                          "migRouting: [namespace=mig-route-to-slices:NVIDIA-H100-80GB-HBM3-MIG-1g.10gb]",
                          "sharedRouting: [namespace=pod-routed-to-shared-gpus:NVIDIA-A10-SHARED, "
                          "namespace=recipe-shared-notebooks:NVIDIA-A10-SHARED]",
                          "podPriorityClass: subak-gpu", "protectGangs: true",
                          "queueAccounts: [queue-of-kueue-is-an-account/lab=e2e.queue-of-kueue-is-an-account.lab]",
                          "numaPolicyLabel: e2e/numa-policy", "numaGpusLabel: e2e/numa-gpus",
                          "nodePools:", "- {name: elastic, label: e2e/pool=node-pool-grows, max: 2, gpus: 8,",
                          "   product: NVIDIA-H100-80GB-HBM3}",
                          *(f"- {{name: {name}, label: e2e/pool={name}, max: 4, gpus: 8, product: "
                            f"NVIDIA-H100-80GB-HBM3, provisioningClass: {CLASS}}}" for name in REQUESTED_POOLS), ""])

    def command(self, *args, timeout=60):
        """(exit code, stdout, stderr) of `subak ARGS`."""
        environment = {**os.environ, "SUBAK_SERVER": f"127.0.0.1:{self.grpc_port}"}
        done = subprocess.run([os.path.join(self.programs, "subak"), *args], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, env=environment, timeout=timeout, check=False)  # fmt: skip
        return done.returncode, done.stdout, done.stderr

    def subak(self, *args):
        code, out, error = self.command(*args)
        if code != 0:
            raise CommandFailed(f"subak {' '.join(args)}: exit {code}: {(error or out).strip()}")
        return out

    def json(self, *args):
        return json.loads(self.subak("--output", "json", *args))

    def jobs_of(self, account):
        """Jobs that have not ended."""
        return self.json("job", "list", "--account", account).get("jobs", [])

    def ledger_of(self, account):
        return self.json("usage", "ledger", "--account", account, "--limit", "0").get("rows", [])

    def rows_below(self, account):
        """All rows of the account's jobs and of those below it, whoever pays."""
        rows = self.json("usage", "ledger", "--limit", "0").get("rows", [])
        return [row for row in rows if row["holder"].startswith(account)]

    def used_s(self, account):
        """GPU-seconds that the account and those below it pay for what ran, before refunds of lost work."""
        return sum(amount_s(row) for row in self.ledger_of(account)
                   if not is_refund(row) and row.get("state") in USED and row.get("payer", "").startswith(account))  # fmt: skip

    def lost_s(self, account):
        """GPU-seconds that the platform pays for what the account's pods had on nodes that were not heard any more."""
        return sum(amount_s(row) for row in self.rows_below(account) if not is_refund(row) and row["state"] == "USAGE_STATE_LOST")

    def refunded_s(self, account):
        """GPU-seconds of lost work that the account and those below it got back, and that the platform pays for them."""
        amounts = [amount_s(row) for row in self.rows_below(account) if is_refund(row)]
        return -sum(a for a in amounts if a < 0), sum(a for a in amounts if a > 0)

    def resident_mib(self):
        """Memory of the process; 0 if it has just ended."""
        try:
            with open(f"/proc/{self.process.child.pid}/status", encoding="utf-8") as file:
                return int(re.search(r"VmRSS:\s+(\d+)", file.read()).group(1)) / 1024
        except (OSError, AttributeError):
            return 0.0

    def manifests(self, *words, port=None):
        """What docs/install.md has an operator apply. `port`: of who answers the webhook; this one."""
        return self.subak("install", "--print", "--cluster", CLUSTER, "--url", f"https://127.0.0.1:{port or self.webhook_port}",
                          "--ca", os.path.join(self.folder, "tls", "ca.crt"), *words)  # fmt: skip

    def register(self, plane, *words, port=None):
        code, out = plane.kubectl("admin", "apply", "--validate=strict", "-f", "-", text_in=self.manifests(*words, port=port))
        if code != 0:
            raise AssertionError(f"manifests: {out}")


class Replica(Listening):
    """`subakd --follow`: the webhook of a service, beside it."""

    def __init__(self, leader):
        self.webhook_port, self.http_port = free_ports(2)
        tls = os.path.join(leader.folder, "tls", "tls")
        words = ["--follow", f"127.0.0.1:{leader.grpc_port}", "--tls-cert", tls + ".crt", "--tls-key", tls + ".key",
                 "--listen-webhook", f"127.0.0.1:{self.webhook_port}", "--listen-http", f"127.0.0.1:{self.http_port}"]  # fmt: skip
        self.process = Process("replica", [os.path.join(leader.programs, "subakd"), *words],
                               os.path.join(leader.folder, "replica.log"))  # fmt: skip
