#!/usr/bin/env python3
"""Subak against a real kube-apiserver, etcd, kube-scheduler and kube-controller-manager, with played kubelets.

  e2e_test.py --kubernetes FOLDER [--programs FOLDER] [-k WORD ...] [--list] [--without-subak] [--keep FOLDER]
  e2e_test.py --kubernetes FOLDER --soak [nodes=500,pods=5000,...] | --measure | --outage SECONDS |
      --idle [nodes=1000,pods=20000,minutes=10] | --leaving PODS | --parked [JOBS | jobs=5000,minutes=30] |
      --readme | --beside-kueue [--jobs N]

FOLDER of --kubernetes is what tests/e2e/build prints; --programs holds subakd and subak. -k runs the cases whose
name has one of the words. Each case has a namespace, an account and nodes of its own, so most run side by side;
those that disturb others run alone, at the end. Exit 0 only if each case holds, and at the end of all no GPU was
booked twice, no pod is left, none gated, and the books close to zero.
"""

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from concurrent.futures import ThreadPoolExecutor

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import case as cases  # noqa: E402
import cases_admission  # noqa: E402, F401
import cases_aligned  # noqa: E402, F401
import cases_claims  # noqa: E402, F401
import cases_device_faults  # noqa: E402, F401
import cases_device_kinds  # noqa: E402, F401
import cases_devices  # noqa: E402, F401
import cases_domain_steps  # noqa: E402, F401
import cases_domains  # noqa: E402, F401
import cases_examples  # noqa: E402, F401
import cases_faults  # noqa: E402, F401
import cases_jobs  # noqa: E402, F401
import cases_judges  # noqa: E402, F401
import cases_kinds  # noqa: E402, F401
import cases_makers  # noqa: E402, F401
import cases_mig  # noqa: E402, F401
import cases_modes  # noqa: E402, F401
import cases_neighbours  # noqa: E402, F401
import cases_volumes  # noqa: E402, F401
import cases_nodes  # noqa: E402, F401
import cases_operator_upgrade  # noqa: E402, F401
import cases_operators  # noqa: E402, F401
import cases_owners  # noqa: E402, F401
import cases_parking  # noqa: E402, F401
import cases_pods  # noqa: E402, F401
import cases_pools  # noqa: E402, F401
import cases_ready  # noqa: E402, F401
import cases_recipes  # noqa: E402, F401
import cases_refused  # noqa: E402, F401
import cases_reports  # noqa: E402, F401
import cases_shared  # noqa: E402, F401
import cases_spread  # noqa: E402, F401
import cases_told  # noqa: E402, F401
import cases_leave  # noqa: E402, F401, I001  the last ones: they take labels and modes of all away
from beside_kueue import BesideKueue  # noqa: E402
from case import Case, Failed, KubeletLog, has_gate  # noqa: E402
from compute_domains import Driver  # noqa: E402
from control_plane import ControlPlane  # noqa: E402
from cutter import Cutter  # noqa: E402
from kube_api import ApiError  # noqa: E402
from idle import Idle  # noqa: E402
from leaving import Leaving  # noqa: E402
from measure import Measure  # noqa: E402
from operators import KINDS, OPERATORS, PLAYED  # noqa: E402
from outage import Outage  # noqa: E402
from parked import Parked  # noqa: E402
from readme import Readme  # noqa: E402
from service import CommandFailed, Service  # noqa: E402
from soak import Soak  # noqa: E402

SIDE_BY_SIDE = 5
# What people of the teams may do.
PEOPLE = [
    ("", ["pods", "pods/ephemeralcontainers", "pods/eviction", "pods/log", "events"], ["*"]),
    ("", ["namespaces"], ["get", "patch"]),
    ("resource.k8s.io", ["resourceclaims", "resourceclaimtemplates"], ["*"]),
    *((group, ["*"], ["*"]) for group in ("batch", "apps", "policy", "jobset.x-k8s.io", "leaderworkerset.x-k8s.io",
                                                "kubeflow.org", "trainer.kubeflow.org", "ray.io", "scheduling.x-k8s.io",
                                                "scheduling.volcano.sh", "scheduling.run.ai")),
]


