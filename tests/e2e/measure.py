"""Figures, not judgements: what Subak adds to a create, how soon gates open, how many writes that takes."""

import os
import signal
import statistics
import subprocess
import time

import objects as o
from case import condition, has_gate
from control_plane import SUBAK_USER
from service import time_of

ROUNDS, CREATES = 5, 100
RELEASES, GPUS_OF_NODE = 400, 8
TURNS = 3  # of releases and bare patches
BETWEEN_NODES_S = 0.25  # on a quiet server: 8 pods each, about a tenth of what it could open


def row(name, value, unit):
    print(f"{name:44} {value:10.2f} {unit}", flush=True)


class Measure:
    def __init__(self, world):
        self.world, self.count = world, 0

    def run(self):
        self.world.admin.create(o.namespace("unmanaged"))
        self.world.admin.create(o.namespace("managed", "true"))
        self.world.service.subak("account", "set", "measured", "--shares", "1", "--namespaces", "managed", "--reason",
                                 "figures")  # fmt: skip
        time.sleep(2)  # ServiceAccounts, and until the webhook is asked
        self.creates()
        self.clear()
        yield from self.paced()
        self.clear()
        self.make_nodes("measured", "measured")
        rates = []
        for _ in range(TURNS):
            yield from self.releases()
            self.clear()
            rates.append((self.rate, self.bare_patches()))
            if rates[-1][1] is None:
                return
        row(f"releases beside bare patches, median of {TURNS}", statistics.median(ours / bare for ours, bare in rates), "")

    def clear(self):
        for namespace in ("managed", "unmanaged"):
            self.world.admin.delete_all("Pod", namespace)
        self.wait(lambda: not self.world.admin.list("Pod"), "end of all pods")
        self.wait(lambda: not self.world.service.json("job", "list").get("jobs"), "end of all jobs")

    def wait(self, happened, what):
        end = time.monotonic() + 300 * self.world.patience
        while not happened():
            if time.monotonic() > end:
                raise AssertionError(f"measure: no {what}")
            time.sleep(0.5)

    def create(self, namespace, gpus, pool="nowhere"):
        self.count += 1
        pod = o.pod(f"p-{self.count}", namespace, o.pod_spec(gpus, pool), notes={"run-seconds": 3600})
        began = time.perf_counter()
        self.world.ana.create(pod)
        return (time.perf_counter() - began) * 1e3

    def creates(self):
        """Sequential creates, the medians of rounds that take turns."""
        kinds = {"unmanaged": ("unmanaged", 0), "managed, no GPU": ("managed", 0), "managed, GPU": ("managed", 1)}
        times = {name: [] for name in kinds}
        for _ in range(ROUNDS):
            for name, (namespace, gpus) in kinds.items():
                times[name].append([self.create(namespace, gpus) for _ in range(CREATES)])
        for name, rounds in times.items():
            everything = sorted(t for one in rounds for t in one)
            row(f"create, {name}, median of {ROUNDS} medians", statistics.median(map(statistics.median, rounds)), "ms")
            row(f"create, {name}, p99", everything[int(len(everything) * 0.99)], "ms")

    def make_nodes(self, name, pool):
        for i in range(RELEASES // GPUS_OF_NODE):
            self.world.admin.create(o.node(f"{name}-{i}", pool))
        self.wait(lambda: all(condition(n, "Ready") for n in self.world.admin.list("Node")), "ready nodes")

    def bare_patches(self):
        """How many of the same patches the same client does in a second, with nobody who decides."""
        program = os.path.join(self.world.service.programs, "bare_patches")
        if not os.path.exists(program):
            print("bare patches: not measured, tests/bench/bare_patches is not among the programs", flush=True)
            return None
        for _ in range(RELEASES):
            self.create("managed", 1, "measured-again")
        self.world.service.stop()
        self.make_nodes("bare", "measured-again")
        words = [program, self.world.plane.kubeconfig("subak"), "managed", "bare-"]
        done, ms = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True, timeout=300).stdout.split()
        rate = int(done) / max(int(ms), 1) * 1000
        row("bare patches by the same client", rate, "a second")
        self.world.admin.delete_all("Pod", "managed")
        self.wait(lambda: not self.world.admin.list("Pod"), "end of all pods")
        for i in range(RELEASES // GPUS_OF_NODE):
            self.world.admin.delete("Node", "", f"bare-{i}")  # else the next pods need not wait
        self.world.service.start()
        self.clear()
        return rate

    def releases(self):
        """Many gated pods and nodes for them all, while the account is held; then it is not."""
        began = time.time()
        self.world.service.subak("account", "hold", "measured", "--reason", "figures")
        for _ in range(RELEASES):
            self.create("managed", 1, "measured")
        gated = {p["metadata"]["name"] for p in self.world.admin.list("Pod", "managed") if has_gate(p)}
        time.sleep(5)
        self.world.service.subak("account", "resume", "measured", "--reason", "figures")
        opened, writes = self.opened(gated, began)
        first, last = min(opened.values()), max(opened.values())
        self.rate = len(opened) / max(last - first, 0.001)
        row("releases", self.rate, "a second")
        row("writes for each pod that waited", writes / len(gated), "")
        yield from self.delays(opened, f"{len(gated)} at once")

    def paced(self):
        """Gated pods for which room comes node by node. The scheduler stands still meanwhile: a hold shows when it was
        decided only where it has lasted into another second of the API's clock."""
        began = time.time()
        for _ in range(RELEASES):
            self.create("managed", 1, "paced")
        gated = {p["metadata"]["name"] for p in self.world.admin.list("Pod", "managed") if has_gate(p)}
        scheduler = self.world.plane.processes["kube-scheduler"].child.pid
        os.kill(scheduler, signal.SIGSTOP)
        try:
            for i in range((len(gated) + GPUS_OF_NODE - 1) // GPUS_OF_NODE):
                self.world.admin.create(o.node(f"paced-{i}", "paced"))
                time.sleep(BETWEEN_NODES_S)
            opened = self.opened(gated, began)[0]
            time.sleep(1)
        finally:
            os.kill(scheduler, signal.SIGCONT)
        self.wait(lambda: all(condition(p, "PodScheduled") for p in self.world.admin.list("Pod", "managed")), "bound pods")
        yield from self.delays(opened, f"{GPUS_OF_NODE} a node, a node each {BETWEEN_NODES_S} s")

    def opened(self, gated, began):
        """When the gate of each was opened, and how many writes there were for them."""
        self.wait(lambda: not [p for p in self.world.admin.list("Pod", "managed") if has_gate(p)], "open gates")
        writes = [w for w in self.world.plane.entries_of(SUBAK_USER) if w["objectRef"].get("namespace") == "managed"
                  and time_of(w["stageTimestamp"]) >= began]  # fmt: skip
        opened = {w["objectRef"]["name"]: time_of(w["stageTimestamp"]) for w in writes if w["verb"] == "patch"
                  and w["objectRef"]["resource"] == "pods" and w["objectRef"]["name"] in gated}  # fmt: skip
        return opened, len(writes)

    def delays(self, opened, what):
        jobs = self.world.service.json("job", "list")["jobs"]
        names = {job["id"]: job["spec"]["name"].split("/")[-1] for job in jobs}
        decided = {names.get(line["jobId"]): time_of(line["from"]) for line in
                   self.world.service.ledger_of("measured") if line["state"] == "USAGE_STATE_HELD"}  # fmt: skip
        delays = sorted(opened[name] - decided[name] for name in opened if name in decided)
        if not delays:
            yield "no release could be held against its decision"
            return
        print(f"gates opened, {what}: {len(delays)} of {len(opened)} held against their decision", flush=True)
        row("  gate open after the decision, median", statistics.median(delays), "s")
        row("  gate open after the decision, p99", delays[int(len(delays) * 0.99)], "s")
