#!/usr/bin/env python3
"""Plays nodes and their kubelets for a real control plane. Standard library alone, none of Subak's code.

  kubelet.py --port PORT --ca F --cert F --key F --log F

It serves every Node that carries the label e2e/played: fills its status in (Ready, what its annotation
`e2e/gpus` says), renews its lease, and runs the pods that are bound to it. Its log, JSON lines, is the judge
of what ran where and how long. Ends with its stdin.

What a pod's annotations say, as no container really runs:
  e2e/run-seconds     it runs so long, then it ends; without: 1, and for ever where restartPolicy is Always
  e2e/start-seconds   from bound to started; default 0
  e2e/exit-code       of its end; default 0
  e2e/fail-first      so many pods of its owner end with 1, the later ones as above
  e2e/fail-where      KEY=VALUE: a pod with this label ends with 1, a second after its start
  e2e/unready-first   so many pods of its owner never become Ready: their image does not exist
  e2e/reject-first    so many pods of its owner are turned away, with the error of e2e/reject-error
  e2e/reject-error    default UnexpectedAdmissionError
  e2e/restarts        the container ends and starts so often before its end
  e2e/stop-seconds    from its deletion to the end of its containers; default 0
And a Node's:
  e2e/gpus            how many whole GPUs it has; default 8
  e2e/resources       what else its device plugins offer, JSON: {"nvidia.com/mig-1g.10gb": 56}
  e2e/plugin          "off": the device plugin does not run, so none of its GPUs and slices is allocatable; "gone": for so
                      long that the kubelet has forgotten their number
  e2e/rejects         an error with which it turns away every pod that holds GPUs or slices
  e2e/power           "off": the machine is dead until that goes; its containers ended at that instant
"""

import argparse
import heapq
import json
import os
import queue
import sys
import threading
import time
from datetime import datetime, timezone

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from claimed import Claimed, served_by_claims  # noqa: E402
from kube_api import Api, ApiError, Reflector, STRATEGIC_PATCH  # noqa: E402

VENDOR = "nvidia.com/"
GPU = VENDOR + "gpu"
HEARTBEAT_S = 4
SHARDS = 6
NEVER = object()
UNEXPECTED = "UnexpectedAdmissionError"
TURNED_AWAY = {
    UNEXPECTED: "Allocate failed due to requested number of devices unavailable for nvidia.com/gpu, which is unexpected",
    "TopologyAffinityError": "Resources cannot be allocated with Topology locality",
}


def utc(seconds=None):
    return datetime.fromtimestamp(seconds or time.time(), timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def seconds_of(text):
    """The API's time as seconds since the epoch; None of none."""
    if not text:
        return None
    return int(datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=timezone.utc).timestamp())


def held_of(pod, resource):
    """What the pod holds: its containers and sidecars together, or an init container's more."""

    def of(container):
        return int(container.get("resources", {}).get("limits", {}).get(resource, 0))

    inits = pod["spec"].get("initContainers", [])
    sidecars = sum(of(c) for c in inits if c.get("restartPolicy") == "Always")
    together = sum(of(c) for c in pod["spec"]["containers"]) + sidecars
    return max([together, *(of(c) + sidecars for c in inits if c.get("restartPolicy") != "Always")])


def held_by(pod):
    """{resource of a device plugin of NVIDIA: how many the pod holds}"""
    containers = pod["spec"]["containers"] + pod["spec"].get("initContainers", [])
    names = {name for c in containers for name in c.get("resources", {}).get("limits", {}) if name.startswith(VENDOR)}
    names -= served_by_claims(pod)
    return {name: count for name in sorted(names) if (count := held_of(pod, name))}


def offered_by(node):
    """{resource: how many its device plugins offer, as the annotations say}"""
    notes = node["metadata"].get("annotations", {})
    others = {name: int(count) for name, count in json.loads(notes.get("e2e/resources", "{}")).items()}
    return {GPU: int(notes.get("e2e/gpus", "8"))} | others


def says_ready(node):
    """Not so: it is new, or the control plane has heard nothing of it for too long."""
    rows = node.get("status", {}).get("conditions") or []
    return any(row["type"] == "Ready" and row["status"] == "True" for row in rows)


