"""Quota that comes back: who gives, what happens to it, and who is left alone (docs/design/0084)."""

import os

import objects as o
from case import case, has_gate, phase
from cases_jobs import rows_of
from cases_modes import label, set_mode
from cases_operators import set_completed

FINALIZER = "example.com/e2e"


def teams(c, quota=8):
    """An account with quota, and one without; the labels of their pods."""
    c.set_account(f"{c.account}.owner", more=("--quota", f"gpu={quota}"))
    c.set_account(f"{c.account}.borrower")
    return [{"subak.gpu/account": f"{c.account}.{team}"} for team in ("owner", "borrower")]


def claim_of(c, name):
    """The claim of the job of that name; None: there is none."""
    job = c.job_named(name)
    rows = c.service.json("claims", "--account", c.account)["claims"]
    return next((row for row in rows if job and row["jobId"] == job["id"]), None)


def claimed(c, name):
    """The claim of the job of that name, once there is one."""
    return c.until(lambda: claim_of(c, name), f"claim of {name}")


def victims(claim):
    return [row["jobId"] for row in claim["victims"]]


def spec_of(c, gpus, grace_s=30):
    """Of pods that run until somebody ends them."""
    return c.spec(gpus, restart="Always", terminationGracePeriodSeconds=grace_s)


def serve(c, name, labels, gpus=8, replicas=1, **notes):
    """A Deployment whose pods run."""
    pods = c.template(gpus, labels=dict(labels), spec=spec_of(c, gpus), **notes)
    c.ana.create(o.deployment(name, c.ns, pods, replicas))
    return c.running_pods(replicas, name)


def is_going(pod):
    return "deletionTimestamp" in pod["metadata"]


def note_of(c, kind, name, reason):
    """The text of an Event of that reason on the object; None: there is none."""
    found = c.admin.list("Event", c.ns, fields=f"involvedObject.kind={kind},involvedObject.name={name}")
    texts = [e.get("message") or e.get("note") or "" for e in found if e.get("reason") == reason]
    return next(iter(texts), None)


def runs_undisturbed(c, name):
    """All pods of that prefix run, and nobody ends them."""
    return all(phase(p) == "Running" and not is_going(p) for p in c.pods(name))


@case()
def gang_gives_back_and_completes(c):
    """It is suspended, waits as the same job, and runs again."""
    c.nodes(1)
    owner, borrower = teams(c)
    c.job("train", 2, 4, indexed=True, labels=borrower, run_seconds=6)
    c.running_pods(2, "train")
    before = c.job_named("train")["id"]
    c.pod("urgent", gpus=8, labels=owner, run_seconds=2)
    claim = claimed(c, "urgent")
    c.expect([v["jobId"] for v in claim["victims"]] == [before], f"the gang is its victim: {claim}")
    why = c.why(claim["jobId"])
    c.expect("WaitingForPreemptedWorkloads" in why and before in why, f"why says who gives: {why[:400]}")
    c.succeeded("urgent")
    c.expect(c.job_named("train")["id"] == before, "the gang is the same job")
    c.completed("train")
    returned, paid = c.service.refunded_s(c.account)
    c.expect(returned == paid > 0, f"the platform pays for the lost work: {returned} and {paid} GPU-s")


@case()
def events_name_the_claimant(c):
    """The victim's owner and a pod of it have Events that name the claimant and its account."""
    c.nodes(1)
    owner, borrower = teams(c)
    c.job("train", 2, 4, indexed=True, labels=borrower, run_seconds=6)
    pods = c.running_pods(2, "train")
    c.pod("urgent", gpus=8, labels=owner, run_seconds=2)
    claimant = claimed(c, "urgent")["jobId"]
    c.until(lambda: note_of(c, "Job", "train", "Preempted"), "event on the victim's owner", 60)
    note = note_of(c, "Job", "train", "Preempted")
    c.expect(claimant in note and f"{c.account}.owner" in note and "submit" in note, note)
    told = [note_of(c, "Pod", pod["metadata"]["name"], "Preempted") for pod in pods]
    c.expect(any(text and claimant in text for text in told), f"event on a pod of the victim: {told}")
    c.succeeded("urgent")
    c.completed("train")


@case()
def deployments_pod_is_recreated(c):
    c.nodes(1)
    owner, borrower = teams(c)
    serve(c, "serve", borrower)
    c.pod("urgent", gpus=8, labels=owner, run_seconds=2)
    c.succeeded("urgent")
    c.running_pods(1, "serve")
    c.admin.delete("Deployment", c.ns, "serve")


