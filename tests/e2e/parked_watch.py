"""What a watch of the API server shows of Jobs that wait suspended, and of their pods: each change once, in its order."""

import time
from collections import Counter
from dataclasses import dataclass

import objects as o
from case import condition, ended, has_gate
from kube_api import Reflector
from service import time_of

MARK = "subak.gpu/suspended"


class Watch(Reflector):
    """Counts its lists. Changes between the first list and a second one may be lost."""

    def __init__(self, api, kind, on_change, on_gone):
        super().__init__(api, kind, on_change, on_gone)
        self.lists = 0

    def list(self):
        version = super().list()
        self.lists += 1
        return version

    def begin(self):
        self.start()
        while self.lists == 0:
            time.sleep(0.05)


class Pods:
    """The pods of some namespaces. Each is gated, placed (its gate is open, and it has not ended) or ended."""

    def __init__(self, api, fleet_gpus):
        self.fleet_gpus = fleet_gpus
        self.follow(set())
        self.watch = Watch(api, "Pod", self.on_change, self.on_gone)
        self.watch.begin()

    def follow(self, namespaces):
        """From now on the pods of these namespaces, which have none yet."""
        self.known = {}  # uid: (state, GPUs)
        self.count, self.gpus, self.most = Counter(), Counter(), Counter()
        self.beyond = 0  # GPUs of gated pods beyond the free ones, at most
        self.namespaces = namespaces

    def on_change(self, pod):
        if pod["metadata"]["namespace"] in self.namespaces:
            state = "ended" if ended(pod) else "gated" if has_gate(pod) else "placed"
            limits = pod["spec"]["containers"][0]["resources"]["limits"]
            self.put(pod["metadata"]["uid"], (state, int(limits.get(o.GPU, 0))))

    def on_gone(self, pod):
        self.put(pod["metadata"]["uid"], None)

    def put(self, uid, now):
        for sign, row in ((-1, self.known.pop(uid, None)), (1, now)):
            if row:
                self.count[row[0]] += sign
                self.gpus[row[0]] += sign * row[1]
        if now:
            self.known[uid] = now
        self.most["gated"] = max(self.most["gated"], self.count["gated"])
        self.most["that exist"] = max(self.most["that exist"], len(self.known))
        self.beyond = max(self.beyond, self.gpus["gated"] + self.gpus["placed"] - self.fleet_gpus)


@dataclass
class JobRow:
    """Times are seconds since the epoch; None: not yet."""

    created_s: float
    is_parked: bool = False
    resumed_s: float | None = None
    resumptions: int = 0
    completed_s: float | None = None
    wrong: str = ""
    gone: bool = False


class Jobs:
    """The Jobs of some namespaces by name."""

    def __init__(self, api):
        self.follow(set())
        self.watch = Watch(api, "Job", self.on_change, self.on_gone)
        self.watch.begin()

    def follow(self, namespaces):
        """From now on the Jobs of these namespaces, which have none yet."""
        self.rows = {}
        self.count = self.most = 0
        self.namespaces = namespaces

    def on_change(self, job):
        meta, spec, status = job["metadata"], job["spec"], job.get("status", {})
        if meta["namespace"] not in self.namespaces:
            return
        row = self.rows.get(meta["name"])
        if row is None:
            row = self.rows[meta["name"]] = JobRow(time_of(meta["creationTimestamp"]))
            self.count += 1
            self.most = max(self.most, self.count)
        is_parked = bool(spec.get("suspend")) and meta.get("annotations", {}).get(MARK) == "parked"
        if row.is_parked and not is_parked:
            row.resumed_s, row.resumptions = time.time(), row.resumptions + 1
        row.is_parked = is_parked
        row.wrong = row.wrong or wrong_with(job, is_parked)
        if condition(job, "Complete") and row.completed_s is None:
            row.completed_s = time.time()
        if status.get("failed"):
            row.wrong = row.wrong or f"{status['failed']} failed pods"

    def on_gone(self, job):
        row = self.rows.get(job["metadata"]["name"])
        if row and not row.gone and job["metadata"]["namespace"] in self.namespaces:
            row.gone, row.is_parked = True, False
            self.count -= 1

    def completed(self):
        return sum(row.completed_s is not None for row in list(self.rows.values()))

    def ended(self):
        """How many have completed, or went wrong."""
        return sum(row.completed_s is not None or row.wrong != "" for row in list(self.rows.values()))

    def parked(self):
        return sum(row.is_parked for row in list(self.rows.values()))


def wrong_with(job, is_parked):
    """What its status says that it must not."""
    status = job.get("status", {})
    failed = condition(job, "Failed")
    if failed:
        return f"failed: {failed.get('reason')} {failed.get('message')}"
    if is_parked and (status.get("startTime") or status.get("active")):
        return f"while it is parked: {status}"
    return ""
