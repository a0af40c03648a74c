"""The same load of Jobs under Kueue, then under Subak, each with a control plane of its own, from empty.

Both get the same Jobs in the same order, with the queue's label for Kueue and the topology in the annotations of both.
Prints one table, and what each answers to "why does it wait".
"""

import os
import random
import subprocess
import threading
import time
from dataclasses import dataclass

import objects as o
from beside_figures import SLICES, Meter, Pods, Shares, job_of, quantile, weighted_quantile, writes_since
from case import condition
from control_plane import SUBAK_USER
from kube_api import ApiError
from kueue import QPS, QUEUE, USER, WORKERS, Kueue
from service import Service

HERE = os.path.dirname(os.path.abspath(__file__))
HELPERS = 4  # threads that submit
WAIT_S = 3600
SETTLE_S = 15
RACK, HOST = "topology.example.com/rack", "kubernetes.io/hostname"
REQUIRED, PREFERRED = "kueue.x-k8s.io/podset-required-topology", "kueue.x-k8s.io/podset-preferred-topology"
SUBAK_TOPOLOGY = {(REQUIRED, RACK): "rack", (PREFERRED, RACK): "prefer:rack", (REQUIRED, HOST): "node"}
KINDS = (  # pods, GPUs of each, topology
    (1, 1, None), (1, 2, None), (1, 4, None), (1, 8, None),
    (2, 8, (REQUIRED, RACK)), (4, 2, (PREFERRED, RACK)), (4, 8, (REQUIRED, RACK)), (8, 1, (REQUIRED, HOST)),
)  # fmt: skip
RUN_S = (10, 50)  # from, to
WEIGHTS = (1, 1, 1, 2, 2, 2, 3, 4)


@dataclass(frozen=True)
class Team:
    name: str
    weight: int
    quota: int


@dataclass(frozen=True)
class Fleet:
    racks: int = 8
    nodes_of_rack: int = 16
    gpus_of_node: int = 8

    @property
    def gpus(self):
        return self.racks * self.nodes_of_rack * self.gpus_of_node

    @property
    def levels(self):
        return [RACK, HOST]

    @property
    def labels(self):
        """Of all its nodes."""
        return {"e2e/pool": "fleet"}

    def nodes(self):
        for i in range(self.racks * self.nodes_of_rack):
            yield o.node(f"node-{i}", "fleet", self.gpus_of_node, {RACK: f"rack-{i // self.nodes_of_rack}"})

    def group_of(self, node, label):
        return node if label == HOST else int(node.removeprefix("node-")) // self.nodes_of_rack


