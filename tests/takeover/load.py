"""Callers and an edge that do their work whoever leads, and write down what they saw."""

import heapq
import itertools
import queue
import random
import threading
import time

import grpc

import history as h
import service as s

CLUSTER, NODES, GPUS = "east", 4, 8
TRY_S = 1.0  # a caller waits so long for an answer, and asks another server then
SILENT_S = 4.0  # who did not answer is asked only if nobody else is there, for so long: a takeover takes less
CALLS_PER_S = 20  # of each caller
GIVES_UP = 0.1  # this part of the callers' new jobs is asked for once and never again
OUTSTANDING = 60  # jobs of a caller that wait or run, before it cancels the oldest
FOR_GOOD = (grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.NOT_FOUND, grpc.StatusCode.FAILED_PRECONDITION,
            grpc.StatusCode.ALREADY_EXISTS, grpc.StatusCode.OUT_OF_RANGE, grpc.StatusCode.RESOURCE_EXHAUSTED)
QUICK = [("grpc.initial_reconnect_backoff_ms", 20), ("grpc.min_reconnect_backoff_ms", 20),
         ("grpc.max_reconnect_backoff_ms", 100)]


class Finder:
    """Who leads, as far as answers say. Any thread. `token` and `ca`: None where the servers ask for none."""

    def __init__(self, addresses, token=None, ca=None):
        self.addresses, self.token, self.ca = addresses, token, ca
        self.leader = 0
        self.silent_until = [0.0] * len(addresses)

    def connect(self, place):
        return s.Api(self.addresses[place], self.token, QUICK, self.ca)

    def next(self, tried):
        """Where to ask: the leader first, then in turn, those that did not answer last."""
        now = time.monotonic()
        turn = [(self.leader + i) % len(self.addresses) for i in range(len(self.addresses))]
        turn = [i for i in turn if self.silent_until[i] <= now] or turn
        return turn[tried % len(turn)]

    def answered(self, place):
        self.leader = place
        self.silent_until[place] = 0.0

    def silent(self, place):
        self.silent_until[place] = time.monotonic() + SILENT_S


