"""Jobs, gangs of them, and what becomes of them when people or the cluster change their minds."""

import time

import objects as o
from case import case, condition, ended, has_gate, node_of, phase

TOGETHER_S = 10  # between the first and the last pod of a gang to be bound: a busy machine


def together(c, rows):
    """The pods of a gang, as the kubelet saw them, were bound at once."""
    times = [row["bound"]["at"] for row in rows]
    c.expect(times and max(times) - min(times) < TOGETHER_S, f"bound together, within {max(times) - min(times):.1f} s")


def gang(c, name, pods, gpus=8, keys=None, more=None, **notes):
    """An Indexed Job whose completions are its parallelism."""
    return c.job(name, pods, gpus, indexed=True, keys=keys, more=more, **notes)


def rows_of(c, prefix):
    return [row for row in c.log() if row["name"].startswith(prefix)]


def wait_job(c, name, *states):
    def happened():
        job = c.job_named(name)
        return job if job and job["state"] in ["JOB_STATE_" + s for s in states] else None

    return c.until(happened, f"job {name} in state {' or '.join(states)}")


@case(plain=True)
def job_of_four(c):
    c.nodes(1)
    c.job("train", 4, 2, run_seconds=2)
    c.completed("train")


@case(plain=True)
def job_longer_than_its_room(c):
    c.nodes(1)
    c.job("sweep", 6, 4, run_seconds=1, more={"parallelism": 6})
    c.completed("sweep")


@case()
def indexed_job_is_a_gang(c):
    c.nodes(8)
    gang(c, "train", 8, run_seconds=3)
    c.completed("train")
    rows = rows_of(c, "train")
    together(c, rows)
    c.expect(len({row["node"] for row in rows}) == 8, "each on a whole node")


@case()
def gang_by_annotation(c):
    c.nodes(4)
    c.job("train", 4, 8, keys={"subak.gpu/gang-size": "4"}, run_seconds=3)
    c.completed("train")
    together(c, rows_of(c, "train"))


@case()
def gang_waits_for_another(c):
    c.nodes(3)
    gang(c, "first", 3, run_seconds=5)
    c.running_pods(3, "first")
    gang(c, "second", 3, run_seconds=1)
    c.until(lambda: len([p for p in c.pods("second") if has_gate(p)]) == 3, "three gated pods of the second")
    c.completed("first")
    c.completed("second")
    together(c, rows_of(c, "second"))
    begins = min(row["bound"]["at"] for row in rows_of(c, "second"))
    c.expect(begins >= max(row["finished"]["at"] for row in rows_of(c, "first")), "after all of the first")


@case()
def gang_does_not_start_in_part(c):
    c.nodes(2)
    c.pod("holds", gpus=8, run_seconds=6)
    c.runs("holds")
    gang(c, "pair", 2, run_seconds=1)
    c.until(lambda: len(c.pods("pair")) == 2, "two pods")
    c.stays(lambda: all(has_gate(p) for p in c.pods("pair")), "no gate opens while one node is taken", 3)
    c.completed("pair")
    together(c, rows_of(c, "pair"))


@case()
def gang_size_one_says_no(c):
    c.nodes(1)
    gang(c, "loose", 3, keys={"subak.gpu/gang-size": "1"}, run_seconds=1)
    c.completed("loose")


@case()
def small_gang_in_one_node(c):
    c.nodes(3)
    gang(c, "tight", 4, 2, keys={"subak.gpu/topology": "node"}, run_seconds=2)
    c.completed("tight")
    c.expect(len({row["node"] for row in rows_of(c, "tight")}) == 1, "all on one node")


@case(plain=True)
def job_whose_pod_fails_once(c):
    c.nodes(1)
    c.job("retry", 1, 4, fail_first=1, run_seconds=1)
    c.completed("retry", seconds=90)


@case(plain=True)
def job_whose_backoff_is_spent(c):
    c.nodes(1)
    c.job("broken", 1, 1, exit_code=2, run_seconds=0.5, more={"backoffLimit": 1})
    c.completed("broken", "Failed", seconds=90)


