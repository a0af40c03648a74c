"""What a case has in hand: a namespace, an account and nodes of its own, and the judge of its end.

A case is a function with the decorator @case. It says what people do, waits for what must follow, and raises
Failed where it does not. After it, whatever it says itself, finish() takes everything away and holds the books
against the kubelet's log.
"""

import json
import threading
import time

import objects as o
from kube_api import ApiError

GATE = "subak.gpu/queue"
GPU = o.GPU
ALL = []  # of all files, in their order
WAIT_S = 60
POLL_S = 0.2
OWNERS = ("Job", "Deployment", "StatefulSet", "ReplicaSet")
SLACK_S = 1  # a pod: the API's times are whole seconds
HEARTBEAT_S = 4  # kubelet.py's


class Failed(Exception):
    pass


def case(plain=False, alone=False, mode="enforce", managed="true", account=True, seconds=120):
    """`plain`: means something without Subak. `alone`: it disturbs others. `managed`: its namespace's label."""

    def add(function):
        function.settings = {"plain": plain, "alone": alone, "mode": mode, "managed": managed, "account": account,
                             "seconds": seconds}  # fmt: skip
        if any(known.__name__ == function.__name__ for known in ALL):
            raise ValueError(f"two cases are called {function.__name__}, and would share a namespace")
        ALL.append(function)
        return function

    return add


def phase(pod):
    return pod["status"].get("phase", "Pending")


def has_gate(pod, gate=GATE):
    return any(g["name"] == gate for g in pod["spec"].get("schedulingGates", []))


def node_of(pod):
    return pod["spec"].get("nodeName", "")


def ended(pod):
    return phase(pod) in ("Succeeded", "Failed")


def condition(obj, kind):
    """The condition of that type if it is True, else None."""
    rows = obj.get("status", {}).get("conditions") or []
    return next((c for c in rows if c["type"] == kind and c["status"] == "True"), None)


class KubeletLog:
    """What kubelet.py wrote, read as it grows. The judge."""

    def __init__(self, path):
        self.path, self.offset, self.pods, self.lock = path, 0, {}, threading.Lock()
        self.double_booked = []

    def read(self):
        """{uid: {"ns", "name", "node", "gpus", event: its line}}, each event once."""
        with self.lock, open(self.path, encoding="utf-8") as file:
            file.seek(self.offset)
            while True:
                line = file.readline()
                if not line.endswith("\n"):
                    break
                self.offset += len(line.encode())
                row = json.loads(line)
                self.pods.setdefault(row["uid"], dict(row))[row["event"]] = row
                if row["event"] == "double_booked":
                    self.double_booked.append(row)
            return dict(self.pods)

    def of(self, namespace):
        return [pod for pod in self.read().values() if pod["ns"] == namespace]