class World:
    """Everything that runs, and what the cases share."""

    def __init__(self, args, folder, chosen):
        self.args, self.folder = args, folder
        self.patience = args.patience
        self.plane = ControlPlane(args.kubernetes, os.path.join(folder, "plane"))
        if args.idle is not None:
            self.plane.node_grace_s = 600  # heartbeats once a minute, by one thread
        if args.soak is not None or args.parked is not None:
            self.plane.node_grace_s = 60  # one process beats for all of them
        self.service = None
        self.kubelet = None
        self.kinds = KINDS
        self.chosen = chosen
        self.cutter = None

    def start(self):
        self.plane.start()
        self.admin, self.ana = self.plane.api("admin"), self.plane.api("ana")
        self.breakglass = self.plane.api("breakglass")
        self.driver = Driver(self.plane)
        self.give_rights()
        if self.args.parked is None:  # Kubernetes itself has the controller of Jobs
            for operator in OPERATORS + PLAYED:
                operator.start(self.plane)
        self.start_kubelet()
        if not self.args.without_subak and not self.args.readme:
            self.start_service()

    def give_rights(self):
        self.bind("people", "ml", PEOPLE, "Group")
        self.bind("break-glass", "subak:break-glass", [("", ["pods"], ["get", "list", "patch"])], "Group")

    def bind(self, name, subject, rules, kind="User"):
        """A ClusterRole of these (group, resources, verbs), bound to a user or group."""
        root = "/apis/rbac.authorization.k8s.io/v1/"
        group = {"apiGroup": "rbac.authorization.k8s.io"}
        common = {"apiVersion": "rbac.authorization.k8s.io/v1", "metadata": {"name": name}}
        rows = [{"apiGroups": [each], "resources": what, "verbs": verbs} for each, what, verbs in rules]
        self.admin.call("POST", root + "clusterroles", common | {"kind": "ClusterRole", "rules": rows})
        binding = {"kind": "ClusterRoleBinding", "roleRef": group | {"kind": "ClusterRole", "name": name},
                   "subjects": [group | {"kind": kind, "name": subject}]}  # fmt: skip
        self.admin.call("POST", root + "clusterrolebindings", common | binding)

    def start_kubelet(self):
        path, pki = os.path.join(self.folder, "kubelet.jsonl"), self.plane.pki.at
        open(path, "w", encoding="utf-8").close()
        words = ["--port", str(self.plane.port), "--ca", pki("ca.crt"), "--cert", pki("kubelet.crt"),
                 "--key", pki("kubelet.key"), "--log", path]  # fmt: skip
        with open(os.path.join(self.folder, "kubelet.err"), "w", encoding="utf-8") as errors:
            self.kubelet = subprocess.Popen([sys.executable, os.path.join(HERE, "kubelet.py"), *words], text=True,
                                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors)  # fmt: skip
        if self.kubelet.stdout.readline().strip() != "playing":
            raise AssertionError(f"kubelet.py did not start; see {self.folder}/kubelet.err")
        self.log = KubeletLog(path)

    def start_service(self):
        modes = {Case(self, f).ns: f.settings["mode"] for f in self.chosen if f.settings["mode"] != "enforce"}
        folder = os.path.join(self.folder, "subak")
        if self.args.soak is not None:
            self.cutter = Cutter(self.plane.port)
            self.plane.write_kubeconfig("subak", self.cutter.port)
        self.service = Service(self.args.programs, folder, self.plane.kubeconfig("subak"), modes)
        self.service.register(self.plane, "--only", "access")
        self.service.start()
        self.service.register(self.plane)
        self.service.subak("account", "set", "e2e", "--shares", "1", "--reason", "all cases")
        time.sleep(1.5)  # until the API server asks the webhooks and policies that it has been told of

    def judge(self):
        """What is wrong after all cases."""
        self.log.read()
        for row in self.log.double_booked:
            what = row.get("why") or row["holds"]
            yield f"booked twice: {what} of {row['node']} for {row['ns']}/{row['name']}"
        left = [p for p in self.admin.list("Pod") if p["metadata"]["namespace"] not in ("kube-system",)]
        if left:
            gated = sum(has_gate(p) for p in left)
            names = ", ".join(p["metadata"]["namespace"] + "/" + p["metadata"]["name"] for p in left[:5])
            yield f"{len(left)} pods are left, {gated} gated: {names}"
        if self.service:
            yield from self.judge_books()

    def judge_books(self):
        code, out, error = self.service.command("usage", "verify")
        if code != 0:
            yield f"usage verify: {(error or out).strip()}"
        live = self.service.json("job", "list").get("jobs", [])
        if live:
            yield f"{len(live)} jobs are left: " + ", ".join(j["id"] for j in live[:8])

    def stop(self):
        if self.service:
            self.service.stop()
        if self.cutter:
            self.cutter.stop()
        if self.kubelet:
            self.kubelet.stdin.close()
            try:
                self.kubelet.wait(timeout=10)
            except subprocess.TimeoutExpired:
                self.kubelet.kill()
                self.kubelet.wait()
        self.plane.stop()


def sizes_of(text, sizes):
    """"nodes=50,pods=400" over the whole ones."""
    return sizes | {key: int(value) for key, value in (word.split("=") for word in text.split(",") if word)}


class Runner:
    def __init__(self, world, width):
        self.world, self.width = world, width
        self.failed, self.passed = [], []
        self.lock = threading.Lock()

    def run(self, function):
        one = Case(self.world, function)
        began = time.monotonic()
        why = self.attempt(one.begin) or self.attempt(lambda: function(one))
        why_end = self.attempt(one.finish)
        self.attempt(one.give_back)
        why = why or (f"at its end: {why_end}" if why_end else None)
        with self.lock:
            (self.failed if why else self.passed).append(one.name)
            seconds = time.monotonic() - began
            text = f"{'FAILED' if why else 'ok    '} {one.name:{self.width}} {seconds:6.1f} s  {why or ''}"
            print(text.rstrip(), flush=True)

    def attempt(self, step):
        """Why it failed; None if it did not."""
        try:
            step()
            return None
        except (Failed, CommandFailed, ApiError) as error:
            return str(error)
        except Exception:  # noqa: BLE001  a mistake of a case ends that case alone
            return traceback.format_exc()

    def run_all(self, chosen):
        with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
            list(pool.map(self.run, [f for f in chosen if not f.settings["alone"]]))
        for function in chosen:
            if function.settings["alone"]:
                self.run(function)


