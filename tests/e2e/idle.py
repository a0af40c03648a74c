"""A large cluster in which nothing happens but heartbeats: Subak writes next to nothing down."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import objects as o
from kube_api import STRATEGIC_PATCH, ApiError

HELPERS = 8
BEAT_S = 60  # lease and status of each node; a kubelet sends its status every 5 minutes
PODS_OF_NAMESPACE = 2000


class Idle:
    def __init__(self, world, sizes):
        self.world, self.sizes = world, sizes
        self.stop = threading.Event()
        self.beats = 0

    def run(self):
        """What is wrong."""
        nodes, pods, minutes = (self.sizes[key] for key in ("nodes", "pods", "minutes"))
        self.side_by_side(nodes, self.make_node)
        for i in range((pods + PODS_OF_NAMESPACE - 1) // PODS_OF_NAMESPACE):
            self.world.admin.create(o.namespace(f"web-{i}"))
        time.sleep(3)
        began = time.monotonic()
        self.side_by_side(pods, self.make_pod)
        print(f"idle: {nodes} nodes and {pods} pods made in {time.monotonic() - began:.0f} s", flush=True)
        beating = threading.Thread(target=self.beat)
        beating.start()
        try:
            time.sleep(20)  # what was just made is told
            before, beats = self.world.service.metric("subak_facts_total"), self.beats
            time.sleep(minutes * 60)
            facts = self.world.service.metric("subak_facts_total") - before
        finally:
            self.stop.set()
            beating.join()
        memory = self.world.service.resident_mib()
        print(f"idle: {facts:.0f} facts in {minutes} minutes with {self.beats - beats} heartbeats; {memory:.0f} MiB", flush=True)
        if facts > minutes + 1:
            yield f"{facts:.0f} facts in {minutes} minutes"
        self.side_by_side(pods, lambda i: self.world.admin.delete("Pod", f"web-{i // PODS_OF_NAMESPACE}", f"p-{i}", grace_s=0))

    def side_by_side(self, count, action):
        with ThreadPoolExecutor(HELPERS) as pool:
            list(pool.map(action, range(count)))

    def status(self):
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        counts = {"cpu": "96", "memory": "1Ti", "pods": "250", o.GPU: "8"}
        ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "", "lastHeartbeatTime": now,
                 "lastTransitionTime": now}  # fmt: skip
        return {"status": {"capacity": counts, "allocatable": counts, "conditions": [ready]}}

    def make_node(self, i):
        node = o.node(f"idle-{i}", "idle")
        del node["metadata"]["labels"]["e2e/played"]  # nobody else tells its status
        self.world.admin.create(node)
        self.world.admin.patch("Node", "", f"idle-{i}", self.status(), "status", STRATEGIC_PATCH)
        lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": f"idle-{i}", "namespace": "kube-node-lease"},
                 "spec": {"holderIdentity": f"idle-{i}", "leaseDurationSeconds": 600}}  # fmt: skip
        self.world.admin.create(lease)

    def make_pod(self, i):
        spec = o.pod_spec(0, restart="Always", nodeName=f"idle-{i % self.sizes['nodes']}")
        spec["containers"][0]["resources"] = {"requests": {"cpu": "100m", "memory": "100Mi"}}
        namespace = f"web-{i // PODS_OF_NAMESPACE}"
        self.world.admin.create(o.pod(f"p-{i}", namespace, spec))
        running = {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}
        self.world.admin.patch("Pod", namespace, f"p-{i}", running, "status", STRATEGIC_PATCH)

    def beat(self):
        nodes = self.sizes["nodes"]
        while not self.stop.is_set():
            for i in range(nodes):
                now = time.strftime("%Y-%m-%dT%H:%M:%S.000000Z", time.gmtime())
                try:
                    self.world.admin.patch("Lease", "kube-node-lease", f"idle-{i}", {"spec": {"renewTime": now}})
                    self.world.admin.patch("Node", "", f"idle-{i}", self.status(), "status", STRATEGIC_PATCH)
                    self.beats += 1
                except ApiError:
                    pass
                if self.stop.wait(BEAT_S / nodes / 2):
                    return