class Log:
    def __init__(self, path):
        self.file, self.lock = open(path, "a", encoding="utf-8"), threading.Lock()

    def write(self, event, pod, **more):
        meta = pod["metadata"]
        node = pod["spec"].get("nodeName", "")
        line = {"at": round(time.time(), 3), "event": event, "uid": meta["uid"], "ns": meta["namespace"],
                "name": meta["name"], "node": node, "gpus": held_of(pod, GPU), "holds": held_by(pod), **more}  # fmt: skip
        with self.lock:
            self.file.write(json.dumps(line) + "\n")
            self.file.flush()


class Fleet:
    """The nodes: what each has, who uses it, and which are off."""

    def __init__(self, api):
        self.api, self.lock, self.claimed = api, threading.Lock(), Claimed(api)
        self.offered, self.used, self.off, self.ready = {}, {}, set(), set()
        self.said = {}  # node: what its annotations said of its devices
        self.reported = {}  # node: the resources that it ever reported
        self.errors = {}  # node: with which it turns pods away
        self.first = {}  # (what, owner uid): how many pods of it came

    def on_node(self, node):
        """(name, off) when it is new, went off or came back; else None."""
        meta = node["metadata"]
        if "e2e/played" not in meta.get("labels", {}):
            return None
        name, notes = meta["name"], meta.get("annotations", {})
        with self.lock:
            self.offered[name] = offered_by(node)
            says = (self.offered[name], notes.get("e2e/plugin"))
            changed = self.said.get(name, says) != says
            self.said[name] = says
            self.errors[name] = notes.get("e2e/rejects", "")
            was_off, is_off = name in self.off, notes.get("e2e/power") == "off"
            (self.off.add if is_off else self.off.discard)(name)
            known = name in self.ready
            self.ready.add(name)
        if not is_off and (not known or changed or not says_ready(node)):
            self.report(name, node)
        return (name, is_off) if was_off != is_off or not known else None

    def on_gone(self, node):
        name = node["metadata"]["name"]
        with self.lock:
            for table in (self.offered, self.used, self.said, self.reported, self.errors):
                table.pop(name, None)
            self.off.discard(name)
            self.ready.discard(name)

    def serves(self, node):
        with self.lock:
            return node in self.offered and node not in self.off

    def rejects(self, node):
        """The error with which it turns pods away; empty: it takes them."""
        with self.lock:
            return self.errors.get(node, "")

    def knows(self, node):
        with self.lock:
            return node in self.offered

    def take(self, node, uid, holds):
        """False: the node has not as many left."""
        with self.lock:
            users, offered = self.used.setdefault(node, {}), self.offered.get(node, {})
            if uid not in users:
                for name, count in holds.items():
                    if sum(user.get(name, 0) for user in users.values()) + count > offered.get(name, 0):
                        return False
            users[uid] = holds
            return True

    def give(self, node, uid):
        with self.lock:
            self.used.get(node, {}).pop(uid, None)
        self.claimed.give(uid)

    def is_one_of_first(self, what, owner, most):
        with self.lock:
            count = self.first.get((what, owner), 0)
            self.first[(what, owner)] = count + 1
            return count < most

    def report(self, name, node):
        notes = node["metadata"].get("annotations", {})
        counts, plugin = offered_by(node), notes.get("e2e/plugin")
        known = self.reported.setdefault(name, set())
        known |= {resource for resource, count in counts.items() if count}
        kinds = {"cpu": "192", "memory": "1536Gi", "ephemeral-storage": "1Ti", "pods": "110"}
        kinds |= {resource: str(counts.get(resource, 0)) for resource in known}
        none = {resource: "0" for resource in known if plugin and resource.startswith(VENDOR)}
        capacity = kinds | none if plugin == "gone" else kinds
        condition = {"type": "Ready", "status": "True", "reason": "KubeletReady", "lastHeartbeatTime": utc(),
                     "lastTransitionTime": utc()}  # fmt: skip
        info = {"kubeletVersion": "v1.36.0", "machineID": name, "systemUUID": name, "bootID": name,
                "kernelVersion": "", "osImage": "", "containerRuntimeVersion": "", "kubeProxyVersion": "",
                "operatingSystem": "linux", "architecture": "amd64"}  # fmt: skip
        body = {"status": {"capacity": capacity, "allocatable": kinds | none, "conditions": [condition], "nodeInfo": info}}
        self.beat(name, node["metadata"]["uid"])
        self.api.patch("Node", "", name, body, "status", STRATEGIC_PATCH)

    def beat(self, name, uid=None):
        spec = {"holderIdentity": name, "leaseDurationSeconds": 40,
                "renewTime": datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")}  # fmt: skip
        lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "spec": spec,
                 "metadata": {"name": name, "namespace": "kube-node-lease"}}  # fmt: skip
        if uid:
            lease["metadata"]["ownerReferences"] = [{"apiVersion": "v1", "kind": "Node", "name": name, "uid": uid}]
            try:
                self.api.create(lease)
                return
            except ApiError as error:
                if error.code != 409:
                    raise
        self.api.patch("Lease", "kube-node-lease", name, {"spec": spec})

    def heartbeats(self):
        while True:
            began = time.monotonic()
            with self.lock:
                names = [name for name in self.ready if name not in self.off]
            for name in names:
                try:
                    self.beat(name)
                except ApiError:
                    pass  # gone meanwhile, or the server is away: the next beat
            time.sleep(max(0.2, HEARTBEAT_S - (time.monotonic() - began)))

    def came_back(self, name):
        """A machine that was off reports that it is ready."""
        node = self.api.get("Node", "", name)
        if node:
            self.report(name, node)