FLEET = Fleet()
# Half of the fleet is promised by quotas, in proportion to the weights; so a team is entitled to its weight's part.
TEAMS = [Team(f"team-{i}", w, FLEET.gpus // 2 * w // sum(WEIGHTS)) for i, w in enumerate(WEIGHTS)]


@dataclass(frozen=True)
class LoadJob:
    name: str
    team: str
    pods: int
    gpus: int
    topology: tuple | None
    run_s: float

    def manifest(self):
        spec = o.pod_spec(0, "fleet")
        spec["containers"][0]["resources"] = {"limits": {o.GPU: str(self.gpus)}}
        notes = {"run-seconds": self.run_s}
        if self.topology:
            notes |= {self.topology[0]: self.topology[1], "subak.gpu/topology": SUBAK_TOPOLOGY[self.topology]}
        return o.job(self.name, self.team, o.template(spec, None, notes), self.pods, self.pods > 1,
                     {"kueue.x-k8s.io/queue-name": QUEUE})  # fmt: skip


def load_of(count, seed):
    """Every team submits as much as the others, whatever its weight."""
    chance = random.Random(seed)
    return [LoadJob(f"j-{i:05}", chance.choice(TEAMS).name, *chance.choice(KINDS), round(chance.uniform(*RUN_S), 1))
            for i in range(count)]  # fmt: skip


class PlainService(Service):
    """Subak as it is installed: only what the load needs is not a default."""

    def configuration(self, kubeconfig, modes):
        return "\n".join(["apiVersion: subak.gpu/v1", "kind: Configuration", "clusters:", "  - name: e2e",
                          "    mode: enforce", f"    kubeconfig: {kubeconfig}", f"topologyLabels: [{RACK}]",
                          "reclaim: off", ""])  # fmt: skip


class Side:
    """One queue manager with its control plane."""

    def __init__(self, world, load):
        self.world, self.load, self.answers = world, load, []
        self.submitted, self.lock = {}, threading.Lock()

    def start(self):
        world = self.world
        world.plane.node_grace_s = 60  # one process beats for all nodes
        world.plane.start()
        world.admin, world.ana = world.plane.api("admin"), world.plane.api("ana")
        world.give_rights()
        world.start_kubelet()
        for node in FLEET.nodes():
            world.admin.create(node)
        self.start_manager()
        self.wait(lambda: all(condition(n, "Ready") for n in world.admin.list("Node")), "ready nodes")
        time.sleep(SETTLE_S)  # the API server publishes new kinds and asks new webhooks; ServiceAccounts come

    def wait(self, happened, what, seconds=120):
        end = time.monotonic() + seconds * self.world.patience
        while not happened():
            if time.monotonic() > end:
                raise AssertionError(f"{self.name}: no {what}")
            time.sleep(0.5)

    def submit(self):
        rest = list(reversed(self.load))

        def some():
            while True:
                with self.lock:
                    if not rest:
                        return
                    job = rest.pop()
                self.create(job)

        threads = [threading.Thread(target=some, daemon=True) for _ in range(HELPERS)]
        for thread in threads:
            thread.start()
        return threads

    def create(self, job):
        while True:
            try:
                self.world.ana.create(job.manifest())
                break
            except ApiError as error:
                if error.code == 409:
                    break
                time.sleep(0.2)  # refused while a webhook is away: people try again
        self.submitted[job.name] = time.time()

    def run(self):
        """The load to its end. Yields what is wrong."""
        children = {name: process.child.pid for name, process in self.processes().items()}
        self.meter = Meter(children | {"harness": os.getpid(), "kubelet": self.world.kubelet.pid})
        self.meter.start()
        self.began = time.time()
        whole, end = sum(job.pods for job in self.load), time.monotonic() + WAIT_S * self.world.patience
        threads, told = self.submit(), 0.0
        while (done := self.pods_ended()) < whole:
            if not self.answers and done * 3 >= whole:
                self.ask()
            if time.monotonic() > told + 30:
                told = time.monotonic()
                print(f"{self.name}: {len(self.submitted)} Jobs submitted, {done} of {whole} pods have ended after "
                      f"{time.time() - self.began:.0f} s", flush=True)  # fmt: skip
            if time.monotonic() > end:
                yield f"{self.name}: {done} of {whole} pods ended within {WAIT_S * self.world.patience:.0f} s"
                break
            time.sleep(1)
        for thread in threads:
            thread.join()
        yield from self.judge_jobs()
        self.meter.stop()
        self.writes = writes_since(self.world.plane.audit_log, self.began)

    def pods_ended(self):
        return sum("finished" in pod for pod in self.world.log.read().values())

    def judge_jobs(self):
        for row in self.world.log.double_booked:
            yield f"{self.name}: booked twice on {row['node']}: {row['ns']}/{row['name']}"
        jobs, end = [{}], time.monotonic() + 60
        while any(not condition(job, "Complete") for job in jobs) and time.monotonic() < end:
            time.sleep(2)
            jobs = self.world.admin.list("Job")
        left = [job["metadata"]["name"] for job in jobs if not condition(job, "Complete")]
        if left:
            yield f"{self.name}: {len(left)} Jobs are not complete: {left[:5]}"

    def ask(self):
        """Of the Job that has waited longest, and of the last in the queue."""
        begun = {job_of(pod) for pod in self.world.log.read().values()}
        waiting = [job for job in list(self.load) if job.name in self.submitted and job.name not in begun]
        for what, job in (("the first that waits", waiting[:1]), ("the last that waits", waiting[-1:])):
            for one in job:
                obj = self.world.admin.get("Job", one.team, one.name)
                topology = " ".join(one.topology) if one.topology else "no topology"
                title = f"{what}: {one.team}/{one.name}, {one.pods} pods of {one.gpus} GPUs, {topology}"
                self.answers.append((title, list(self.why(obj))))

    def figures(self):
        rows = self.world.log.read().values()
        self.pods = Pods(rows, self.load, self.submitted, self.began, FLEET.gpus_of_node)
        self.shares = Shares(self.pods, TEAMS, FLEET.gpus)


class KueueSide(Side):
    name = "Kueue"
    user, process = USER, "kueue"

    def start_manager(self):
        for team in TEAMS:
            self.world.admin.create(o.namespace(team.name))
        self.kueue = Kueue(self.world.plane)
        self.kueue.start()
        self.kueue.make_queues(TEAMS, FLEET)

    def processes(self):
        return self.world.plane.processes

    def why(self, job):
        return self.kueue.why(job)


class SubakSide(Side):
    name = "Subak"
    user, process = SUBAK_USER, "subakd"

    def start_manager(self):
        world = self.world
        for team in TEAMS:
            world.admin.create(o.namespace(team.name, "true"))
        folder = os.path.join(world.folder, "subak")
        service = world.service = PlainService(world.args.programs, folder, world.plane.kubeconfig("subak"), {})
        service.register(world.plane, "--only", "access")
        service.start()
        service.register(world.plane)
        service.subak("account", "set", "fleet", "--shares", "1", "--reason", "comparison")
        for team in TEAMS:
            service.subak("account", "set", f"fleet.{team.name}", "--shares", str(team.weight), "--quota",
                          f"gpu={team.quota}", "--namespaces", team.name, "--reason", "comparison")  # fmt: skip

    def processes(self):
        return self.world.plane.processes | {"subakd": self.world.service.process}

    def why(self, job):
        meta = job["metadata"]
        for row in self.world.service.jobs_of(f"fleet.{meta['namespace']}"):
            if row["spec"]["name"].split("/")[-1].startswith(meta["name"]):
                return self.world.service.subak("why", row["id"]).rstrip().split("\n")
        return [f"no job of {meta['name']}"]


class BesideKueue:
    def __init__(self, make_world, folder):
        """`make_world(folder)`: a World that is not started."""
        self.make_world, self.folder = make_world, folder

    def run(self, args):
        """What is wrong."""
        if args.beside_kueue != "subak" and not os.path.exists(os.path.join(args.kubernetes, "kueue", "kueue")):
            subprocess.run([os.path.join(HERE, "build"), "kueue"], check=True, stdout=subprocess.DEVNULL)
        load = load_of(args.jobs, args.seed)
        sides = []
        for kind in (KueueSide, SubakSide):
            if args.beside_kueue not in ("both", kind.name.lower()):
                continue
            world = self.make_world(os.path.join(self.folder, kind.name.lower()))
            side = kind(world, load)
            try:
                side.start()
                yield from side.run()
            finally:
                world.stop()
            side.figures()
            sides.append(side)
        Report(sides, load, args.seed).show()


class Report:
    def __init__(self, sides, load, seed):
        self.sides, self.load, self.seed = sides, load, seed

    def show(self):
        pods, gpus = sum(j.pods for j in self.load), sum(j.pods * j.gpus for j in self.load)
        work = sum(j.pods * j.gpus * j.run_s for j in self.load)
        print(f"\n{len(self.load)} Jobs, {pods} pods, {gpus} GPUs, seed {self.seed}; a fleet of {FLEET.gpus} GPUs")
        print(f"run times alone fill the fleet for {work / FLEET.gpus:.0f} s")
        print(f"Kueue: {QPS} calls a second, {WORKERS} workers\n")
        self.head("")
        for what, figure in (*TIMES, *SHARES, *COSTS):
            self.line(what, *(figure(side) for side in self.sides))
        self.by_team()
        for side in self.sides:
            print(f"\nWrites of {side.name}'s manager for each Job:")
            for (verb, what), count in side.writes.get(side.user, {}).most_common(12):
                print(f"  {count / len(self.load):8.2f} {verb} {what}")
        for side in self.sides:
            for job, lines in side.answers:
                print(f"\n{side.name} of {job}")
                print("\n".join("  " + line for line in lines))

    def line(self, what, *values):
        print(f"| {what:54} | " + " | ".join(f"{value:>10}" for value in values) + " |", flush=True)

    def head(self, what):
        self.line(what, *(side.name for side in self.sides))
        print(f"|{'-' * 56}" + f"|{'-' * 12}" * len(self.sides) + "|")

    def by_team(self):
        print()
        self.head("part of the GPUs in use, while all teams want theirs")
        found = [side.shares.by_team() for side in self.sides]
        for team in TEAMS:
            entitled = f"{team.name}, entitled to {team.weight / sum(WEIGHTS):.2%}"
            self.line(entitled, *(f"{rows[team.name]:.2%}" for rows, _ in found))
        self.line("seconds of this", *(f"{seconds:.0f}" for _, seconds in found))
        slices = [side.shares.by_time()[1] for side in self.sides]
        for i in range(SLICES):
            self.line(f"distance from entitlement, eighth {i + 1} of the time",
                      *(f"{rows[i]:.2%}" if rows else "-" for rows in slices))  # fmt: skip


def idle(part):
    return lambda side: f"{weighted_quantile(side.pods.idle_gpus(), part):.2f} s"


def waited(part, chosen=lambda job: True):
    return lambda side: f"{quantile(side.pods.waits(chosen), part):.1f} s"


def held(key):
    def text(side):
        found = side.pods.spread(FLEET.group_of)
        return f"{found[key + ' held']} of {found[key]}"

    return text


def cpu_of(*names):
    return lambda side: f"{sum(side.meter.cpu.get(name, 0.0) for name in names):.1f} s"


def writes_of(who):
    def text(side):
        count = sum(sum(rows.values()) for user, rows in side.writes.items() if who(side, user))
        return f"{count / len(side.load):.2f}"

    return text


TIMES = (
    ("until all have run", lambda side: f"{side.pods.seconds():.1f} s"),
    ("admissions a second, until the last", lambda side: f"{side.pods.admitted()[0]:.1f}"),
    ("admissions a second, in the busiest 10 s", lambda side: f"{side.pods.admitted()[1]:.1f}"),
    ("from free GPUs to started pod, p50", idle(0.5)),
    ("from free GPUs to started pod, p99", idle(0.99)),
    ("fleet in use until the last Job starts", lambda side: f"{side.shares.in_use(side.pods.last_start):.1%}"),
    ("fleet in use until all have run", lambda side: f"{side.shares.in_use():.1%}"),
    ("wait of a Job, p50", waited(0.5)),
    ("wait of a Job, p99", waited(0.99)),
    ("wait of a Job of 1 GPU, p50", waited(0.5, lambda job: job.pods * job.gpus == 1)),
    ("wait of a gang of 32 GPUs, p50", waited(0.5, lambda job: job.pods * job.gpus == 32)),
    ("wait of a gang of 32 GPUs, p99", waited(0.99, lambda job: job.pods * job.gpus == 32)),
    ("a gang's first to last start, p99", lambda side: f"{quantile(side.pods.gang_spans(), 0.99):.2f} s"),
    ("gangs within the topology that they require", held(REQUIRED)),
    ("gangs within the rack that they prefer", held(PREFERRED)),
)
SHARES = (
    ("distance from entitlement, mean over time", lambda side: f"{side.shares.by_time()[0]:.2%}"),
    ("distance of GPU-seconds from entitlement", lambda side: f"{side.shares.over_all():.2%}"),
)
COSTS = (
    ("writes of the manager for each Job", writes_of(lambda side, user: user == side.user)),
    ("writes of Kubernetes' controllers and scheduler", writes_of(lambda side, user: user.startswith("system:kube-")
                                                                  or ":kube-system:" in user)),
    ("CPU of the manager", lambda side: cpu_of(side.process)(side)),
    ("peak memory of the manager", lambda side: f"{side.meter.peak[side.process]:.0f} MiB"),
    ("CPU of kube-apiserver and etcd", cpu_of("kube-apiserver", "etcd")),
    ("CPU of kube-controller-manager and kube-scheduler", cpu_of("kube-controller-manager", "kube-scheduler")),
    ("CPU of the played kubelets and this program", cpu_of("kubelet", "harness")),
    ("CPU of other programs of the machine", lambda side: f"{side.meter.others:.1f} s"),
)  # fmt: skip