@case()
def gang_whose_member_fails(c):
    c.nodes(2)
    gang(c, "retry", 2, 8, fail_first=1, run_seconds=2)
    c.completed("retry", seconds=100)


@case()
def job_turned_away_by_the_kubelet(c):
    c.nodes(2)
    c.job("unlucky", 1, 8, reject_first=1, run_seconds=1)
    c.completed("unlucky", seconds=100)


@case(plain=True)
def job_suspended_and_resumed(c):
    c.nodes(1)
    c.job("later", 2, 2, more={"suspend": True}, run_seconds=1)
    c.stays(lambda: not c.pods("later"), "no pods while it is suspended", 1.5)
    c.ana.patch("Job", c.ns, "later", {"spec": {"suspend": False}})
    c.completed("later")


@case()
def suspended_while_queued(c):
    c.nodes(1)
    c.pod("long", gpus=8, run_seconds=6)
    c.runs("long")
    c.job("waits", 2, 4, run_seconds=1)
    c.until(lambda: len([p for p in c.pods("waits") if has_gate(p)]) == 2, "two gated pods")
    c.ana.patch("Job", c.ns, "waits", {"spec": {"suspend": True}})
    c.until(lambda: not c.pods("waits"), "end of its pods")
    c.until(lambda: len(c.subak_jobs()) <= 1, "end of its jobs in Subak")
    c.ana.patch("Job", c.ns, "waits", {"spec": {"suspend": False}})
    c.completed("waits")


@case()
def suspended_while_running(c):
    c.nodes(2)
    gang(c, "pause", 2, 8, run_seconds=4)
    c.running_pods(2, "pause")
    c.ana.patch("Job", c.ns, "pause", {"spec": {"suspend": True}})
    c.until(lambda: not c.pods("pause"), "end of its pods")
    c.ana.patch("Job", c.ns, "pause", {"spec": {"suspend": False}})
    c.completed("pause")


@case(plain=True)
def gone_soon_after_its_end(c):
    c.nodes(1)
    c.job("brief", 2, 1, run_seconds=1, more={"ttlSecondsAfterFinished": 1})
    c.until(lambda: c.admin.get("Job", c.ns, "brief") is None, "end of the Job itself")
    c.until(lambda: not c.pods("brief"), "end of its pods")


@case()
def job_deleted_while_queued(c):
    c.nodes(1)
    c.pod("long", gpus=8, run_seconds=5)
    c.runs("long")
    gang(c, "gone", 3, 8)
    c.until(lambda: len([p for p in c.pods("gone") if has_gate(p)]) == 3, "three gated pods")
    c.ana.delete("Job", c.ns, "gone")
    c.until(lambda: not c.pods("gone") and len(c.subak_jobs()) <= 1, "end of pods and job")
    c.succeeded("long")


@case(plain=True)
def job_deleted_while_running(c):
    c.nodes(2)
    c.job("gone", 2, 8, run_seconds=60, stop_seconds=1)
    c.running_pods(2, "gone")
    c.ana.delete("Job", c.ns, "gone")
    c.job("next", 2, 8, run_seconds=1)
    c.completed("next")


@case()
def replacement_while_the_old_one_ends(c):
    c.nodes(1)
    c.ana.create(o.deployment("one", c.ns, c.template(8, spec=c.spec(8, restart="Always"), stop_seconds=4), 1))
    old = c.running_pods(1, "one")[0]["metadata"]["name"]
    c.ana.delete("Pod", c.ns, old)
    c.until(lambda: len(c.pods("one")) == 2, "replacement beside the pod that ends")
    c.stays(lambda: all(has_gate(p) for p in c.pods("one") if p["metadata"]["name"] != old), "it waits behind it", 2)
    c.until(lambda: [p for p in c.running_pods(1, "one") if p["metadata"]["name"] != old], "replacement that runs")


