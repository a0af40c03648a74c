"""A long queue of Jobs that wait suspended until their turn (docs/design/0119).

First, one list of Jobs waits behind gates, then the same list waits parked: the order of the starts must be the same.
Then the whole queue is parked while others hold the fleet for longer than each Job's deadline. From then on: gated pods
never ask for more GPUs than are free, each Job completes without a failure, and nothing is left.
"""

import contextlib
import os
import time
from collections import Counter

import objects as o
from beside_figures import quantile, writes_since
from case import condition
from control_plane import SUBAK_USER
from parked_queue import PODS, SHARES, Queue, name_of, starts_in
from parked_watch import Jobs, Pods
from service import CommandFailed

NODES, GPUS_OF_NODE = 24, 8
LEAST_GAIN, GAIN, PARK_AFTER, NEVER_PARK = 0.001, 32, 1000, 1_000_000  # of the policy; 32 and 1000 are its defaults
WAVES = 2  # of the Jobs whose order is compared: as many as the fleet has nodes, each time
WAVE_RUN_S = 8  # longer than it takes to hold the account again
DEADLINE_S = 60
WAIT_S, ALL_S = 600, 3 * 3600  # for a step; for the end of all Jobs
REPLAYED = 200  # so many starts are decided again: each costs a pass over the queue
WHO = {SUBAK_USER: "Subak", "ana": "who submits", "system:kube-scheduler": "kube-scheduler"}


