"""Many pods wait, the service is dead, and the operator leaves: none may be stuck."""

import time
from concurrent.futures import ThreadPoolExecutor

import objects as o
from case import has_gate
from cases_leave import guards_of

HELPERS = 8


class Leaving:
    def __init__(self, world, pods):
        self.world, self.pods = world, pods

    def make_pod(self, i):
        self.world.ana.create(o.pod(f"p-{i}", "managed", o.pod_spec(1, "nowhere")))

    def run(self):
        """What is wrong."""
        world = self.world
        world.admin.create(o.namespace("managed", "true"))
        world.service.subak("account", "set", "leaving", "--shares", "1", "--namespaces", "managed", "--reason", "leaving")
        time.sleep(3)
        with ThreadPoolExecutor(HELPERS) as pool:
            list(pool.map(self.make_pod, range(self.pods)))
        gated = sum(has_gate(p) for p in world.admin.list("Pod", "managed"))
        world.service.stop()
        began = time.monotonic()
        words = ("uninstall", "--kubeconfig", world.plane.kubeconfig("admin"), "--rate", "500")
        code, out, error = world.service.command(*words, timeout=1800)
        stuck = sum(has_gate(p) for p in world.admin.list("Pod"))
        print(f"leaving: {gated} gated pods, {stuck} stuck after {time.monotonic() - began:.0f} s", flush=True)
        if code != 0 or stuck or guards_of(world.admin) or gated != self.pods:
            yield f"exit {code}, {gated} of {self.pods} gated before, {stuck} after, {guards_of(world.admin)} left: {out}{error}"
        world.admin.delete_all("Pod", "managed")
        world.service.register(world.plane, "--only", "access")
        world.service.start()
        end = time.monotonic() + 600
        while world.service.json("job", "list").get("jobs") and time.monotonic() < end:
            time.sleep(1)
