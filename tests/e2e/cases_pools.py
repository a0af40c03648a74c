"""Node pools: a played autoscaler adds the nodes that Subak wants."""

import re
import time

import autoscaler
from case import case


def pool(c):
    return next(p for p in c.service.json("cluster", "pools")["pools"] if p["name"] == "elastic")


def grow(c):
    """What an autoscaler does: it adds the wanted nodes to the pool."""
    wanted = int(pool(c).get("wanted", 0))
    if wanted:
        c.nodes(wanted)
    return wanted


@case(seconds=180)
def node_pool_grows(c):
    """Jobs wait for nodes of a pool; when these come, they start. The pool never gets more than its maximum."""
    c.job("train", 2, 8, indexed=True, keys={"subak.gpu/gang-size": "2"}, run_seconds=4)
    c.job("large", 3, 8, indexed=True, keys={"subak.gpu/gang-size": "3"}, run_seconds=1)
    train = c.until(lambda: c.job_named("train"), "the job in Subak")["id"]
    c.until(lambda: "WaitingForNodes" in c.why(train), "the reason WaitingForNodes")
    why = c.why(train)
    c.expect("pool elastic has 2 more nodes" in why, f"the pool and its nodes in {why}")
    c.expect("it starts on new nodes of a pool, and when these come is not known" in why, f"no estimate in {why}")
    large = c.until(lambda: c.job_named("large"), "the large job in Subak")["id"]
    c.until(lambda: "NoMatchingFlavor" in c.why(large), "a job that is too large for the pool")
    c.expect("WaitingForNodes" not in c.why(large), "the large job waits for no nodes")

    def metric(state):
        row = re.search(r'^subak_pool_nodes{cluster="[^"]+",pool="elastic",state="%s"} (\S+)$' % state,
                        c.service.metrics(), re.M)  # fmt: skip
        return row and float(row.group(1))

    c.until(lambda: metric("wanted") == 2, "two wanted nodes in the metrics")
    c.expect(pool(c)["jobs"] == [train], "the job that wants the nodes")
    c.until(lambda: grow(c) == 2, "two nodes more")
    c.running_pods(2, "train")
    c.completed("train")
    c.until(lambda: metric("present") == 2 and metric("wanted") == 0, "a pool that wants nothing more", 90)
    c.service.subak("job", "cancel", large, "--reason", "a case")


def requested_gang(c):
    """A gang of two pods that waits for nodes, its job's id, and its one ProvisioningRequest."""
    autoscaler.install(c.admin)
    c.job("train", 2, 8, indexed=True, keys={"subak.gpu/gang-size": "2"}, run_seconds=4)
    found = c.until(lambda: autoscaler.requests(c.admin, c.ns), "a ProvisioningRequest", 90)
    return c.job_named("train")["id"], found[0]


def say(c, request, condition, reason, message):
    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    autoscaler.answer(c.admin, request, condition, reason, message, at)


def event(c, reason):
    """The note of the last Event with this reason in the namespace."""
    notes = [e.get("message", "") for e in c.admin.list("Event", c.ns) if e["reason"] == reason]
    return notes[-1] if notes else None


def nothing_left(c):
    return not autoscaler.requests(c.admin, c.ns) and not c.admin.list("PodTemplate", c.ns)


@case(seconds=240, alone=True)
def requested_nodes_come(c):
    """An autoscaler accepts the request for a gang, and adds nodes. A restart of Subak makes no second request."""
    job, request = requested_gang(c)
    meta, spec = request["metadata"], request["spec"]
    c.expect(meta["name"] == f"subak-{job}-1", f"the name follows from the job: {meta['name']}")
    c.expect(spec["provisioningClassName"] == autoscaler.CLASS, "the class of the pool")
    c.expect([(r["kind"], r["name"]) for r in meta["ownerReferences"]] == [("Job", "train")], "the Job owns the request")
    ((count, template),) = autoscaler.pods_wanted(c.admin, request)
    c.expect(count == 2, f"two pods: {count}")
    pod = template["template"]["spec"]
    c.expect(pod["nodeSelector"]["e2e/pool"] == c.ns, f"the selector of the pods in {pod}")
    c.expect(pod["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] == "8", f"the GPUs of the pods in {pod}")
    c.expect("schedulingGates" not in pod, f"no gate in {pod}")
    c.until(lambda: event(c, "NodesRequested"), "the Event NodesRequested")
    say(c, request, "Accepted", "Accepted", "the request is accepted")
    c.service.kill()
    c.service.start()
    c.until(lambda: "WaitingForNodes" in c.why(job), "a forecast after the restart")
    same = [meta["uid"]]
    c.stays(lambda: [r["metadata"]["uid"] for r in autoscaler.requests(c.admin, c.ns)] == same, "the one request", 8)
    say(c, autoscaler.requests(c.admin, c.ns)[0], "Provisioned", "Provisioned", "the nodes are on their way")
    c.until(lambda: event(c, "NodesProvisioned"), "the Event NodesProvisioned")
    c.nodes(2)
    for pod in c.running_pods(2, "train"):
        notes = pod["metadata"]["annotations"]
        c.expect(notes.get(autoscaler.CONSUMES) == meta["name"], f"the request in {notes}")
        c.expect(notes.get(autoscaler.CLASS_NAME) == autoscaler.CLASS, f"the class in {notes}")
    c.until(lambda: nothing_left(c), "no request and no template of a job that runs")
    c.completed("train")


@case(seconds=300)
def requested_nodes_fail(c):
    """An autoscaler gets no nodes. Users learn why, and after a minute Subak makes a new request."""
    job, request = requested_gang(c)
    say(c, request, "Failed", "OutOfQuota", "the cloud has no such GPUs")
    note = c.until(lambda: event(c, "NodesNotProvisioned"), "the Event NodesNotProvisioned")
    c.expect("Failed (OutOfQuota): the cloud has no such GPUs; Subak makes a new request after 1m" in note, f"the cause in {note}")
    c.expect("WaitingForNodes" in c.why(job), "the job still waits for nodes")
    again = c.until(lambda: [r for r in autoscaler.requests(c.admin, c.ns) if r["metadata"]["name"] == f"subak-{job}-2"],
                    "a second request", 120)  # fmt: skip
    c.until(lambda: len(autoscaler.requests(c.admin, c.ns)) == 1, "the first request is gone")
    templates = {t["metadata"]["name"] for t in c.admin.list("PodTemplate", c.ns)}
    c.expect(templates == {s["podTemplateRef"]["name"] for s in again[0]["spec"]["podSets"]}, f"its templates alone: {templates}")
    say(c, again[0], "Provisioned", "Provisioned", "the nodes are on their way")
    c.nodes(2)
    c.completed("train")
    c.until(lambda: nothing_left(c), "no request and no template of a job that is done")


@case(seconds=180)
def request_of_a_cancelled_job(c):
    """A job that is cancelled takes its request and the templates along."""
    job, _ = requested_gang(c)
    c.expect(len(c.admin.list("PodTemplate", c.ns)) == 1, "a template")
    c.service.subak("job", "cancel", job, "--reason", "a case")
    c.until(lambda: nothing_left(c), "no request and no template of a job that is cancelled")
