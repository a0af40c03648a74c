"""Many pods wait, the service is dead, and the operator leaves: none may be stuck."""

import threading
import time

import objects as o
from case import has_gate
from cases_leave import guards_of

HELPERS = 8


class Leaving:
    def __init__(self, world, pods):
        self.world, self.pods = world, pods

    def run(self):
        """What is wrong."""
        world = self.world
        world.admin.create(o.namespace("managed", "true"))
        world.service.subak("account", "set", "leaving", "--shares", "1", "--namespaces", "managed", "--reason", "leaving")
        time.sleep(3)
        rest, lock = list(range(self.pods)), threading.Lock()

        def some():
            while True:
                with lock:
                    if not rest:
                        return
                    i = rest.pop()
                world.ana.create(o.pod(f"p-{i}", "managed", o.pod_spec(1, "nowhere")))

        threads = [threading.Thread(target=some) for _ in range(HELPERS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
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
