"""What people are told: by the queue, by why, in the cluster, in the books."""

import re

from case import case, condition, has_gate, node_of
from control_plane import SUBAK_USER


def full_node(c, seconds=10):
    c.nodes(1)
    c.pod("holder", gpus=8, run_seconds=seconds)
    c.runs("holder")


@case()
def queue_names_what_waits(c):
    full_node(c)
    c.pod("waits", gpus=8)
    c.queued("waits")
    c.pod("behind", gpus=8)
    c.queued("behind")
    rows = c.service.json("queue", "--account", c.account)["rows"]
    names = [row["job"]["spec"]["name"].split("/")[-1] for row in rows]
    c.expect(names == ["waits", "behind"], f"the older one first, got {names}")
    c.expect(all(row["waitsFor"]["token"] for row in rows), "each waits for something")
    c.succeeded("behind")


@case()
def why_names_the_blocker(c):
    full_node(c)
    holder = c.job_named("holder")["id"]
    c.pod("waits", gpus=8)
    c.queued("waits")
    text = c.why(c.job_named("waits")["id"])
    c.expect(holder in text or "holder" in text, f"it names the job in the way: {text[:300]}")


@case()
def jobs_and_pods_are_listed(c):
    (name,) = c.nodes(1)
    c.pod("mine", gpus=2, run_seconds=4)
    c.runs("mine")
    job = c.until(lambda: c.job_named("mine"), "job mine")
    row = c.service.json("job", "get", job["id"])
    c.expect(name in str(row), f"job get says where it runs: {row}")
    c.until(lambda: c.job_named("mine")["state"] == "JOB_STATE_RUNNING", "running job")


@case()
def user_is_charged(c):
    c.nodes(1)
    c.pod("anas", gpus=2, run_seconds=2)
    c.succeeded("anas")
    c.until(lambda: any(row.get("payer", "").startswith(c.account) for row in c.service.ledger_of(c.account)), "rows")
    rows = c.service.json("usage", "report", "--account", c.account, "--by", "user")["rows"]
    c.expect(any(row.get("user") == "ana" for row in rows), f"ana's usage, got {rows}")


@case()
def two_teams_by_shares(c):
    """Three to one: of the pods that start while both want more, about three quarters are the first's."""
    c.nodes(1)
    for team, shares in (("many", 3), ("few", 1)):
        c.set_account(f"{c.account}.{team}", shares=shares)
    c.pod("holder", gpus=8, run_seconds=5)
    c.runs("holder")
    for i in range(16):
        for team in ("many", "few"):
            c.pod(f"{team}-{i}", gpus=2, labels={"subak.gpu/account": f"{c.account}.{team}"}, run_seconds=2)
    c.until(lambda: len(c.started()) >= 17, "sixteen started pods")
    first = [name for name, _, at in sorted(c.started(), key=lambda row: row[2]) if name != "holder"][:16]
    many = sum(name.startswith("many") for name in first)
    c.expect(10 <= many <= 14, f"about 12 of the first 16 are the larger team's, got {many}: {first}")


@case()
def event_on_the_pod_that_waits(c):
    full_node(c, 8)
    c.pod("waits", gpus=8)
    c.queued("waits")

    def told():
        found = c.admin.list("Event", c.ns, fields="involvedObject.name=waits")
        return [e for e in found if "subak" in f"{e.get('reportingComponent')} {e.get('source', {}).get('component')}"]

    c.until(told, "event of ours on the pod", 30)
    c.succeeded("waits")


@case()
def status_on_the_pod_that_waits(c):
    full_node(c, 8)
    c.pod("waits", gpus=8)
    c.until(lambda: c.get_pod("waits")["metadata"].get("annotations", {}).get("subak.gpu/status"), "status", 30)
    c.succeeded("waits")


@case(seconds=240)
def condition_after_a_minute(c):
    full_node(c, 75)
    c.pod("waits", gpus=8)
    c.until(lambda: condition(c.get_pod("waits"), "subak.gpu/Queued"), "condition", 100)
    c.pod_is("waits", lambda p: not has_gate(p), "release", 100)


@case()
def few_writes_for_a_short_wait(c):
    full_node(c, 6)
    c.job("waits", 4, 2, run_seconds=1)
    c.completed("waits")
    mine = [w for w in c.world.plane.writes_of(SUBAK_USER) if w[2] == c.ns and w[3].startswith("waits")]
    c.expect(len(mine) <= 3 * 4, f"at most three writes a pod, got {len(mine)}: {mine}")


@case(seconds=240)
def start_that_is_expected(c):
    c.nodes(1)
    limit = {"subak.gpu/time-limit": "10m"}
    c.pod("holder", gpus=8, run_seconds=90, **limit)
    c.runs("holder")
    c.pod("waits", gpus=8, **limit)

    def status():
        return c.get_pod("waits")["metadata"].get("annotations", {}).get("subak.gpu/status", "")

    c.until(lambda: re.search(r"It starts (by|about) .*UTC", status()), "the expected start", 100)
    c.succeeded("waits")


@case()
def release_says_its_place(c):
    (name,) = c.nodes(1)
    c.pod("placed", run_seconds=2)
    pod = c.runs("placed")
    terms = pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    fields = [f for term in terms["nodeSelectorTerms"] for f in term.get("matchFields", [])]
    c.expect(fields and fields[0]["values"] == [name] == [node_of(pod)], f"pinned to its node, got {fields}")


@case()
def service_is_synced(c):
    status = c.service.json("status")
    rows = [row for row in status["clusters"] if row["name"] == "e2e"]
    c.expect(rows and rows[0].get("synced"), f"cluster e2e is synced: {status}")
    c.expect(rows[0].get("knownAs") == SUBAK_USER, f"it knows who it is there: {rows[0]}")


@case(seconds=240)
def event_on_the_namespace_of_a_spent_budget(c):
    """The account has 0.02 GPU-hours a day: the pod spends them in 9 seconds. Subak looks each minute."""
    c.set_account(c.account, c.ns, more=("--budget", "soft=0.02h/day"))
    c.nodes(1)
    c.pod("spends", gpus=8, run_seconds=10)
    c.succeeded("spends")

    def told():
        found = c.admin.list("Event", c.ns, fields=f"involvedObject.kind=Namespace,involvedObject.name={c.ns}")
        return [e for e in found if e.get("reason") == "BudgetSpent"]

    (event,) = c.until(told, "Event BudgetSpent on the namespace", 120)
    text = event.get("message") or event.get("note")
    c.expect(f"account {c.account} has spent 100 % of its budget soft=0.02h/day" in text, text)
    c.expect(event["type"] == "Warning", str(event))