@case()
def bare_pod_is_left_alone(c):
    """No controller would recreate it."""
    c.nodes(1)
    owner, borrower = teams(c)
    c.pod("notebook", gpus=8, labels=borrower, run_seconds=12)
    c.runs("notebook")
    c.pod("urgent", gpus=8, labels=owner, run_seconds=1)
    c.queued("urgent")
    c.stays(lambda: phase(c.get_pod("notebook")) == "Running" and has_gate(c.get_pod("urgent")), "the owner waits", 5)
    c.succeeded("notebook")
    c.succeeded("urgent")


@case()
def job_within_quota_is_left_alone(c):
    c.nodes(1)
    owner, borrower = teams(c, quota=4)
    c.set_account(f"{c.account}.borrower", more=("--quota", "gpu=4"))
    c.job("within", 1, 4, labels=borrower, run_seconds=8)
    c.running_pods(1, "within")
    c.job("beyond", 1, 4, labels=borrower, run_seconds=8)
    c.running_pods(1, "beyond")
    c.pod("urgent", gpus=4, labels=owner, run_seconds=1)
    claim = claimed(c, "urgent")
    c.expect(len(claim["victims"]) == 1, f"one of the two gives: {claim}")
    c.succeeded("urgent")
    c.expect(len([row for row in c.log() if row["name"].startswith(("within", "beyond"))]) <= 3, "one of them ran twice")
    c.completed("within")
    c.completed("beyond")


@case()
def job_set_gives_back_and_completes(c):
    """The claimant needs one of its two nodes. All of it ends, and it runs again as the same job."""
    c.nodes(2)
    owner, borrower = teams(c)
    pods = c.template(8, labels=dict(borrower), run_seconds=5)
    c.ana.create(o.job_set("set", c.ns, [("work", 2, 1, pods)]))
    c.running_pods(2, "set")
    before = c.job_named("set")["id"]
    c.pod("urgent", gpus=8, labels=owner, run_seconds=2)
    c.expect(victims(claimed(c, "urgent")) == [before], "the set is the victim")
    c.succeeded("urgent")
    c.expect(c.job_named("set")["id"] == before, "the set is the same job")
    set_completed(c, "set", 100)
    c.expect(len(rows_of(c, "set")) == 4, "each of its pods ran twice")


@case()
def worker_set_gives_back_and_runs_again(c):
    c.nodes(2)
    owner, borrower = teams(c)
    pods = c.template(8, labels=dict(borrower), spec=spec_of(c, 8))
    c.ana.create(o.worker_set("llm", c.ns, 1, 2, pods))
    before = {p["metadata"]["uid"] for p in c.running_pods(2, "llm")}
    c.pod("urgent", gpus=8, labels=owner, run_seconds=2)
    claimed(c, "urgent")
    c.succeeded("urgent")
    c.until(lambda: not before & {p["metadata"]["uid"] for p in c.pods("llm")}, "end of both pods")
    c.running_pods(2, "llm")


