"""Eight that mean harm, each by one kind of thing that once hurt. Each runs in a process of its own until `stop` is set.

A refusal is what they expect. What must not happen at all (an answer without bound, a request id that answers for
another's call, a way around the gate) they report as `wrong`; whether others suffer is the judge's business.
"""

import json
import random
import resource
import socket
import ssl
import threading
import time

import grpc

import ordinary
import service as s

MOST_ANSWER_BYTES = 64 << 10
PLACES = 6  # addresses that idle connections come from, none of them the others'
MOST_MESSAGE_BYTES = 8 << 10  # of a refusal over gRPC: beyond it clients see RESOURCE_EXHAUSTED instead


class Seen:
    def __init__(self, name):
        self.name, self.rounds, self.wrong, self.answers = name, 0, [], {}

    def add(self, what):
        self.answers[what] = self.answers.get(what, 0) + 1

    def bad(self, text):
        if len(self.wrong) < 20:
            self.wrong.append(text[:400])

    def result(self, **more):
        return {"name": self.name, "rounds": self.rounds, "wrong": self.wrong, "answers": self.answers, **more}


def rounds(seen, stop):
    """Counts rounds; none of them may spin."""
    while not stop.is_set():
        begin = time.monotonic()
        yield seen.rounds
        seen.rounds += 1
        time.sleep(max(0.01, 0.05 - (time.monotonic() - begin)))


def refused(seen, what, call, codes):
    """The call is refused with one of `codes`, in few words. Whatever else it says is wrong."""
    try:
        call()
        seen.add(f"{what}: accepted")
        return False
    except grpc.RpcError as error:
        code, text = error.code().name, error.details() or ""
        seen.add(f"{what}: {code}")
        if code not in codes:
            seen.bad(f"{what}: {code} {text}")
        if len(text.encode()) > MOST_MESSAGE_BYTES:
            seen.bad(f"{what}: a message of {len(text)} characters")
        return True


# Who floods a door may find it closed.
BUSY = ("UNAVAILABLE", "RESOURCE_EXHAUSTED", "DEADLINE_EXCEEDED")
TOO_MUCH = ("INVALID_ARGUMENT", "NOT_FOUND", "FAILED_PRECONDITION", *BUSY)


def too_large(world, stop):
    """Jobs and pods that would make a store that cannot be read."""
    from subak.v1 import account_service_pb2 as accounts
    from subak.v1 import cluster_service_pb2 as clusters
    from subak.v1 import job_service_pb2 as jobs

    seen, api, kept = Seen("too large"), s.Api(world["grpc"], world["token"]), {}

    def job(title, **fields):
        spec = jobs.JobSpec(cluster="east", account="ml", user="eve", name=title)
        group = spec.request.groups.add(count=1)
        group.shape.kind, group.shape.gpus = 1, 8
        for field, value in fields.items():
            setattr(spec, field, value)
        return spec

    def create(spec, request_id=""):
        request = jobs.CreateJobRequest(job=spec, request_id=request_id)
        answer = api.call("JobService", "CreateJob", request, jobs.CreateJobResponse)
        kept[answer.job_id] = spec.name
        return answer

    values = job("values")
    need = values.request.groups[0].shape.affinity.add().requirements.add(key="zone", op="In")
    need.values.extend("v" * 100 + str(i) for i in range(160_000))
    selectors = job("selectors")
    for i in range(100_000):
        selectors.request.groups[0].shape.node_selector.add(key=f"k{i}", value="v")
    groups = job("groups")
    for i in range(9_000):
        group = groups.request.groups.add(count=1)
        group.shape.kind, group.shape.gpus = 1, 1 + i % 8
        group.shape.node_selector.add(key="k" * 250, value="v" * 250)

    def gang():
        pods = []
        for rank in range(24):
            event = clusters.ObserveRequest(sequence=rank + 1, cluster="west")
            pod = event.pod_seen.pod
            pod.uid, pod.namespace, pod.name = f"uid-{rank}", "team-w", f"w-{rank}"
            pod.account, pod.gang, pod.gang_size, pod.rank, pod.gated = "ml", "w", 24, rank, True
            pod.shape.kind, pod.shape.gpus = 1, 8
            pod.shape.node_selector.add(key="k", value="v" * 700_000)
            pods.append(event)
        for answer in api.both_ways("ClusterService", "Observe", iter(pods), clusters.ObserveResponse):
            for error in answer.errors:
                seen.add("gang: refused")
                if len(error.status.message.encode()) > MOST_MESSAGE_BYTES:
                    seen.bad(f"gang: a message of {len(error.status.message)} characters")
            if answer.acknowledged_sequence == len(pods):
                return

    def account():
        spec = accounts.Account(path="ml", shares=1)
        request = accounts.UpdateAccountRequest(account=spec, reason="r" * 1_000_000)
        api.call("AccountService", "UpdateAccount", request, accounts.EditAccountResponse)

    for number in rounds(seen, stop):
        for spec in (values, selectors, groups):
            refused(seen, spec.name, lambda: create(spec), TOO_MUCH)
        for field in ("name", "user", "account", "cluster"):
            refused(seen, f"long {field}", lambda: create(job("x", **{field: "x" * 20_000})), TOO_MUCH)
        refused(seen, "long request id", lambda: create(job("x"), "x" * 20_000), TOO_MUCH)
        refused(seen, "long reason", account, TOO_MUCH)
        try:
            gang()
            seen.add("gang: answered")
        except grpc.RpcError as error:
            seen.add(f"gang: {error.code().name}")
    return seen.result(kept=kept)