@case()
def parallelism_changed(c):
    c.nodes(1)
    c.job("elastic", 2, 2, run_seconds=4, more={"parallelism": 1, "completions": 4})
    c.running_pods(1, "elastic")
    c.ana.patch("Job", c.ns, "elastic", {"spec": {"parallelism": 3}})
    c.running_pods(3, "elastic")
    c.ana.patch("Job", c.ns, "elastic", {"spec": {"parallelism": 2}})
    c.completed("elastic")


@case()
def cancelled_while_running(c):
    c.nodes(1)
    c.job("stop", 1, 8, run_seconds=100, more={"backoffLimit": 0})
    c.running_pods(1, "stop")
    job = wait_job(c, "stop", "RUNNING", "STARTING")["id"]
    c.service.subak("job", "cancel", job, "--reason", "enough")
    c.until(lambda: not [p for p in c.pods("stop") if phase(p) == "Running"], "end of its pod")
    c.until(lambda: "attempt ended: cancelled" in c.service.subak("job", "history", job), "the end in its history")
    past = " ".join(c.service.subak("job", "history", job).split())
    order = ("created from gated pods", "started: GPUs held", "1 pod bound", "1 pod running", "asked to end", "1 pod ended")
    places = [past.find(words) for words in order]
    c.expect(-1 not in places and places == sorted(places), f"the history is in order: {past}")
    c.expect(": cancelled: enough" in past, f"the history has the reason: {past}")
    c.stays(lambda: not [p for p in c.pods("stop") if phase(p) == "Running"], "nothing of it runs again", 4)


@case()
def cancelled_while_queued(c):
    c.nodes(1)
    c.pod("long", gpus=8, run_seconds=6)
    c.runs("long")
    c.job("never", 1, 8)
    c.until(lambda: c.job_named("never"), "job never")
    c.service.subak("job", "cancel", c.job_named("never")["id"], "--reason", "enough")
    c.succeeded("long")
    c.stays(lambda: not [p for p in c.pods("never") if "bound" in p or phase(p) == "Running"], "it never runs", 4)


@case()
def time_limit_that_is_enforced(c):
    c.nodes(2)
    c.set_account(c.account, c.ns, more=("--time-limits", "enforced"))
    gang(c, "long", 2, run_seconds=100, more={"backoffLimit": 0}, keys={"subak.gpu/time-limit": "10s"})
    c.running_pods(2, "long")
    job = wait_job(c, "long", "RUNNING", "STARTING")
    c.expect(job["limitEnforced"] and "plannedEnd" in job, "its end is told")
    c.expect("its time limit is enforced" in c.service.subak("why", job["id"]), "why says so")
    c.until(lambda: c.service.json("job", "get", job["id"]).get("cause") == "CAUSE_TIME_LIMIT", "end by its limit")
    c.until(lambda: not [p for p in c.pods("long") if phase(p) == "Running"], "end of its pods")
    c.stays(lambda: not [p for p in c.pods("long") if phase(p) == "Running"], "nothing of it runs again", 4)
    c.expect(not condition(c.admin.get("Job", c.ns, "long"), "Failed"), "its Job has not failed")


@case()
def time_limit_that_is_advised(c):
    c.nodes(1)
    c.job("long", 1, 8, run_seconds=8, keys={"subak.gpu/time-limit": "3s"})
    job = wait_job(c, "long", "RUNNING", "STARTING")
    c.until(lambda: int((c.job_named("long") or {}).get("overruns", 0)) > 0, "overrun")
    c.expect(not job.get("limitEnforced"), "nobody ends it")
    c.completed("long")


@case()
def gang_by_label_of_plain_pods(c):
    c.nodes(3)
    keys = {"subak.gpu/job": "duo", "subak.gpu/gang-size": "3"}
    for i in range(2):
        c.pod(f"member-{i}", gpus=8, labels=keys, run_seconds=2)
    c.until(lambda: (c.job_named("duo") or {}).get("state") == "JOB_STATE_INCOMPLETE", "incomplete job")
    c.stays(lambda: all(has_gate(p) for p in c.pods("member")), "they wait for the third", 2)
    c.pod("member-2", gpus=8, labels=keys, run_seconds=2)
    for i in range(3):
        c.succeeded(f"member-{i}")
    together(c, rows_of(c, "member"))


