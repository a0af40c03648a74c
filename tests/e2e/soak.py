"""The same teams' jobs twice: undisturbed, then while the service is killed and its connections are cut. The same
jobs must finish, nothing may be left, the books must close, and memory must be level. Half of the teams have a quota,
and claim GPUs that the others borrow."""

import random
import re
import threading
import time

import objects as o
from case import condition
from kube_api import ApiError

HELPERS = 8  # threads that create
LEVEL = 1.1  # memory of the last quarter beside the second's
SLACK_MIB = 16  # of a short run, whose quarters are seconds
WAIT_S = 1800
KINDS = ((1, 1), (1, 2), (1, 4), (1, 8), (2, 8), (4, 2), (4, 8), (8, 1))  # pods, GPUs each


class Soak:
    def __init__(self, world, sizes, seed):
        self.world, self.sizes, self.seed, self.random = world, sizes, seed, random.Random(seed)
        self.teams = [f"team-{i}" for i in range(sizes["teams"])]
        self.memory = []  # (seconds, MiB)

    def prepare(self):
        self.world.service.subak("account", "set", "soak", "--shares", "1", "--reason", "soak")
        quota = self.sizes["nodes"] * 8 // len(self.teams)
        for i, team in enumerate(self.teams):
            more = ("--quota", f"gpu={quota}") if i % 2 == 0 else ()
            self.world.admin.create(o.namespace(team, "true"))
            self.world.service.subak("account", "set", f"soak.{team}", "--shares", str(1 + i % 4), "--namespaces", team,
                                     *more, "--reason", "soak")  # fmt: skip
        for i in range(self.sizes["nodes"]):
            self.world.admin.create(o.node(f"soak-{i}", "soak"))
        self.wait(lambda: all(condition(n, "Ready") for n in self.world.admin.list("Node")), "ready nodes")
        time.sleep(2)  # ServiceAccounts of the namespaces

    def jobs(self, run):
        """What people submit, the same each time: pods to `pods` in all."""
        chance, left, found = random.Random(self.seed), self.sizes["pods"], []
        while left > 0:
            pods, gpus = chance.choice(KINDS)
            team = chance.choice(self.teams)
            made = o.template(o.pod_spec(gpus, "soak"), None, {"run-seconds": round(chance.uniform(0.5, 4), 1)})
            found.append(o.job(f"{run}-{len(found)}", team, made, pods, indexed=pods > 1))
            left -= pods
        return found

    def submit(self, jobs):
        rest, lock = list(jobs), threading.Lock()

        def some():
            while True:
                with lock:
                    if not rest:
                        return
                    job = rest.pop()
                while True:
                    try:
                        self.world.ana.create(job)
                        break
                    except ApiError as error:
                        if error.code == 409:
                            break
                        time.sleep(0.5)  # refused while the webhook is away: people try again

        threads = [threading.Thread(target=some) for _ in range(HELPERS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def finished(self, run):
        """Names of Jobs that are complete; those that failed raise."""
        found = set()
        for job in self.world.admin.list("Job"):
            if job["metadata"]["name"].startswith(run + "-"):
                if condition(job, "Failed"):
                    raise AssertionError(f"{job['metadata']['namespace']}/{job['metadata']['name']} failed")
                if condition(job, "Complete"):
                    found.add(job["metadata"]["name"].removeprefix(run + "-"))
        return found

    def wait(self, happened, what):
        end = time.monotonic() + WAIT_S * self.world.patience
        while not happened():
            if time.monotonic() > end:
                raise AssertionError(f"soak: no {what} within {WAIT_S} s")
            time.sleep(1)
            self.measure()

    def measure(self):
        if self.world.service.process.alive():
            self.memory.append((time.monotonic(), self.world.service.resident_mib()))

    def one(self, run):
        """The jobs of one run to their end: (names, seconds)"""
        began, jobs = time.monotonic(), self.jobs(run)
        submitting = threading.Thread(target=self.submit, args=(jobs,))
        submitting.start()
        self.wait(lambda: not submitting.is_alive() and len(self.finished(run)) == len(jobs), f"end of run {run}")
        submitting.join()
        return self.finished(run), time.monotonic() - began

    def clear(self):
        for team in self.teams:
            self.world.admin.delete_all("Job", team)
        self.wait(lambda: not self.world.admin.list("Pod"), "end of all pods")
        self.wait(lambda: not self.world.service.json("job", "list").get("jobs"), "end of all jobs in Subak")

    def disturb(self, stop, seconds):
        """Kills and cuts, spread over about as long as the undisturbed run took."""
        acts = ["kill"] * self.sizes["kills"] + ["cut"] * self.sizes["cuts"]
        self.random.shuffle(acts)
        for act in acts:
            if stop.wait(seconds / len(acts)):
                return
            if act == "kill":
                self.world.service.kill()
                self.world.service.start()
            else:
                self.world.cutter.cut()
            self.done[act] += 1

    def level(self):
        """Memory of the last quarter and of the second, MiB."""
        first, last = self.memory[0][0], self.memory[-1][0]
        quarter = (last - first) / 4
        peak = [max((m for t, m in self.memory if first + q * quarter <= t <= first + (q + 1) * quarter), default=0)
                for q in range(4)]  # fmt: skip
        return peak[3], peak[1]

    def run(self):
        """What is wrong."""
        self.done = {"kill": 0, "cut": 0}
        self.prepare()
        calm, seconds = self.one("calm")
        print(f"soak: {len(calm)} jobs undisturbed in {seconds:.0f} s", flush=True)
        self.clear()
        preempted = self.preempted()
        print(f"soak: {preempted:.0f} attempts gave GPUs back to a team within quota", flush=True)
        self.memory.clear()
        stop = threading.Event()
        disturbing = threading.Thread(target=self.disturb, args=(stop, seconds))
        disturbing.start()
        rough, rough_seconds = self.one("rough")
        stop.set()
        disturbing.join()
        print(f"soak: {len(rough)} jobs with {self.done['kill']} kills and {self.done['cut']} cuts in "
              f"{rough_seconds:.0f} s", flush=True)  # fmt: skip
        self.clear()
        last, second = self.level()
        print(f"soak: memory of the last quarter {last:.0f} MiB, of the second {second:.0f} MiB", flush=True)
        if preempted == 0:
            yield "nobody gave GPUs back"
        if calm != rough:
            yield f"other jobs finished: {sorted(calm ^ rough)[:5]}"
        if last > LEVEL * second + SLACK_MIB:
            yield f"memory grows: {second:.0f} MiB in the second quarter, {last:.0f} in the last"
        yield from self.usage()

    def preempted(self):
        """Attempts that ended for a claim, since the service started."""
        rows = re.findall(r'^subak_attempts_ended_total{[^}]*cause="preempted"[^}]*} (\S+)$', self.world.service.metrics(), re.M)
        return sum(float(row) for row in rows)

    def usage(self):
        """The ledger of all teams beside the kubelets' log."""
        rows = [p for p in self.world.log.read().values() if p["ns"] in self.teams and "finished" in p]
        expected = sum(p["gpus"] * (p["finished"]["finished_s"] - p["bound"]["bound_s"]) for p in rows)
        slack = sum(p["gpus"] for p in rows)
        used, lost = self.world.service.used_s("soak"), self.world.service.lost_s("soak")
        print(f"soak: used {used:.0f} GPU-s, {lost:.0f} on nodes that were not heard, the kubelets saw {expected} of "
              f"{len(rows)} pods", flush=True)  # fmt: skip
        if abs(used + lost - expected) > slack:
            yield f"used {used:.0f} GPU-s and {lost:.0f} lost, the kubelets saw {expected}, want within {slack}"