class Caller:
    """Makes calls that are written down. One thread each."""

    def __init__(self, finder, stop):
        self.finder, self.stop = finder, stop
        self.apis = [finder.connect(place) for place in range(len(finder.addresses))]
        self.calls = []

    def ask(self, method, request, answer, once=False, service="JobService"):
        """Repeats until there is an answer, with the same request id. The answer; None: none came, or a refusal."""
        call = h.Call(method, request.request_id, time.monotonic(), job=getattr(request, "job_id", ""))
        self.calls.append(call)
        for tried in itertools.count():
            place = self.finder.next(tried)
            try:
                reply = self.apis[place].call(service, method, request, answer, TRY_S)
            except grpc.RpcError as error:
                call.end = time.monotonic()
                if error.code() in FOR_GOOD:
                    call.outcome = h.REFUSED
                    return None
                if error.code() == grpc.StatusCode.DEADLINE_EXCEEDED:
                    self.finder.silent(place)
                if once or self.stop.is_set() and tried > 500:
                    return None
                time.sleep(0.02)
                continue
            call.end, call.outcome, call.by = time.monotonic(), h.ACKNOWLEDGED, place
            call.job = getattr(reply, "job_id", "")
            self.finder.answered(place)
            return reply

    ACCOUNTS, BUDGET, LIMIT_S = ("ml", "bio"), "", 0

    def set_up(self, which="begin", quota=0):
        """`quota`: GPUs of ml; 0: it has no quota."""
        from subak.v1 import account_service_pb2 as accounts
        from subak.v1 import cluster_service_pb2 as clusters

        for path in self.ACCOUNTS:
            account = accounts.UpdateAccountRequest(account=accounts.Account(path=path, shares=1), reason="test",
                                                    allow_missing=True, request_id=f"{which}-{path}")
            if quota and path == "ml":
                account.account.quota.add(product="gpu", milligpu=1000 * quota)
            account.account.budgets = self.BUDGET
            self.ask("UpdateAccount", account, accounts.EditAccountResponse, service="AccountService")
        cluster = clusters.UpdateClusterRequest(name=CLUSTER, mode=clusters.MODE_ENFORCE, reason="test",
                                                allow_missing=True)
        self.ask("UpdateCluster", cluster, clusters.UpdateClusterResponse, service="ClusterService")

    def submit(self, account, name, shape, once=False):
        """Asks for a job of (pods, GPUs of each). Its id; None: nobody knows."""
        from subak.v1 import job_service_pb2 as jobs

        job = jobs.JobSpec(cluster=CLUSTER, account=account, user="ana", name=name)
        group = job.request.groups.add(count=shape[0])
        group.shape.kind, group.shape.gpus = 1, shape[1]
        if self.LIMIT_S:
            job.time_limit.seconds = self.LIMIT_S
        made = self.ask("CreateJob", jobs.CreateJobRequest(job=job, request_id=name), jobs.CreateJobResponse, once)
        return made.job_id if made else None

    def cancel(self, job, request_id):
        from subak.v1 import job_service_pb2 as jobs

        self.ask("CancelJob", jobs.CancelJobRequest(job_id=job, reason="enough", request_id=request_id), jobs.EditJobResponse)

    def work(self, name, seed):
        """Submits jobs, holds some of them and releases them again, and cancels the oldest, until it is stopped."""
        from subak.v1 import job_service_pb2 as jobs

        chance = random.Random(f"{seed} {name}")
        mine, held = [], []
        due = time.monotonic()
        for number in itertools.count():
            if self.stop.is_set():
                return
            shape = chance.randint(1, 2), chance.choice((1, 2, 4))
            made = self.submit(("ml", "bio")[number % 2], f"{name}-{number}", shape, once=chance.random() < GIVES_UP)
            if made:
                mine.append(made)
            if made and number % 7 == 0:
                edit = jobs.HoldJobRequest(job_id=made, reason="wait", request_id=f"{name}-hold-{number}")
                self.ask("HoldJob", edit, jobs.EditJobResponse)
                held.append(made)
            if len(held) > 3:
                edit = jobs.ReleaseJobRequest(job_id=held.pop(0), reason="go on", request_id=f"{name}-release-{number}")
                self.ask("ReleaseJob", edit, jobs.EditJobResponse)
            if len(mine) > OUTSTANDING:
                self.cancel(mine.pop(0), f"{name}-cancel-{number}")
            due = max(due + 1 / CALLS_PER_S, time.monotonic() - 1)
            time.sleep(max(0.0, due - time.monotonic()))

    def fill(self, count):
        """Jobs that wait for good, as nothing in the fleet is what they ask for: a queue of that length."""
        from subak.v1 import job_service_pb2 as jobs

        for first in range(0, count, 1000):
            batch = jobs.BatchCreateJobsRequest()
            for number in range(first, min(first + 1000, count)):
                job = batch.requests.add().job
                job.cluster, job.account, job.user, job.name = CLUSTER, "bio", f"u{number % 50}", f"fill-{number}"
                group = job.request.groups.add(count=4)
                group.shape.kind, group.shape.gpus = 1, 8
                group.shape.products.append("NVIDIA-B200")
            answer = self.apis[self.finder.leader].call("JobService", "BatchCreateJobs", batch,
                                                        jobs.BatchCreateJobsResponse, s.DEADLINE_S)
            assert all(result.HasField("job") for result in answer.results), answer.results[0]