def dear_bodies():
    """The worst shapes known, each as (path, body)."""
    many = ordinary.pod("sidecars", "team-a")
    many["spec"]["containers"] += [
        {"name": f"c{i}", "image": "i", "resources": {"limits": {f"example.com/r{i}": "1"}}} for i in range(20_000)
    ]
    labels = ordinary.pod("labels", "team-a")
    labels["metadata"]["labels"] = {f"l{i}": "v" for i in range(45_000)}
    keys = ordinary.pod("keys", "team-a")
    keys["metadata"]["annotations"] = {f"subak.gpu/k{i}": "v" for i in range(80_000)}
    tolerations = ordinary.pod("tolerations", "team-a", {"tolerations": [{"key": f"t{i}"} for i in range(60_000)]})
    env = ordinary.pod("env", "team-a")
    env["spec"]["containers"][0]["env"] = [{"name": f"E{i}", "value": "all"} for i in range(60_000)]
    volumes = ordinary.pod("volumes", "team-a")
    volumes["spec"]["volumes"] = [{"name": f"v{i}", "hostPath": {"path": f"/./d//{i}"}} for i in range(50_000)]
    gates = ordinary.pod("gates", "team-a", {"schedulingGates": [{"name": f"example.com/g{i}"} for i in range(60_000)]})
    for path in ("/mutate/east", "/validate/east"):
        for pod in (many, labels, keys, tolerations, env, volumes, gates):
            body = json.dumps(ordinary.review("u", pod, "UPDATE" if path[1] == "v" else "CREATE", pod)).encode()
            if len(body) > 3 << 20:
                body = json.dumps(ordinary.review("u", pod)).encode()
            yield path, body
    yield "/mutate/east", b'{"a":' * 1_000_000
    yield "/mutate/east", b"[" * 3_000_000
    yield "/mutate/" + "c" * 20_000, json.dumps(ordinary.review("u", ordinary.pod("p", "team-a"))).encode()


def dear_reviews(world, stop):
    """Bodies whose cost was more than linear, and answers that repeated them."""
    seen, bodies = Seen("dear reviews"), list(dear_bodies())
    webhook = s.Webhook(world["webhook"], world["ca"], s.DEADLINE_S)
    for number in rounds(seen, stop):
        path, body = bodies[number % len(bodies)]
        try:
            status, answer = webhook.post(path, body)
        except (OSError, ssl.SSLError) as error:
            seen.add(type(error).__name__)
            continue
        seen.add(str(status))
        if len(answer) > MOST_ANSWER_BYTES:
            seen.bad(f"{path[:20]} body of {len(body)}: an answer of {len(answer)} bytes")
    webhook.close()
    return seen.result()