class Running:
    """What a kubelet remembers of a pod."""

    def __init__(self, pod):
        self.pod = pod
        self.node = pod["spec"]["nodeName"]
        self.started_s, self.restarts = None, 0
        self.ended = False  # its containers have, or never were
        self.stopping = False

    @property
    def uid(self):
        return self.pod["metadata"]["uid"]

    def note(self, name, default):
        return self.pod["metadata"].get("annotations", {}).get("e2e/" + name, default)

    def number(self, name, default=0.0):
        return float(self.note(name, default))

    def owner(self):
        owners = self.pod["metadata"].get("ownerReferences", [])
        return next((o["uid"] for o in owners if o.get("controller")), self.uid)

    def fails_by_label(self):
        key, _, value = self.note("fail-where", "").partition("=")
        return key != "" and self.pod["metadata"].get("labels", {}).get(key) == value

    def runs_for(self):
        if self.fails_by_label():
            return 1.0
        for_ever = self.pod["spec"].get("restartPolicy", "Always") == "Always"
        text = self.note("run-seconds", "")
        return float(text) if text else (NEVER if for_ever else 1.0)


class Shard(threading.Thread):
    """Some of the pods, one after the other: events, and what is due."""

    def __init__(self, api, fleet, log):
        super().__init__(daemon=True)
        self.api, self.fleet, self.log = api, fleet, log
        self.events, self.timers, self.pods = queue.Queue(), [], {}
        self.count = 0

    def later(self, seconds, action, *args):
        self.count += 1
        heapq.heappush(self.timers, (time.monotonic() + seconds, self.count, action, args))

    def run(self):
        while True:
            wait_s = max(0.0, self.timers[0][0] - time.monotonic()) if self.timers else None
            try:
                action, args = self.events.get(timeout=wait_s)
            except queue.Empty:
                _, _, action, args = heapq.heappop(self.timers)
            action(*args)

    def write(self, call, *args):
        """A call of the API that is made again until somebody answers."""
        while True:
            try:
                call(*args)
                return
            except ApiError as error:
                if error.code in (404, 409):
                    return  # the pod has gone or changed: its next event says how
            time.sleep(0.5)

    # What the watch says.

    def on_pod(self, pod):
        uid, node = pod["metadata"]["uid"], pod["spec"].get("nodeName", "")
        if not node or not self.fleet.knows(node):
            return
        if not self.fleet.serves(node):
            return  # nobody there; when the machine is back its pods are looked at again
        mine = self.pods.get(uid)
        if mine is None:
            mine = self.pods[uid] = Running(pod)
            if pod["status"].get("phase") in ("Succeeded", "Failed"):
                mine.ended = True
            elif "deletionTimestamp" not in pod["metadata"]:
                self.admit(mine)
        mine.pod = pod
        if "deletionTimestamp" in pod["metadata"] and not mine.stopping:
            mine.stopping = True
            self.later(0.0 if mine.ended else mine.number("stop-seconds"), self.stop, mine)

    def on_gone(self, pod):
        mine = self.pods.pop(pod["metadata"]["uid"], None)
        if mine and not mine.ended:  # by force: the containers end all the same, nobody is told
            self.end(mine, time.time(), forced=True)

    def on_power(self, node, off):
        for mine in [m for m in self.pods.values() if m.node == node]:
            if off and not mine.ended:
                self.end(mine, time.time(), lost=True)
            elif not off and mine.ended and mine.pod["status"].get("phase") == "Running":
                self.report_end(mine, time.time(), 137, "NodeLost")

    # What a kubelet does.

    def admit(self, mine):
        scheduled = next((c for c in mine.pod["status"].get("conditions", []) if c["type"] == "PodScheduled"), {})
        self.log.write("bound", mine.pod, bound_s=seconds_of(scheduled.get("lastTransitionTime")))
        holds, first, unready = held_by(mine.pod), int(mine.number("reject-first")), int(mine.number("unready-first"))
        error = self.fleet.rejects(mine.node) if holds else ""
        if first and self.fleet.is_one_of_first("reject", mine.owner(), first):
            error = mine.note("reject-error", UNEXPECTED)
        if error:
            self.reject(mine, "rejected", error)
        elif not self.fleet.take(mine.node, mine.uid, holds):
            self.reject(mine, "double_booked", UNEXPECTED)
        elif why := self.fleet.claimed.take(mine.pod):
            self.reject(mine, "double_booked", UNEXPECTED, why=why)
        elif unready and self.fleet.is_one_of_first("ready", mine.owner(), unready):
            self.never_ready(mine)
        else:
            self.later(mine.number("start-seconds"), self.started, mine)

    def reject(self, mine, event, error, **more):
        mine.ended = True
        self.fleet.give(mine.node, mine.uid)
        self.log.write(event, mine.pod, **more)
        text = TURNED_AWAY.get(error, f"Pod was rejected: {error}")
        self.patch_status(mine, {"phase": "Failed", "reason": error, "message": text})

    def never_ready(self, mine):
        now = utc(time.time())
        reason = {"reason": "ContainersNotReady", "message": "containers with unready status: [main]"}
        row = [{"type": kind, "status": "False", "lastTransitionTime": now, **reason} for kind in ("ContainersReady", "Ready")]
        waiting = {"waiting": {"reason": "ImagePullBackOff", "message": "no such image"}}
        self.patch_status(mine, {"phase": "Pending", "startTime": now, "conditions": row} | self.containers(mine, waiting))

    def started(self, mine):
        if mine.ended or mine.stopping:
            return
        if mine.started_s is None:
            mine.started_s = int(time.time())
            self.log.write("started", mine.pod, started_s=mine.started_s)
        ready = [{"type": kind, "status": "True", "lastTransitionTime": utc(mine.started_s)}
                 for kind in ("Initialized", "ContainersReady", "Ready", "PodReadyToStartContainers")]  # fmt: skip
        state = {"running": {"startedAt": utc(mine.started_s)}}
        status = {"phase": "Running", "startTime": utc(mine.started_s), "conditions": ready}
        self.patch_status(mine, status | self.containers(mine, state))
        seconds = mine.runs_for()
        if seconds is not NEVER:
            self.later(seconds, self.finished, mine)

    def finished(self, mine):
        if mine.ended or not self.fleet.serves(mine.node):
            return
        if mine.restarts < mine.number("restarts"):
            mine.restarts += 1
            self.started(mine)
            return
        first = int(mine.number("fail-first"))
        failed = first and self.fleet.is_one_of_first("fail", mine.owner(), first)
        self.end_and_tell(mine, 1 if failed or mine.fails_by_label() else int(mine.number("exit-code")))

    def end_and_tell(self, mine, code):
        now = time.time()
        self.end(mine, now)
        self.report_end(mine, now, code, "Completed" if code == 0 else "Error")

    def stop(self, mine):
        if not self.fleet.serves(mine.node):
            mine.stopping = False
            return
        if not mine.ended:
            self.end_and_tell(mine, 143)
        meta = mine.pod["metadata"]
        self.write(self.api.delete, "Pod", meta["namespace"], meta["name"], 0, mine.uid)

    def end(self, mine, now, **more):
        mine.ended = True
        self.fleet.give(mine.node, mine.uid)
        self.log.write("finished", mine.pod, finished_s=int(now), **more)

    def report_end(self, mine, now, code, reason):
        ended = {"exitCode": code, "reason": reason, "finishedAt": utc(now), "startedAt": utc(mine.started_s or now)}
        status = {"phase": "Succeeded" if code == 0 else "Failed"}
        conditions = [{"type": kind, "status": "False", "reason": "PodCompleted" if code == 0 else "PodFailed",
                       "lastTransitionTime": utc(now)} for kind in ("ContainersReady", "Ready")]  # fmt: skip
        self.patch_status(mine, status | {"conditions": conditions} | self.containers(mine, {"terminated": ended}))

    def containers(self, mine, state):
        def row(container, state_now):
            return {"name": container["name"], "image": container["image"], "imageID": "",
                    "ready": "running" in state_now, "restartCount": mine.restarts, "state": state_now}  # fmt: skip

        spec = mine.pod["spec"]
        begun = utc(mine.started_s or time.time())
        done = {"terminated": {"exitCode": 0, "reason": "Completed", "startedAt": begun, "finishedAt": begun}}
        inits = [row(c, state if c.get("restartPolicy") == "Always" else done) for c in spec.get("initContainers", [])]
        return {"containerStatuses": [row(c, state) for c in spec["containers"]], "initContainerStatuses": inits}

    def patch_status(self, mine, status):
        meta = mine.pod["metadata"]
        body = {"metadata": {"uid": mine.uid}, "status": status}
        self.write(self.api.patch, "Pod", meta["namespace"], meta["name"], body, "status", STRATEGIC_PATCH)