class Case:
    def __init__(self, world, function):
        self.world, self.function = world, function
        self.name = function.__name__
        self.ns = self.name.replace("_", "-")[:50]
        self.account = f"e2e.{self.ns}"
        self.settings = function.settings
        self.admin, self.ana = world.admin, world.ana
        self.end = time.monotonic() + self.settings["seconds"] * world.patience
        self.node_names = []
        self.promised = set()  # accounts with a quota
        self.judges_itself = False  # what its account pays
        self.parts = {GPU: 1}  # {resource, or (node, resource): which part of a card it is}

    # The world of a case.

    def begin(self):
        managed = self.settings["managed"] if self.world.service else ""
        self.admin.create(o.namespace(self.ns, managed))
        if self.world.service and self.settings["account"]:
            self.set_account(self.account, self.ns)
        self.until(self.has_account, "the namespace's default ServiceAccount")

    def set_account(self, path, *namespaces, shares=1, more=()):
        words = ["--namespaces", ",".join(namespaces)] if namespaces else []
        if "--quota" in more:
            self.promised.add(path)
        self.world.service.subak("account", "set", path, "--shares", str(shares), *words, *more, "--reason", "a case")

    def has_account(self):
        path = f"/api/v1/namespaces/{self.ns}/serviceaccounts/default"
        try:
            return self.admin.call("GET", path)
        except ApiError:
            return None

    def nodes(self, count=1, gpus=8, **more):
        """So many nodes of this case's pool, ready; their names."""
        names = [f"{self.ns}-{len(self.node_names) + i}" for i in range(count)]
        for name in names:
            self.admin.create(o.node(name, self.ns, gpus, **more))
            self.node_names.append(name)
        self.until(lambda: all(self.is_ready(name) for name in names), f"{count} ready nodes")
        return names

    def is_ready(self, name):
        node = self.admin.get("Node", "", name)
        waits = any(t["key"].startswith("node.kubernetes.io/") for t in node["spec"].get("taints", []))
        return condition(node, "Ready") and not waits

    # What people do.

    def spec(self, gpus=1, **more):
        return o.pod_spec(gpus, self.ns, **more)

    def pod(self, name, gpus=1, spec=None, labels=None, **notes):
        return self.ana.create(o.pod(name, self.ns, spec or self.spec(gpus), labels, dashed(notes)))

    def template(self, gpus=1, labels=None, keys=None, spec=None, **notes):
        """A pod template; `keys` are annotations with their whole names."""
        return o.template(spec or self.spec(gpus), labels, dashed(notes) | (keys or {}))

    def job(self, name, pods=1, gpus=1, indexed=False, keys=None, labels=None, more=None, spec=None, **notes):
        pod_template = self.template(gpus, labels, keys, spec, **notes)
        return self.ana.create(o.job(name, self.ns, pod_template, pods, indexed, **(more or {})))

    # What is seen.

    def left_s(self):
        return self.end - time.monotonic()

    def until(self, happened, what, seconds=WAIT_S):
        """Its first true answer. `what` is said when it does not come in time."""
        end = min(time.monotonic() + seconds * self.world.patience, self.end)
        while True:
            try:
                answer = happened()
            except ApiError as error:
                if error.code != 0:
                    raise
                answer = None  # the server is away for a moment
            if answer:
                return answer
            if time.monotonic() > end:
                raise Failed(f"no {what}: {self.sight()}")
            time.sleep(POLL_S)

    def stays(self, holds, what, seconds=3):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if not holds():
                raise Failed(f"not: {what}: {self.sight()}")
            time.sleep(POLL_S)

    def expect(self, truth, what):
        if not truth:
            raise Failed(f"not: {what}: {self.sight()}")

    def pods(self, prefix="", selector=""):
        found = self.admin.list("Pod", self.ns, selector)
        return [pod for pod in found if pod["metadata"]["name"].startswith(prefix)]

    def get_pod(self, name):
        return self.admin.get("Pod", self.ns, name)

    def pod_is(self, name, test, what, seconds=WAIT_S):
        def happened():
            pod = self.get_pod(name)
            return pod if pod and test(pod) else None

        return self.until(happened, f"{what} of pod {name}", seconds)

    def runs(self, name):
        return self.pod_is(name, lambda p: phase(p) == "Running", "phase Running")

    def succeeded(self, name):
        return self.pod_is(name, lambda p: phase(p) == "Succeeded", "phase Succeeded")

    def queued(self, name):
        """The pod, once Subak knows it and it waits behind our gate."""
        pod = self.pod_is(name, has_gate, "our gate")
        self.until(lambda: self.job_of_pod(pod), f"job for pod {name} in Subak")
        return pod

    def running_pods(self, count, prefix="", selector=""):
        def happened():
            found = [p for p in self.pods(prefix, selector) if phase(p) == "Running"
                     and "deletionTimestamp" not in p["metadata"]]  # fmt: skip
            return found if len(found) == count else None

        return self.until(happened, f"{count} running pods {prefix or selector}".strip())

    def completed(self, name, kind="Complete", seconds=WAIT_S):
        def happened():
            job = self.admin.get("Job", self.ns, name)
            failed = condition(job, "Failed")
            if failed and kind != "Failed":
                raise Failed(f"Job {name} failed: {failed.get('message')}: {self.sight()}")
            return condition(job, kind)

        return self.until(happened, f"Job {name} {kind}", seconds)

    def started(self, prefix=""):
        """(name, node, started_s) of each pod that has started, by the kubelet's log."""
        return [(p["name"], p["node"], p["started"]["at"]) for p in self.log()
                if "started" in p and p["name"].startswith(prefix)]  # fmt: skip

    def log(self):
        return self.world.log.of(self.ns)

    # What Subak says.

    @property
    def service(self):
        return self.world.service

    def subak_jobs(self):
        return self.service.jobs_of(self.account)

    def job_named(self, name):
        """Subak's job of that name in this namespace, or of a pod made by what has it, until it has ended."""
        rows = [(job.get("spec", {}).get("name", "").removeprefix(self.ns + "/"), job) for job in self.subak_jobs()]
        exact = [job for called, job in rows if called == name]
        return next(iter(exact + [job for called, job in rows if called.startswith(name + "-")]), None)

    def job_of_pod(self, pod):
        """The job in the pod's label."""
        return self.job_named(pod["metadata"].get("labels", {}).get("subak.gpu/job", pod["metadata"]["name"]))

    def only_job(self):
        def happened():
            found = self.subak_jobs()
            return found[0]["id"] if len(found) == 1 else None

        return self.until(happened, "single job in Subak")

    def why(self, job_id):
        """The answer on one line: the command wraps it."""
        return " ".join(self.service.subak("why", job_id).split())

    def refused(self, make, *words):
        """What `make` is refused with; all words stand in it."""
        try:
            make()
        except ApiError as error:
            for word in words:
                self.expect(word in error.message, f"'{word}' in the refusal '{error.message}'")
            return error
        raise Failed("it was accepted")

    def sight(self):
        """What there is, in a line."""
        try:
            rows = [f"{p['metadata']['name']} {phase(p)}{' gated' if has_gate(p) else ''}"
                    f"{' going' if 'deletionTimestamp' in p['metadata'] else ''} {node_of(p)}".strip()
                    for p in self.pods()]  # fmt: skip
            text = "pods [" + ", ".join(sorted(rows)[:12]) + (", ..." if len(rows) > 12 else "") + "]"
            if self.service and self.settings["account"]:
                jobs = [f"{j['id']} {j.get('spec', {}).get('name', '')} {j.get('state', '')[10:]}"
                        for j in self.subak_jobs()]  # fmt: skip
                text += " jobs [" + ", ".join(jobs[:8]) + "]"
            return text
        except (ApiError, AssertionError, OSError, ValueError) as error:
            return f"(and nothing can be seen: {error})"

    # Its end.

    def finish(self):
        """Takes everything away, and judges. Raises Failed."""
        self.end = max(self.end, time.monotonic() + WAIT_S * self.world.patience)
        self.clean()
        if self.service and self.settings["account"]:
            self.until(lambda: not self.subak_jobs(), "end of all jobs in Subak")
            if not self.judges_itself:
                self.judge_usage()

    def clean(self):
        for kind in self.world.kinds + OWNERS:
            self.admin.delete_all(kind, self.ns)
        self.admin.delete_all("Pod", self.ns)
        self.until(lambda: not self.pods(), "end of all pods")

    def give_back(self):
        for path in self.promised:  # else bare pods of other cases may not borrow
            self.set_account(path, more=("--quota", "none"))
        for name in self.node_names:
            self.admin.delete("Node", "", name)
        self.admin.delete("Namespace", "", self.ns)

    def expected_s(self):
        """(GPU-seconds of the kubelet's log, by how much the ledger may differ)"""
        total, slack = 0, 0
        for pod in self.log():
            gpus = sum(self.part_of(pod["node"], name) * count for name, count in pod["holds"].items())
            if "bound" not in pod or "rejected" in pod or not gpus:
                continue
            if "finished" not in pod:
                raise Failed(f"pod {pod['name']} has not finished by the kubelet's log")
            begin_s = pod["bound"]["bound_s"] or int(pod["bound"]["at"])
            total += gpus * (pod["finished"]["finished_s"] - begin_s)
            # Of a machine that died the last heartbeat is known, not the end.
            slack += gpus * (SLACK_S + (HEARTBEAT_S + 1 if pod["finished"].get("lost") else 0))
        return total, slack

    def part_of(self, node, resource):
        return self.parts.get((node, resource), self.parts.get(resource, 0))

    def used_s(self):
        return self.service.used_s(self.account)

    def judge_usage(self):
        """Within a second a pod of what the kubelet saw."""
        expected, slack = self.expected_s()
        used = 0.0
        end = time.monotonic() + 10
        while time.monotonic() < end:
            used = self.used_s()
            if abs(used - expected) <= slack:
                return
            time.sleep(POLL_S)
        raise Failed(f"used {used:.2f} GPU-s in the ledger, the kubelet saw {expected:.2f}, want within {slack}")


def dashed(notes):
    return {key.replace("_", "-"): value for key, value in notes.items()}