def idle_connections(world, stop):
    """As many connections as there may be, to each port, that say nothing, little, or half a handshake; from few places."""
    seen, most = Seen("idle connections"), 1200
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(8192, resource.getrlimit(resource.RLIMIT_NOFILE)[1]),) * 2)
    starts = (b"", b"GET /", b"PRI * HTTP/2.0\r\n", b"\x16\x03\x01\x02\x00\x01")
    chance = random.Random(world["seed"])
    for _ in rounds(seen, stop):
        held = []
        for port in ("webhook", "grpc", "http"):
            host, number = world[port].rsplit(":", 1)
            for _ in range(most):
                try:
                    place = (f"127.0.0.{chance.randint(2, PLACES + 1)}", 0)
                    connection = socket.create_connection((host, int(number)), 5, place)
                    connection.sendall(chance.choice(starts))
                    held.append(connection)
                    seen.add(f"{port}: held")
                except OSError as error:
                    seen.add(f"{port}: {type(error).__name__}")
                if stop.is_set():
                    break
        stop.wait(5)
        for connection in held:
            connection.close()
    return seen.result()


def others_ids(world, stop):
    """Request ids that somebody else has used, or that were used for something else."""
    from subak.v1 import job_service_pb2 as jobs

    seen, kept = Seen("others' ids"), {}
    mine, theirs = (s.Api(world["grpc"], world[token]) for token in ("team_token", "other_token"))

    def create(api, account, name, request_id):
        spec = jobs.JobSpec(cluster="east", account=account, user="eve", name=name)
        group = spec.request.groups.add(count=1)
        group.shape.kind, group.shape.gpus = 1, 8
        request = jobs.CreateJobRequest(job=spec, request_id=request_id)
        answer = api.call("JobService", "CreateJob", request, jobs.CreateJobResponse)
        job = api.call("JobService", "GetJob", jobs.GetJobRequest(job_id=answer.job_id), jobs.Job)
        if (job.spec.name, job.spec.account) != (name, account):
            seen.bad(f"{account} {name} under {request_id} was told of {job.spec.account} {job.spec.name}")
        kept[answer.job_id] = name
        return answer.job_id

    def cancel(api, job, request_id):
        request = jobs.CancelJobRequest(job_id=job, reason="mine", request_id=request_id)
        api.call("JobService", "CancelJob", request, jobs.EditJobResponse)
        state = api.call("JobService", "GetJob", jobs.GetJobRequest(job_id=job), jobs.Job)
        if state.state != jobs.JOB_STATE_DONE:
            seen.bad(f"{job} was said to be cancelled under {request_id}, and is not")
        kept.pop(job, None)

    for number in rounds(seen, stop):
        name, used = f"ids-{number}", f"id-{number}"
        try:
            first = create(mine, "bio", name, used)
            other = create(theirs, "chem", name + "-other", used)  # another caller's: another key
            for api, job in ((mine, first), (theirs, other)):
                cancel(api, job, used)  # another method's: another key
        except grpc.RpcError as error:
            seen.add(error.code().name)
            continue
        again = lambda: create(mine, "bio", name + "-new", used)
        refused(seen, "other content", again, ("FAILED_PRECONDITION", *BUSY))
    return seen.result(kept=kept)


def guesses(world, stop):
    """Tokens that are none, edits without the right to them, another site's host name."""
    from subak.v1 import account_service_pb2 as accounts

    seen = Seen("guesses")
    viewer = s.Api(world["grpc"], world["viewer_token"])
    stranger = s.Api(world["grpc"], "x" * 4000)
    spec = accounts.Account(path="ml", shares=100)
    edit = accounts.UpdateAccountRequest(account=spec, reason="mine")
    for number in rounds(seen, stop):
        guess = [("authorization", "Bearer " + random.Random(number).randbytes(2000).hex())]
        stranger.metadata = guess
        for who, api, code in (("viewer", viewer, "PERMISSION_DENIED"), ("stranger", stranger, "UNAUTHENTICATED")):
            call = lambda: api.call("AccountService", "UpdateAccount", edit, accounts.EditAccountResponse)
            if not refused(seen, who, call, (code, *BUSY)):
                seen.bad(f"{who} may edit")
        try:
            status, _ = s.get(world["http"], "/metrics", s.DEADLINE_S, {"Host": "evil.example.com"})
            seen.add(f"host: {status}")
            if status == 200:
                seen.bad("/metrics under another site's name")
        except OSError as error:
            seen.add(f"host: {type(error).__name__}")
    return seen.result()