@case(seconds=300)
def budget_says_no_and_another_gives(c):
    """A PodDisruptionBudget refuses the first victim for a minute. Then another job ends, and the first runs on."""
    c.nodes(2)
    owner, borrower = teams(c)
    serve(c, "other", borrower)
    (guarded,) = serve(c, "guarded", borrower)
    c.ana.create({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": o.meta("guarded", c.ns),
                  "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "guarded"}}}})  # fmt: skip
    c.until(lambda: c.admin.get("PodDisruptionBudget", c.ns, "guarded").get("status", {}).get("expectedPods") == 1,
            "budget of one pod")  # fmt: skip
    c.pod("urgent", gpus=8, labels=owner, run_seconds=2)
    first = victims(claimed(c, "urgent"))
    c.expect(first == [c.job_of_pod(guarded)["id"]], f"who started last gives first: {first}")
    c.pod_is("urgent", lambda p: phase(p) == "Succeeded", "phase Succeeded", 150)
    c.expect(uid_of(c.pods("guarded")) == uid_of([guarded]), "the guarded pod runs on")
    c.expect(len(rows_of(c, "other")) == 1 or c.running_pods(1, "other"), "the other one runs again")


def uid_of(pods):
    return [p["metadata"]["uid"] for p in pods]


@case(seconds=200)
def last_failure_is_not_spent(c):
    """An eviction would fail the Job for good: it is left out, and another job gives at once."""
    c.nodes(2)
    owner, borrower = teams(c, quota=4)
    c.job("other", 1, 8, labels=borrower, run_seconds=6)
    c.running_pods(1, "other")
    c.job("sweep", 2, 4, labels=borrower, more={"backoffLimit": 0}, run_seconds=45)
    before = uid_of(c.running_pods(2, "sweep"))
    c.pod("urgent", gpus=4, labels=owner, run_seconds=2)
    claimed(c, "urgent")
    c.pod_is("urgent", lambda p: phase(p) == "Succeeded", "phase Succeeded", 20)
    undisturbed = uid_of(c.pods("sweep")) == before and runs_undisturbed(c, "sweep")
    c.expect(undisturbed, "both pods of the sweep run on")
    c.completed("other")
    c.completed("sweep")
    status = c.admin.get("Job", c.ns, "sweep")["status"]
    c.expect(not status.get("failed"), f"nothing of the sweep failed: {status}")


@case(seconds=200)
def failures_that_are_not_counted_yet_count(c):
    """Three victims are of one Job that may fail twice. At most one is evicted, however slowly the Job counts."""
    c.nodes(1)
    owner, borrower = teams(c)
    c.job("sweep", 3, 2, labels=borrower, more={"backoffLimit": 2}, run_seconds=25, stop_seconds=3)
    c.running_pods(3, "sweep")
    c.pod("urgent", gpus=8, labels=owner, run_seconds=2)
    claimed(c, "urgent")
    c.pod_is("urgent", lambda p: phase(p) == "Succeeded", "phase Succeeded", 100)
    c.completed("sweep", seconds=100)
    status = c.admin.get("Job", c.ns, "sweep")["status"]
    c.expect(status.get("failed", 0) <= 1, f"one failure at most: {status}")


@case()
def grace_is_waited_for_and_nobody_else_ends(c):
    """The victim's containers take 20 s to end."""
    c.nodes(2)
    owner, borrower = teams(c)
    serve(c, "other", borrower)
    (slow,) = serve(c, "slow", borrower, stop_seconds=20)
    c.pod("urgent", gpus=8, labels=owner, run_seconds=2)
    first = claimed(c, "urgent")
    c.until(lambda: any(is_going(p) for p in c.pods("slow")), "slow pod that ends")
    c.stays(lambda: victims(claim_of(c, "urgent")) == victims(first) and runs_undisturbed(c, "other"), "one victim", 15)
    c.succeeded("urgent")
    ended = next(row for row in c.log() if row["name"] == slow["metadata"]["name"])["finished"]["at"]
    began = c.started("urgent")[0][2]
    c.expect(began >= ended, f"it starts after the victim has ended: {began - ended:.1f} s")
    c.expect(runs_undisturbed(c, "other") and len(rows_of(c, "other")) == 1, "the other job was left alone")
    c.running_pods(1, "slow")


@case()
def finalizer_delays_nobody(c):
    """The containers have ended, and the pod stays as an object: its GPUs are free."""
    c.nodes(1)
    owner, borrower = teams(c)
    pods = c.template(8, labels=dict(borrower), spec=spec_of(c, 8))
    pods["metadata"]["finalizers"] = [FINALIZER]
    c.ana.create(o.deployment("serve", c.ns, pods, 1))
    (stuck,) = c.running_pods(1, "serve")
    c.pod("urgent", gpus=8, labels=owner, run_seconds=2)
    c.succeeded("urgent")
    c.expect(is_going(c.get_pod(stuck["metadata"]["name"])), "the pod is still there")
    c.running_pods(1, "serve")
    c.admin.delete("Deployment", c.ns, "serve")
    c.until(lambda: all(is_going(p) for p in c.pods("serve")), "end of the Deployment")
    for pod in c.pods("serve"):
        c.admin.patch("Pod", c.ns, pod["metadata"]["name"], {"metadata": {"finalizers": None}})


@case(seconds=400)
def victim_that_stays_is_replaced(c):
    """Its containers do not end. A minute after its grace of 30 s another job gives, and the first one still ends."""
    c.nodes(2)
    owner, borrower = teams(c)
    (other,) = serve(c, "other", borrower)
    (stuck,) = serve(c, "stuck", borrower, stop_seconds=180)
    c.pod("urgent", gpus=8, labels=owner, run_seconds=5)
    first = victims(claimed(c, "urgent"))
    c.expect(first == [c.job_of_pod(stuck)["id"]], f"who started last gives first: {first}")
    c.pod_is("urgent", lambda p: phase(p) == "Running", "phase Running", 160)
    c.expect(is_going(c.get_pod(stuck["metadata"]["name"])), "the first victim has not ended")
    c.expect(uid_of([other]) != uid_of(c.pods("other")), "the other pod gave")
    c.admin.delete("Deployment", c.ns, "stuck")
    c.succeeded("urgent")
    c.until(lambda: not c.pods("stuck"), "end of the first victim", 100)
    c.running_pods(1, "other")


@case(mode="observe", managed="")
def adopted_job_is_left_alone(c):
    """It ran before Subak enforced anything here."""
    c.nodes(1)
    c.job("old", 1, 8, run_seconds=15)
    c.running_pods(1, "old")
    owner, _ = teams(c)
    set_mode(c, "enforce")
    label(c, "true")
    c.until(lambda: [j["state"] for j in c.subak_jobs()] == ["JOB_STATE_RUNNING"], "adopted job")
    c.until(lambda: has_gate(c.ana.create(o.pod("probe", c.ns, c.spec(1)), dry_run=True)), "gates on new pods")
    c.pod("urgent", gpus=8, labels=owner, run_seconds=1)
    c.queued("urgent")
    c.stays(lambda: runs_undisturbed(c, "old") and not claim_of(c, "urgent"), "the owner waits, without a claim", 5)
    c.completed("old")
    c.expect(len(rows_of(c, "old")) == 1, "it ran once")
    c.succeeded("urgent")


def set_min_run(c, text):
    """The service starts again with this minimum run."""
    set_key(c, "reclaimMinRun", text)


def set_key(c, key, text):
    """The service starts again with this value of a key of its configuration."""
    c.service.stop()
    with open(c.service.config, encoding="utf-8") as file:
        lines = [line for line in file if not line.startswith(f"{key}:")]
    with open(c.service.config + ".new", "w", encoding="utf-8") as file:
        file.writelines([*lines, f"{key}: {text}\n"])
    os.replace(c.service.config + ".new", c.service.config)
    c.service.start()


def same_claim(c, name, before):
    """After a restart the claim is as it was."""
    now = claimed(c, name)
    same = all(now[key] == before[key] for key in ("jobId", "made", "nodes")) and victims(now) == victims(before)
    c.expect(same, f"the same claim after the restart: {now}, was {before}")


@case(alone=True, seconds=240)
def killed_between_claim_and_eviction(c):
    c.nodes(1)
    owner, borrower = teams(c)
    set_min_run(c, "20s")
    try:
        c.job("train", 2, 4, indexed=True, labels=borrower, run_seconds=40)
        c.running_pods(2, "train")
        c.pod("urgent", gpus=8, labels=owner, run_seconds=2)
        before = claimed(c, "urgent")
        c.service.kill()
        c.expect(runs_undisturbed(c, "train"), "nobody was asked yet")
        c.service.start()
        same_claim(c, "urgent", before)
        c.succeeded("urgent")
    finally:
        set_min_run(c, "2s")
    c.completed("train", seconds=100)
    c.expect(len(rows_of(c, "train")) == 4, "each pod of the gang ran twice")


@case(alone=True, seconds=240)
def killed_between_eviction_and_start(c):
    c.nodes(1)
    owner, borrower = teams(c)
    c.job("train", 2, 4, indexed=True, labels=borrower, run_seconds=12, stop_seconds=8)
    c.running_pods(2, "train")
    c.pod("urgent", gpus=8, labels=owner, run_seconds=2)
    before = claimed(c, "urgent")
    c.until(lambda: c.pods("train") and all(is_going(p) for p in c.pods("train")), "victims that end")
    c.service.kill()
    c.service.start()
    same_claim(c, "urgent", before)
    c.succeeded("urgent")
    c.completed("train", seconds=100)
    c.expect(len(rows_of(c, "train")) == 4, "each pod of the gang ran twice")


@case(alone=True, seconds=240)
def class_preempts_within_its_account(c):
    """A job of the class takes from its own account alone, and a number is no priority any more."""
    c.nodes(2)
    other, own = teams(c)
    set_key(c, "priorityClasses", "[{name: batch, value: 0}, {name: prod, value: 1000, preempts: true}]")
    try:
        serve(c, "theirs", other, keys={"subak.gpu/priority": "batch"})
        serve(c, "mine", own, keys={"subak.gpu/priority": "batch"})
        number = o.pod("bad", c.ns, c.spec(1), own, {"subak.gpu/priority": "7"})
        c.refused(lambda: c.ana.create(number), "denied", "subak.gpu/priority", "batch, prod")
        c.job("urgent", 1, 4, labels=own, keys={"subak.gpu/priority": "prod"}, run_seconds=2)
        claim = claimed(c, "urgent")
        c.expect(claim["right"] == "CLAIM_RIGHT_CLASS", claim)
        note = c.until(lambda: any_note(c, "mine", "Preempted"), "event on a pod of the victim", 60)
        c.expect("higher priority (class prod)" in note, note)
        c.completed("urgent")
        c.running_pods(1, "mine")
        c.expect(len(rows_of(c, "theirs")) <= 1 and runs_undisturbed(c, "theirs"), "the other account is left alone")
    finally:
        set_key(c, "priorityClasses", "[]")
    for name in ("mine", "theirs"):
        c.admin.delete("Deployment", c.ns, name)


def any_note(c, prefix, reason):
    """The text of an Event of that reason on a pod whose name begins so; None: there is none."""
    found = c.admin.list("Event", c.ns)
    return next((e.get("message") or e.get("note") for e in found if e.get("reason") == reason
                 and e["involvedObject"]["name"].startswith(prefix)), None)