@case()
def gang_by_keys_of_kueue(c):
    c.nodes(2)
    labels = {"kueue.x-k8s.io/pod-group-name": "pair"}
    for i in range(2):
        pod = o.pod(f"member-{i}", c.ns, c.spec(8), labels, {"kueue.x-k8s.io/pod-group-total-count": "2"})
        c.ana.create(pod)
    for i in range(2):
        c.succeeded(f"member-{i}")
    together(c, rows_of(c, "member"))


@case()
def gang_that_is_never_whole(c):
    c.nodes(2)
    keys = {"subak.gpu/job": "half", "subak.gpu/gang-size": "2"}
    c.pod("lonely", gpus=8, labels=keys)
    job = c.until(lambda: c.job_named("half"), "job half")
    c.expect("GangIncomplete" in c.why(job["id"]), "why says GangIncomplete")
    c.stays(lambda: has_gate(c.get_pod("lonely")), "it waits", 2)
    c.ana.delete("Pod", c.ns, "lonely")
    c.until(lambda: not c.subak_jobs(), "end of the job")


@case()
def kubeflow_pods_without_a_size(c):
    c.nodes(1)
    labels = {"training.kubeflow.org/job-name": "torch", "training.kubeflow.org/replica-type": "worker",
              "training.kubeflow.org/operator-name": "pytorchjob-controller"}  # fmt: skip
    # The cluster has no such kind. If it had, the garbage collector would delete a pod without its owner.
    owner = {"apiVersion": "kubeflow.org/v1", "kind": "XGBoostJob", "name": "torch", "uid": "0-0-0-1",
             "controller": True}  # fmt: skip
    pod = o.pod("torch-worker-0", c.ns, c.spec(1), labels, {"run-seconds": 1})
    pod["metadata"]["ownerReferences"] = [owner]
    c.admin.create(pod)
    c.stays(lambda: has_gate(c.get_pod("torch-worker-0")), "it waits for gang-size", 3)

    def told():
        notes = [e["message"] for e in c.admin.list("Event", c.ns)]
        status = c.get_pod("torch-worker-0")["metadata"].get("annotations", {}).get("subak.gpu/status", "")
        return any("gang-size" in text for text in [*notes, status])

    c.until(told, "line to add, in an event or the status")


@case(plain=True)
def deployment_scaled(c):
    c.nodes(1)
    c.ana.create(o.deployment("serve", c.ns, c.template(2, spec=c.spec(2, restart="Always")), 2))
    c.running_pods(2, "serve")
    for replicas in (4, 1):
        c.world.plane.kubectl("ana", "-n", c.ns, "scale", "deployment/serve", f"--replicas={replicas}")
        c.running_pods(replicas, "serve")
    time.sleep(1)


@case(plain=True)
def deployment_rolled_over(c):
    c.nodes(1)
    pods = c.template(4, spec=c.spec(4, restart="Always"))
    c.ana.create(o.deployment("serve", c.ns, pods, 1, strategy={"rollingUpdate": {"maxSurge": 1}}))
    old = c.running_pods(1, "serve")[0]["metadata"]["uid"]
    change = {"spec": {"template": {"metadata": {"annotations": {"release": "2"}}}}}
    c.ana.patch("Deployment", c.ns, "serve", change)
    c.until(lambda: [p["metadata"]["uid"] for p in c.running_pods(1, "serve")] != [old], "pod of the new release")