class Claimer(Caller):
    """Makes jobs within quota claim GPUs. c0 is ml: it submits its quota's worth of jobs, cancels them all and waits for a
    moment. The others are bio, which always has jobs waiting and so borrows all that is idle."""

    QUOTA, IDLE_S, BURST_S = 16, 1.0, (1.0, 4.0)
    WAITING, PER_S = 20, 10  # of a caller of bio: jobs that have not ended, and calls

    def set_up(self, which="begin", quota=QUOTA):
        super().set_up(which, quota)

    def work(self, name, seed):
        chance = random.Random(f"{seed} {name}")
        self.burst(name, chance) if name == "c0" else self.borrow(name, chance)

    def burst(self, name, chance):
        for number in itertools.count():
            shapes = [(2, 4), (1, 4), (1, 2), (2, 1)]
            chance.shuffle(shapes)
            made = [self.submit("ml", f"{name}-{number}-{i}", shape) for i, shape in enumerate(shapes)]
            self.stop.wait(chance.uniform(*self.BURST_S))
            for i, job in enumerate(made):
                if job:
                    self.cancel(job, f"{name}-cancel-{number}-{i}")
            if self.stop.wait(self.IDLE_S):
                return

    def borrow(self, name, chance):
        mine = []
        for number in itertools.count():
            if self.stop.wait(1 / self.PER_S):
                return
            shape = chance.randint(1, 2), chance.choice((1, 2, 4))
            made = self.submit("bio", f"{name}-{number}", shape, once=chance.random() < GIVES_UP)
            mine += [made] if made else []
            if len(mine) > self.WAITING:
                self.cancel(mine.pop(chance.randrange(len(mine) // 2, len(mine))), f"{name}-cancel-{number}")


class Spender(Caller):
    """Jobs of three teams below one account, each with a hard budget that is soon spent, in periods of five minutes. Some
    jobs run beyond their time limit, and Subak ends them."""

    ACCOUNTS, BUDGET, LIMIT_S = ("bio", "bio.t0", "bio.t1", "bio.t2"), "0.1h/5m", 5
    WAITING, PER_S = 10, 5

    def work(self, name, seed):
        chance = random.Random(f"{seed} {name}")
        mine = []
        for number in itertools.count():
            if self.stop.wait(1 / self.PER_S):
                return
            team = f"bio.t{chance.randrange(3)}"
            made = self.submit(team, f"{name}-{number}", (1, chance.choice((1, 1, 2))), once=chance.random() < GIVES_UP)
            mine += [made] if made else []
            if len(mine) > self.WAITING:
                self.cancel(mine.pop(chance.randrange(len(mine) // 2, len(mine))), f"{name}-cancel-{number}")


class Pod:
    """`deadline`: of its hold, as what was left of that when it was told, counted down by a clock that nobody sets."""

    def __init__(self, step, deadline=None):
        self.step = step
        self.deadline = deadline
        self.bound = 0.0  # since when it asks to start, as an instant; 0: not yet
        self.started = self.running = False
        self.ended = self.cause = None  # an instant
        self.known = False  # its end is acknowledged


class Edge:
    """A small cluster: opens gates as it is told, binds, runs and ends pods, and tells what it did. Whoever leads is
    given the whole list first. A pod takes its GPUs once the word that it is bound is acknowledged: what comes after
    its hold is refused, and does not start. `steps` is its own log; `clock_off_ms`: its clock shows so much more."""

    BIND_S, RUN_S, END_S = 0.03, 0.05, (0.2, 1.2)

    def __init__(self, finder, stop, seed):
        self.finder, self.stop = finder, stop
        self.end_s = self.END_S
        self.chance = random.Random(f"{seed} edge")
        self.lock = threading.RLock()
        self.steps, self.pods, self.due = [], {}, []
        self.complaints = []
        self.session = self.sequence = 0
        self.epoch = 0  # the highest that an effect came with
        self.outbox = None  # of the stream that is open
        self.ends_sent = {}  # by sequence
        self.binds_sent = {}  # likewise
        self.clock_off_ms = 0
        self.too_late = 0  # pods that did not start, as their hold had ended
        self.stale = self.again = 0  # effects of an older session or epoch, or known
        self.heard = []  # (instant, place) of each effect, also of those
        self.count = itertools.count()

    def run(self):
        threading.Thread(target=self.time_passes, daemon=True).start()
        while not self.stop.is_set():
            place = self.finder.leader
            api = self.finder.connect(place)
            try:
                self.follow(api, place)
            except grpc.RpcError:
                pass
            with self.lock:
                self.outbox = None
            time.sleep(0.05)

    def follow(self, api, place):
        """Until the stream breaks or another leads."""
        from subak.v1 import cluster_service_pb2 as clusters

        with self.lock:
            outbox = self.outbox = queue.SimpleQueue()
            self.sequence = 0
            self.ends_sent.clear()
            self.binds_sent.clear()
            self.list_all()
        answers = api.both_ways("ClusterService", "Observe", iter(outbox.get, None), clusters.ObserveResponse, None)
        threading.Thread(target=self.until_another_leads, args=(place, answers, outbox), daemon=True).start()
        for answer in answers:
            if answer.session:
                with self.lock:
                    self.session = answer.session
                threading.Thread(target=self.effects, args=(api, place), daemon=True).start()
            self.acknowledged(answer)

    def until_another_leads(self, place, answers, outbox):
        while self.finder.leader == place and not self.stop.is_set() and answers.is_active():
            time.sleep(0.05)
        outbox.put(None)
        answers.cancel()

    def effects(self, api, place):
        """As long as the server sends them: what comes late of an old one must do no harm."""
        from subak.v1 import cluster_service_pb2 as clusters

        try:
            request = clusters.EffectsRequest(cluster=CLUSTER)
            for answer in api.stream("ClusterService", "Effects", request, clusters.EffectsResponse):
                with self.lock:
                    self.heard.append((time.monotonic(), place))
                    self.told(answer.effect)
        except grpc.RpcError:
            pass

    # All that follows holds the lock.

    def told(self, effect):
        from subak.v1 import cluster_service_pb2 as clusters
        from subak.v1 import job_service_pb2 as jobs

        if effect.session < self.session or effect.epoch < self.epoch:
            self.stale += 1
            return
        self.epoch = effect.epoch
        for place in effect.pods:
            step = h.Step("open", effect.job_id, place.rank, effect.attempt, place.node, place.gpu_mask)
            pod = self.pods.get(step.pod)
            if effect.kind == clusters.EFFECT_KIND_EVICT:
                if pod is None:  # it never came here
                    self.pods[step.pod] = pod = Pod(step)
                    pod.ended, pod.cause = time.monotonic(), jobs.CAUSE_CANCELLED
                    self.send(self.gone_event(pod), pod)
                elif pod.ended is None:
                    self.end(pod, jobs.CAUSE_CANCELLED)
            elif pod:
                self.again += 1
            else:
                left = effect.hold_left.ToMilliseconds() / 1000 if effect.HasField("hold_left") else None
                self.pods[step.pod] = pod = Pod(step, left and time.monotonic() + left)
                self.later(self.BIND_S, self.bind, pod)

    def later(self, seconds, call, pod):
        heapq.heappush(self.due, (time.monotonic() + seconds, next(self.count), call, pod))

    def now_ms(self, instant=None):
        """What the edge's clock shows, which may be wrong, or showed at an instant had it been as it is now."""
        ago_ms = 0 if instant is None else int(1000 * (time.monotonic() - instant))
        return time.time_ns() // 1_000_000 + self.clock_off_ms - ago_ms

    def ran(self):
        """How long each pod ran whose end is known to the service."""
        with self.lock:
            return {pod.step.pod: pod.ended - pod.bound for pod in self.pods.values() if pod.started and pod.known}

    def bind(self, pod):
        """It asks; who is acknowledged starts."""
        if pod.deadline is not None and time.monotonic() > pod.deadline:
            return self.come_too_late(pod)
        pod.bound = time.monotonic()
        self.send(self.bound_event(pod), binds=pod)

    def come_too_late(self, pod):
        self.too_late += 1
        if self.pods.get(pod.step.pod) is pod:
            del self.pods[pod.step.pod]

    def started(self, pod):
        if pod.started or pod.ended is not None:
            return  # a list said it once more
        pod.started = True
        self.steps.append(pod.step)
        self.later(self.RUN_S, self.start, pod)

    def start(self, pod):
        pod.running = True
        self.send(self.running_event(pod))
        self.later(self.chance.uniform(*self.end_s), self.finish, pod)

    def finish(self, pod):
        from subak.v1 import job_service_pb2 as jobs

        self.end(pod, jobs.CAUSE_FINISHED)

    def end(self, pod, cause):
        pod.ended, pod.cause = time.monotonic(), cause
        step = pod.step
        if pod.started:
            self.steps.append(h.Step("gone", step.job, step.rank, step.attempt, step.node, step.gpu_mask))
        self.send(self.gone_event(pod), pod)

    def send(self, event, ends=None, binds=None):
        if self.outbox is None:
            return  # the next list tells it
        self.sequence += 1
        event.sequence, event.cluster = self.sequence, CLUSTER
        event.sent_at.FromMilliseconds(self.now_ms())
        event.sent_steady_ms = time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1_000_000
        if ends:
            self.ends_sent[self.sequence] = ends
        if binds:
            self.binds_sent[self.sequence] = binds
        self.outbox.put(event)

    def event(self):
        from subak.v1 import cluster_service_pb2 as clusters

        return clusters.ObserveRequest()

    def of(self, event, pod):
        event.pod.job_id, event.pod.rank, event.pod.attempt = pod.step.pod

    def bound_event(self, pod):
        event = self.event()
        self.of(event.pod_bound, pod)
        event.pod_bound.node = pod.step.node
        event.pod_bound.bound_at.FromMilliseconds(self.now_ms(pod.bound))
        return event

    def running_event(self, pod):
        event = self.event()
        self.of(event.pod_running, pod)
        return event

    def gone_event(self, pod):
        event = self.event()
        self.of(event.pod_gone, pod)
        event.pod_gone.ended_at.FromMilliseconds(self.now_ms(pod.ended))
        event.pod_gone.cause = pod.cause
        return event

    def list_all(self):
        begin, complete = self.event(), self.event()
        begin.list_begin.SetInParent()
        complete.list_complete.SetInParent()
        self.send(begin)
        for number in range(NODES):
            event = self.event()
            node = event.node_seen.node
            node.name, node.product, node.gpus = f"n{number}", "NVIDIA-H100-80GB-HBM3", GPUS
            node.cpu_milli, node.memory_bytes, node.pod_slots = 64000, 1 << 40, 110
            self.send(event)
        for pod in self.pods.values():
            if pod.known:
                continue
            if pod.bound:
                self.send(self.bound_event(pod), binds=None if pod.ended else pod)
            if pod.running and pod.ended is None:
                self.send(self.running_event(pod))
            if pod.ended is not None:
                self.send(self.gone_event(pod), pod)
        self.send(complete)

    # Without it.

    def acknowledged(self, answer):
        with self.lock:
            refused = {error.sequence: error.status.message for error in answer.errors}
            for sequence in [n for n in self.binds_sent if n <= answer.acknowledged_sequence]:
                pod = self.binds_sent.pop(sequence)
                if refused.pop(sequence, None) is None:
                    self.started(pod)
                elif not pod.started:
                    self.come_too_late(pod)
            self.complaints += refused.values()
            for sequence in [n for n in self.ends_sent if n <= answer.acknowledged_sequence]:
                self.ends_sent.pop(sequence).known = True

    def time_passes(self):
        while not self.stop.is_set():
            with self.lock:
                while self.due and self.due[0][0] <= time.monotonic():
                    _, _, call, pod = heapq.heappop(self.due)
                    if pod.ended is None:
                        call(pod)
            time.sleep(0.01)