def readers(world, stop):
    """Twenty that read the whole queue and its reasons, without a pause."""
    from subak.v1 import job_service_pb2 as jobs

    seen, lock = Seen("readers"), threading.Lock()

    def read(number):
        api, token = s.Api(world["grpc"], world["viewer_token"]), ""
        while not stop.is_set():
            try:
                ask = jobs.ListQueueRequest(page_size=10_000, page_token=token)
                page = api.call("JobService", "ListQueue", ask, jobs.ListQueueResponse, s.DEADLINE_S)
                token = page.next_page_token
                for row in page.rows[:3]:
                    why = jobs.ExplainJobRequest(job_id=row.job.id)
                    api.call("JobService", "ExplainJob", why, jobs.Explanation, s.DEADLINE_S)
                answer = "page"
            except grpc.RpcError as error:
                token, answer = "", error.code().name
                time.sleep(0.2)  # who is refused waits a little
            with lock:
                seen.rounds += 1
                seen.add(answer)

    threads = [threading.Thread(target=read, args=(n,)) for n in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return seen.result()


def watchers(world, stop):
    """A thousand that watch all jobs and never read."""
    from subak.v1 import job_service_pb2 as jobs

    seen = Seen("watchers")
    for number in rounds(seen, stop):
        apis = [s.Api(world["grpc"], world["viewer_token"], [("grpc.http2.lookahead_bytes", 1024)]) for _ in range(10)]
        streams = []
        for at in range(1000):
            if stop.is_set():
                break
            streams.append(apis[at % 10].stream("JobService", "WatchJobs", jobs.WatchJobsRequest(), jobs.WatchJobsResponse))
        stop.wait(10)
        for stream in streams:
            if stream.done() and stream.code():
                seen.add(stream.code().name)
            stream.cancel()
        seen.add("opened")
        for api in apis:
            api.close()
    return seen.result()


def hidden_pods():
    """Ways to a GPU past the gate, as (name, review)."""
    plain = {"name": "c", "image": "i"}
    quiet = lambda name, **spec: {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "team-a"},
        "spec": {"containers": [plain], **spec},
    }
    for path in ("/", "/dev", "//dev/nvidia0", "/dev/./nvidia0", "/dev/../dev/nvidia0", "/dev/nvidiactl"):
        yield f"hostPath {path}", quiet("h", volumes=[{"name": "d", "hostPath": {"path": path}}])
    devices = {"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}
    yield "visible devices", quiet("v", containers=[{**plain, "env": [devices]}])
    yield "node name", ordinary.pod("n", "team-a", {"nodeName": "n1"})
    marked = ordinary.pod("k", "team-a")
    marked["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "q"}
    yield "kueue mark", marked
    marked = ordinary.pod("r", "team-a")
    marked["metadata"]["labels"] = {"runai/queue": "q"}
    yield "run:ai mark", marked
    beside = ordinary.pod("b", "team-a")
    beside["spec"]["containers"].append({**plain, "name": "d", "env": [devices]})
    yield "visible devices beside a request", beside


def around_the_gate(world, stop):
    """Pods that would get a GPU without the gate."""
    seen, pods = Seen("around the gate"), list(hidden_pods())
    webhook = s.Webhook(world["webhook"], world["ca"], s.DEADLINE_S)
    for number in rounds(seen, stop):
        name, pod = pods[number % len(pods)]
        body = json.dumps(ordinary.review("u", pod)).encode()
        try:
            status, answer = webhook.post("/mutate/east", body)
            response = json.loads(answer)["response"]
        except (OSError, ssl.SSLError) as error:
            seen.add(type(error).__name__)
            continue
        passed = response["allowed"] and "patch" not in response
        seen.add("passed" if passed else "gated" if response["allowed"] else "denied")
        if passed:
            seen.bad(f"{name}: allowed without the gate")
    webhook.close()
    return seen.result()


ALL = {
    "too_large": too_large,
    "dear_reviews": dear_reviews,
    "idle_connections": idle_connections,
    "others_ids": others_ids,
    "guesses": guesses,
    "readers": readers,
    "watchers": watchers,
    "around_the_gate": around_the_gate,
}