@case(plain=True)
def stateful_set_in_order(c):
    c.nodes(1)
    c.ana.create(o.stateful_set("store", c.ns, c.template(2, spec=c.spec(2, restart="Always")), 3))
    c.running_pods(3, "store")
    times = {name: at for name, _, at in c.started("store")}
    c.expect(times["store-0"] <= times["store-1"] <= times["store-2"], "one after the other")
    c.world.plane.kubectl("ana", "-n", c.ns, "scale", "statefulset/store", "--replicas=1")
    c.running_pods(1, "store")


@case(plain=True)
def stateful_set_at_once(c):
    c.nodes(1)
    pods = c.template(2, spec=c.spec(2, restart="Always"))
    c.ana.create(o.stateful_set("store", c.ns, pods, 3, parallel=True))
    c.running_pods(3, "store")


@case(seconds=240)
def deadline_while_gated_is_warned_of(c):
    """After a minute, as the reason why it waits is; a webhook that is asked about Jobs says so at once."""
    c.nodes(1)
    c.pod("long", gpus=8, run_seconds=75)
    c.runs("long")
    c.job("hurry", 1, 8, run_seconds=1, more={"activeDeadlineSeconds": 200})

    def told():
        return [e for e in c.admin.list("Event", c.ns) if "activeDeadlineSeconds" in e.get("message", "")]

    c.until(told, "event that says so", 100)
    c.completed("hurry")


@case()
def two_jobs_of_one_name(c):
    c.nodes(1)
    c.job("same", 1, 2, run_seconds=1)
    c.completed("same")
    c.ana.delete("Job", c.ns, "same")
    c.until(lambda: c.admin.get("Job", c.ns, "same") is None, "end of the first")
    c.job("same", 1, 2, run_seconds=1)
    c.completed("same")
    c.until(lambda: sum("finished" in row for row in rows_of(c, "same")) == 2, "two pods that finished")


@case(seconds=240)
def gang_of_many_pods(c):
    c.nodes(8)
    gang(c, "wide", 64, 1, run_seconds=3)
    c.completed("wide", seconds=120)
    together(c, rows_of(c, "wide"))
    c.expect(all(ended(p) and not condition(p, "DisruptionTarget") for p in c.pods("wide")), "undisturbed")
    c.expect(len({node_of(p) for p in c.pods("wide")}) == 8, "eight to a node")


def rolled_over(c, strategy):
    """A Deployment of three servers at the limit of its account, and a new release of it."""
    c.nodes(1)
    c.service.subak("account", "set", c.account, "--limit", "gpu=3", "--reason", "three servers")
    pods = c.template(1, spec=c.spec(1, restart="Always"))
    c.ana.create(o.deployment("serve", c.ns, pods, 3, strategy={"rollingUpdate": strategy}))
    old = {p["metadata"]["uid"] for p in c.running_pods(3, "serve")}
    c.ana.patch("Deployment", c.ns, "serve", {"spec": {"template": {"metadata": {"annotations": {"release": "2"}}}}})
    return old


@case()
def rollout_at_the_limit(c):
    """One old server goes, and its GPU goes to a new one, until all are new."""
    old = rolled_over(c, {"maxSurge": 1, "maxUnavailable": 1})

    def all_new():
        pods = c.pods("serve")
        return len(pods) == 3 and all(phase(p) == "Running" and p["metadata"]["uid"] not in old for p in pods)

    c.until(all_new, "three servers of the new release")


@case()
def rollout_that_may_lose_no_server(c):
    """At the limit such a rollout waits, and the new server says why. With a higher limit it goes on."""
    old = rolled_over(c, {"maxSurge": 1, "maxUnavailable": 0})
    new = c.until(lambda: next((p for p in c.pods("serve") if p["metadata"]["uid"] not in old), None), "a new server")
    c.pod_is(new["metadata"]["name"], lambda p: "WaitingForQuota" in str(p), "the reason")
    c.expect(len(c.running_pods(3, "serve")) == 3, "the old servers go on")
    c.service.subak("account", "set", c.account, "--limit", "gpu=4", "--reason", "room for a rollout")
    c.until(lambda: {p["metadata"]["uid"] for p in c.pods("serve")}.isdisjoint(old), "the new release alone")