class Parked:
    def __init__(self, world, jobs, minutes=0, nodes=NODES, waves=WAVES, deadline_s=DEADLINE_S, name="parked",
                 shows=True):
        """`minutes`: Jobs that still wait so long after the first start are deleted; 0: all of them run. `name`: of
        accounts, namespaces and nodes. `shows`: prints figures."""
        self.world, self.service, self.name, self.shows = world, world.service, name, shows
        self.job_count, self.node_count, self.waves, self.run_s = jobs, nodes, waves, minutes * 60
        self.fleet_gpus, self.deadline_s = nodes * GPUS_OF_NODE, round(deadline_s * world.patience)
        self.others = f"{name}-others"  # who holds the fleet while the queue is parked
        self.copy = os.path.join(self.service.folder, f"{name}.backup")  # of the store
        self.began = 0.0  # of the long queue's submission, by the wall clock
        self.ran = 0  # Jobs of the long queue that were not deleted while they waited

    def run(self):
        """What is wrong."""
        self.pods, self.jobs = Pods(self.world.admin, self.fleet_gpus), Jobs(self.world.admin)
        nodes = [f"{self.name}-{i}" for i in range(self.node_count)]
        for node in nodes:
            self.world.admin.create(o.node(node, self.name, GPUS_OF_NODE))
        self.wait(lambda: all(condition(self.world.admin.get("Node", "", node), "Ready") for node in nodes), "ready nodes")
        self.set_policy(f"targetShareGain={LEAST_GAIN}")
        try:
            yield from self.one_order()
            yield from self.long_queue()
        finally:
            self.set_policy(f"targetShareGain={GAIN}", f"parkAfter={PARK_AFTER}")
            for node in nodes:
                self.world.admin.delete("Node", "", node)

    def say(self, text):
        if self.shows:
            print(text.rstrip(), flush=True)

    def figure(self, what, value, unit=""):
        self.say(f"{what:58} {value:>10} {unit}")

    def set_policy(self, *words):
        self.service.subak("policy", "set", *words, "--reason", "parked")

    def wait(self, happened, what, every_s=0.5, seconds=WAIT_S):
        end = time.monotonic() + seconds * self.world.patience
        while not happened():
            if time.monotonic() > end:
                raise AssertionError(f"parked: no {what}")
            time.sleep(every_s)

    def follow(self, queue, *more):
        """Pods and Jobs of the queue's namespaces and of `more`."""
        for kind in (self.pods, self.jobs):
            kind.follow({*queue.namespaces.values(), *more})

    def starts(self, ids):
        """[(number of the fact, name)] of the first start of each of these jobs; `ids`: {id: name}."""
        with contextlib.suppress(FileNotFoundError):
            os.remove(self.copy)
        code, out, error = self.service.command("admin", "backup", self.copy, timeout=WAIT_S)
        if code != 0:
            raise CommandFailed(f"admin backup: {error or out}")
        return [(seq, ids[job]) for seq, job in starts_in(self.copy) if job in ids]

    # One list of Jobs behind gates, then parked.

    def one_order(self):
        count = min(self.job_count, self.waves * self.node_count)
        orders = {}
        for form, after in (("gates", NEVER_PARK), ("suspended", 0)):
            self.set_policy(f"parkAfter={after}")
            orders[form] = self.order_in_waves(Queue(self.world, f"{self.name}-{form}", self.name, count, 1, WAVE_RUN_S),
                                               parked=after == 0)  # fmt: skip
            self.figure(f"gated pods at most, {count} Jobs, {form}", self.pods.most["gated"])
        same = sum(a == b for a, b in zip(*orders.values(), strict=False))
        self.figure("starts at the same place in both orders", f"{same} of", str(count))
        if same != count or any(len(names) != count for names in orders.values()):
            yield f"the orders differ: {orders}"

    def order_in_waves(self, queue, parked):
        """The names of the jobs in the order of their starts. Jobs start while the account is not held: as many as the
        fleet takes. It is held again until all of them have ended. So the order does not depend on who ends first."""
        queue.begin()
        self.follow(queue)
        time.sleep(2)  # ServiceAccounts of the namespaces
        self.service.subak("account", "hold", queue.account, "--reason", "parked")

        def known(count):
            """The next Job comes when Subak sees the pods of this one: its controller handles several at once."""
            if parked:
                self.wait(lambda: self.jobs.parked() == count, "parked Job", 0.02)
            else:
                self.wait(lambda: self.pods.count["gated"] == PODS * count, "gated pods", 0.02)

        queue.submit(known)
        count = len(queue.jobs)
        self.wait(lambda: len([r for r in queue.rows() if r.get("gangSize") == PODS]) == count, "jobs in Subak")
        ids = {row["id"]: name_of(row) for row in queue.rows()}
        for started in range(self.node_count, count + self.node_count, self.node_count):
            self.wave(queue, min(started, count))
        starts = self.starts(ids)
        self.wait(lambda: not self.pods.known and self.jobs.count == 0, "end of the pods and Jobs")
        queue.end()
        return [name for _, name in starts]

    def wave(self, queue, started):
        """Until so many jobs have started and ended, with those of earlier waves."""
        left = len(queue.jobs) - started

        def waiting():
            return sum(not row.get("attempt") for row in queue.rows())

        self.service.subak("account", "resume", queue.account, "--reason", "parked")
        self.wait(lambda: waiting() <= left, "starts of a wave", 0.1)
        self.service.subak("account", "hold", queue.account, "--reason", "parked")
        self.wait(lambda: self.jobs.completed() >= started, "end of a wave", 0.1)
        if waiting() != left or self.jobs.completed() != started:
            raise AssertionError(f"parked: a job of the next wave started: {waiting()} wait, want {left}")

    # The whole queue, parked.

    def long_queue(self):
        queue = Queue(self.world, self.name, self.name, self.job_count, 2, 1)
        queue.more = {"activeDeadlineSeconds": self.deadline_s}
        queue.begin()
        self.follow(queue, self.others)
        self.hold_fleet()
        self.began = time.time()
        queue.submit_by_team()
        submitted = time.time()
        self.figure(f"{self.job_count} Jobs submitted within", f"{submitted - self.began:.0f}", "s")
        self.wait(lambda: self.jobs.parked() == self.job_count == len(queue.rows()), "parked jobs in Subak")
        self.figure("all of them known to Subak after", f"{time.time() - self.began:.0f}", "s")
        time.sleep(max(0.0, submitted + self.deadline_s + 2 - time.time()))
        yield from self.while_parked(queue)
        predicted = [name_of(row["job"]) for row in self.rows_of_queue(queue)]
        ids = {row["id"]: name_of(row) for row in queue.rows()}
        self.free_fleet(queue)
        self.watch_end(queue)
        yield from self.judge_pods()
        yield from self.judge_jobs()
        starts = self.starts(ids)
        yield from self.judge_order(queue, predicted, [name for _, name in starts])
        yield from self.judge_left(queue)
        self.show_writes("from its submission to its end", queue, self.ran)
        yield from self.replay(starts)
        queue.end()
        self.world.admin.delete("Namespace", "", self.others)

    def hold_fleet(self):
        """A pod of another team on each node, until it is deleted."""
        self.service.subak("account", "set", self.others, "--shares", "1", "--namespaces", self.others, "--reason", "parked")
        self.world.admin.create(o.namespace(self.others, "true"))
        time.sleep(2)  # ServiceAccounts of the namespaces
        spec = o.pod_spec(0, self.name)
        spec["containers"][0]["resources"] = {"limits": {o.GPU: str(GPUS_OF_NODE)}}
        for i in range(self.node_count):
            self.world.ana.create(o.pod(f"holder-{i}", self.others, spec, None, {"run-seconds": 1e6}))
        self.wait(lambda: all(p["status"].get("phase") == "Running" for p in self.world.admin.list("Pod", self.others)),
                  "pods that hold the fleet")  # fmt: skip

    def free_fleet(self, queue):
        """All nodes at one moment, so that as many jobs start before any of them ends."""
        self.service.subak("account", "hold", queue.account, "--reason", "parked")
        self.world.admin.delete_all("Pod", self.others)
        self.wait(lambda: not self.pods.known and not self.service.jobs_of(self.others), "free fleet")
        self.service.subak("account", "resume", queue.account, "--reason", "parked")

    def rows_of_queue(self, queue):
        return self.service.json("queue", "--account", queue.account, "--expand", "--limit", "0").get("rows", [])

    def while_parked(self, queue):
        """What the queue looks like before any of its jobs starts."""
        began = time.perf_counter()
        rows = self.rows_of_queue(queue)
        self.figure("subak queue", f"{(time.perf_counter() - began) * 1e3:.0f}", "ms")
        if len(rows) != self.job_count or not all(row["job"].get("parked") for row in rows):
            yield f"{len(rows)} rows in the queue, {sum(bool(r['job'].get('parked')) for r in rows)} of them parked"
        for what, row in (("first", rows[0]), ("middle", rows[len(rows) // 2]), ("last", rows[-1])):
            began = time.perf_counter()
            text = self.service.subak("why", row["job"]["id"])
            self.figure(f"subak why, of the {what} job", f"{(time.perf_counter() - began) * 1e3:.0f}", "ms")
            if "parked" not in text:
                yield f"why {row['job']['id']}: {text}"
        if self.pods.count["gated"] or len(self.pods.known) != self.node_count:
            yield f"{len(self.pods.known)} pods exist while all Jobs are parked, want {self.node_count}"
        self.figure("pods of the queue that exist while it is parked", len(self.pods.known) - self.node_count)
        self.show_writes("while it waits", queue, self.job_count)

    def watch_end(self, queue):
        """Until all Jobs have ended or the time is over, with a line each 30 seconds. Sets `ran`."""
        began = told = time.monotonic()

        def over():
            nonlocal told
            done = self.jobs.ended()
            if time.monotonic() > told + 30:
                told = time.monotonic()
                self.say(f"  {done} of {self.job_count} Jobs have ended after {told - began:.0f} s; "
                         f"{self.pods.count['gated']} gated pods")  # fmt: skip
            return done == self.job_count or 0 < self.run_s < time.monotonic() - began

        self.wait(over, "end of all Jobs", seconds=ALL_S)
        self.ran = self.job_count if self.jobs.ended() == self.job_count else self.delete_rest(queue)
        self.figure("from the first free GPU to the last end", f"{time.monotonic() - began:.0f}", "s")

    def delete_rest(self, queue):
        """Its users delete the Jobs that still wait. How many have run."""
        self.service.subak("account", "hold", queue.account, "--reason", "parked")
        self.wait(lambda: self.jobs.ended() + self.jobs.parked() == self.job_count
                  and not any(row.get("attempt") for row in queue.rows()), "end of the Jobs that started")  # fmt: skip
        ran = self.jobs.ended()
        self.figure("Jobs that are deleted while they are parked", self.jobs.parked())
        for namespace in queue.namespaces.values():
            self.world.admin.delete_all("Job", namespace)
        return ran

    def judge_pods(self):
        """A gated pod has its turn: with all pods that have not ended, it fits into the fleet."""
        for what, count in sorted(self.pods.most.items()):
            self.figure(f"pods {what}, at most", count, f"(behind gates: {PODS * self.job_count})")
        self.figure("Jobs that exist, at most", self.jobs.most)
        self.figure("GPUs of gated pods beyond the free ones, at most", self.pods.beyond)
        if self.pods.beyond > 0:
            yield f"gated pods asked for {self.pods.beyond} GPUs more than were free"
        if self.pods.watch.lists + self.jobs.watch.lists != 2:
            yield "a watch was interrupted, so that changes may not have been seen"

    def judge_jobs(self):
        """Deadlines, failures and resumptions of the Jobs that ran."""
        rows = {name: row for name, row in self.jobs.rows.items() if row.resumptions or row.wrong}
        parked_s = [row.resumed_s - row.created_s for row in rows.values() if row.resumed_s]
        took_s = [row.completed_s - row.resumed_s for row in rows.values() if row.completed_s and row.resumed_s]
        self.figure("deadline of each Job (activeDeadlineSeconds)", self.deadline_s, "s")
        self.figure("parked for, at least", f"{min(parked_s, default=0):.0f}", "s")
        self.figure("parked for, at most", f"{max(parked_s, default=0):.0f}", "s")
        self.figure("from resumption to completion, p50", f"{quantile(took_s, 0.5):.1f}", "s")
        self.figure("from resumption to completion, at most", f"{max(took_s, default=0):.1f}", "s")
        wrong = {name: row.wrong for name, row in rows.items() if row.wrong}
        self.figure("Jobs that completed", f"{self.jobs.completed()} of", str(self.ran))
        self.figure("Jobs that failed, lost time or counted a failed pod", len(wrong))
        if wrong or self.jobs.completed() != self.ran or len(rows) != self.ran:
            yield f"{self.jobs.completed()} of {self.ran} Jobs completed; {len(wrong)} went wrong: {list(wrong.items())[:3]}"
        if min(parked_s, default=0) <= self.deadline_s:
            yield f"a Job was parked for {min(parked_s, default=0):.0f} s only: its deadline could not be lost"
        again = [name for name, row in rows.items() if row.resumptions != 1]
        self.figure("Jobs that were resumed more or less than once", len(again))
        if again:
            yield f"{len(again)} Jobs were not resumed once: {again[:5]}"

    def judge_order(self, queue, predicted, started):
        """The starts beside the queue as it was shown, and beside the rule of each team."""
        if len(started) != self.ran or not set(started) <= set(predicted):
            yield f"{len(started)} jobs started, and {self.ran} Jobs ran"
            return
        team_of = {name: team for name, team, _ in queue.jobs}
        by_team = {team: [name for name in started if team_of[name] == team] for team in SHARES}
        wrong = [team for team, names in by_team.items() if names != queue.order_of_team(team)[: len(names)]]
        self.figure("teams whose jobs started in their order", f"{len(SHARES) - len(wrong)} of", str(len(SHARES)))
        if wrong:
            yield f"jobs of the teams {wrong} did not start by priority and submission"
        first = min(self.node_count, self.ran)  # free_fleet()
        same = sum(a == b for a, b in zip(started[:first], predicted[:first], strict=True))
        self.figure("starts on the free fleet as subak queue had shown them", f"{same} of", str(first))
        if same != first:
            yield f"the fleet was filled with {started[:first]}, shown were {predicted[:first]}"
        place = {name: i for i, name in enumerate(predicted)}
        away = [abs(place[name] - i) for i, name in enumerate(started)]
        self.figure("distance from the shown place, p99 of all starts", quantile(away, 0.99))

    def replay(self, starts):
        """The first decisions again, from the stored facts."""
        began, starts = time.monotonic(), starts[:REPLAYED]
        words = ("replay", "--state", self.copy, "--from", str(starts[0][0]), "--to", str(starts[-1][0]))
        code, out, error = self.service.command(*words, timeout=ALL_S)
        lines = (out or error).strip().splitlines() or ["no output"]
        self.figure(f"subak replay of {len(starts)} starts, exit {code}", f"{time.monotonic() - began:.0f}", "s: " + lines[-1])
        if code != 0:
            yield f"replay: {lines[-3:]}"

    def judge_left(self, queue):
        """Nothing is left, and Subak charged what the kubelets saw."""
        self.wait(lambda: not self.pods.known and self.jobs.count == 0, "end of the pods and Jobs")
        self.wait(lambda: not queue.rows(), "end of all jobs in Subak")
        rows = [p for p in self.world.log.read().values() if p["ns"] in queue.namespaces.values() and "finished" in p]
        expected = sum(p["gpus"] * (p["finished"]["finished_s"] - p["bound"]["bound_s"]) for p in rows)
        used = self.service.used_s(queue.account)
        self.figure("pods that ran", len(rows))
        self.figure("GPU-seconds in the ledger", f"{used:.0f}", f"the kubelets saw {expected}")
        booked_twice = [row for row in self.world.log.double_booked if row["ns"] in queue.namespaces.values()]
        self.figure("GPUs booked twice", len(booked_twice))
        if len(rows) != PODS * self.ran:
            yield f"{len(rows)} pods ran, want {PODS * self.ran}"
        if abs(used - expected) > len(rows):  # the API's times are whole seconds
            yield f"used {used:.0f} GPU-s in the ledger, the kubelets saw {expected}, want within {len(rows)}"

    def show_writes(self, when, queue, jobs):
        """Requests that create, change or delete an object of the queue, for each of so many Jobs, by who made them."""
        found = writes_since(self.world.plane.audit_log, self.began, set(queue.namespaces.values()))
        self.say(f"writes for each Job, {when}, without kubelets:")
        for user, rows in sorted(found.items(), key=lambda item: -sum(item[1].values())):
            self.figure(f"  {WHO.get(user, user.rsplit(':', 1)[-1])}", f"{sum(rows.values()) / jobs:.2f}")
        for (verb, what), count in found.get(SUBAK_USER, Counter()).most_common(8):
            self.figure(f"    Subak: {verb} {what}", f"{count / jobs:.2f}")