def choose(args):
    chosen = [f for f in cases.ALL if not args.k or any(word in f.__name__ for word in args.k)]
    return [f for f in chosen if f.settings["plain"] or not args.without_subak]


def long_run(world, args):
    if args.soak is not None:
        whole = {"nodes": 500, "pods": 5000, "teams": 12, "kills": 20, "cuts": 50}
        return Soak(world, sizes_of(args.soak, whole), args.seed).run()
    if args.idle is not None:
        return Idle(world, sizes_of(args.idle, {"nodes": 1000, "pods": 20000, "minutes": 10})).run()
    if args.outage:
        return Outage(world, args.outage).run()
    if args.parked is not None:
        sizes = f"jobs={args.parked}" if args.parked.isdigit() else args.parked
        return Parked(world, **sizes_of(sizes, {"jobs": 5000, "minutes": 0})).run()
    if args.readme:
        return Readme(world).run()
    return Leaving(world, args.leaving).run() if args.leaving else Measure(world).run()


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kubernetes", help="folder of etcd, kube-apiserver, ...")
    parser.add_argument("--programs", default=os.path.join(HERE, "..", "..", "build", "bin"))
    parser.add_argument("-k", action="append", default=[], metavar="WORD")
    parser.add_argument("--list", action="store_true", help="the cases' names")
    parser.add_argument("--without-subak", action="store_true", help="the harness alone, on what needs no queue")
    parser.add_argument("--soak", nargs="?", const="", metavar="SIZES", help="500 nodes, 5000 pods, 20 kills, 50 cuts")
    parser.add_argument("--measure", action="store_true", help="figures: creates, releases, writes")
    parser.add_argument("--outage", type=int, metavar="SECONDS", help="all of Subak is dead so long; 3600")
    parser.add_argument("--idle", nargs="?", const="", metavar="SIZES", help="1000 nodes, 20000 pods, 10 minutes")
    parser.add_argument("--readme", action="store_true", help="the README's lines, in a shell; its ports must be free")
    parser.add_argument("--leaving", type=int, metavar="PODS", help="uninstall with so many queued; 5000")
    parser.add_argument("--parked", nargs="?", const="", metavar="JOBS", help="a queue of parked Jobs; 5000")
    parser.add_argument("--beside-kueue", nargs="?", const="both", choices=["both", "kueue", "subak"],
                        help="one load under Kueue, then under Subak, or under one of them")
    parser.add_argument("--jobs", type=int, default=5000, help="of the load beside Kueue")
    parser.add_argument("--seed", type=int, default=1, help="of the soak, and of the load beside Kueue")
    parser.add_argument("--keep", metavar="FOLDER", help="for logs and state; without, kept only after a failure")
    parser.add_argument("--patience", type=float, default=1.0, help="factor on all waits, for a slow machine")
    return parser.parse_args()


def main():
    args = parse()
    long = args.soak is not None or args.idle is not None or args.measure or args.outage or args.leaving or args.readme
    long = long or args.beside_kueue or args.parked is not None
    chosen = [] if long else choose(args)
    if args.list:
        print("\n".join(f.__name__ for f in chosen))
        return 0
    if not (chosen or long) or not args.kubernetes:
        print("e2e: want --kubernetes FOLDER" if not args.kubernetes else "e2e: no such case", file=sys.stderr)
        return 2
    folder = os.path.abspath(args.keep or tempfile.mkdtemp(prefix="subak-e2e-"))
    for part in ("plane", "subak", "home", "kueue"):  # of an earlier run
        shutil.rmtree(os.path.join(folder, part), ignore_errors=True)
    os.makedirs(folder, exist_ok=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that what was started is stopped
    if args.beside_kueue:
        wrong = list(BesideKueue(lambda part: World(args, part, []), folder).run(args))
        print("\n".join(f"FAILED {text}" for text in wrong) or "no complaints")
        return 1 if wrong else 0
    world, began = World(args, folder, chosen), time.monotonic()
    runner = Runner(world, max([len(f.__name__) for f in chosen], default=0))
    try:
        world.start()
        print(f"up after {time.monotonic() - began:.1f} s; logs in {folder}", flush=True)
        wrong = []
        if long:
            wrong += long_run(world, args)
        else:
            runner.run_all(chosen)
        wrong += world.judge()
    finally:
        world.stop()
    for text in wrong:
        print(f"FAILED {text}")
    seconds = time.monotonic() - began
    cases_text = f"{len(runner.passed)} cases hold, {len(runner.failed)} do not: {', '.join(runner.failed) or '-'}; "
    print(f"{cases_text if chosen else ''}{len(wrong)} complaints at the end; {seconds:.0f} s")
    return 1 if runner.failed or wrong else 0


if __name__ == "__main__":
    sys.exit(main())