class Player:
    def __init__(self, api, log):
        self.api = api
        self.fleet = Fleet(api)
        self.shards = [Shard(api, self.fleet, log) for _ in range(SHARDS)]
        self.pods = Reflector(api, "Pod", self.on_pod, self.on_pod_gone)
        self.nodes = Reflector(api, "Node", self.on_node, self.fleet.on_gone)

    def post(self, uid, action, *args):
        shard = self.shards[hash(uid) % SHARDS]
        shard.events.put((getattr(shard, action), args))

    def on_pod(self, pod):
        self.post(pod["metadata"]["uid"], "on_pod", pod)

    def on_pod_gone(self, pod):
        self.post(pod["metadata"]["uid"], "on_gone", pod)

    def on_node(self, node):
        switched = self.fleet.on_node(node)
        if not switched:
            return
        name, off = switched
        if not off:
            self.fleet.came_back(name)
        for shard in self.shards:
            shard.events.put((shard.on_power, (name, off)))
        for pod in list(self.pods.known.values()):  # those bound before the machine was there
            if not off and pod["spec"].get("nodeName") == name:
                self.on_pod(pod)

    def start(self):
        for thread in (*self.shards, self.nodes, threading.Thread(target=self.fleet.heartbeats, daemon=True)):
            thread.start()
        while not self.nodes.is_alive():
            time.sleep(0.01)
        self.pods.start()


def main():
    parser = argparse.ArgumentParser()
    for name in ("port", "ca", "cert", "key", "log"):
        parser.add_argument(f"--{name}", required=True)
    args = parser.parse_args()
    Player(Api(int(args.port), args.ca, args.cert, args.key), Log(args.log)).start()
    print("playing", flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
