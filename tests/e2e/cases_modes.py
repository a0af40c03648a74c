"""observe, warn and enforce, and the ways between them."""

import objects as o
from case import case, has_gate, node_of, phase
from control_plane import SUBAK_USER


def set_mode(c, mode):
    c.service.subak("cluster", "mode", "e2e", "enforce", "--namespace", f"{c.ns}={mode}", "--reason", "a case")


def label(c, value):
    c.admin.patch("Namespace", "", c.ns, {"metadata": {"labels": {"subak.gpu/managed": value}}})


def our_writes(c):
    return [w for w in c.world.plane.writes_of(SUBAK_USER) if w[2] == c.ns]


@case(mode="observe", managed="")
def observe_writes_nothing(c):
    c.nodes(2)
    c.job("train", 4, 4, run_seconds=2)
    c.job("gang", 2, 8, indexed=True, keys={"subak.gpu/gang-size": "2"}, run_seconds=1)
    c.pod("single", gpus=1)
    c.completed("train")
    c.completed("gang")
    c.succeeded("single")
    c.expect(not our_writes(c), f"no write of ours, got {our_writes(c)}")
    c.expect(not any("subak" in str(p["metadata"].get("labels", {})) for p in c.pods()), "no label of ours")


@case(mode="observe", managed="warn")
def observe_is_asked_and_says_nothing(c):
    c.nodes(1)
    c.pod("quiet", spec=c.spec(nodeName=f"{c.ns}-0"))
    c.expect(not c.ana.warnings, f"no warning, got {c.ana.warnings}")
    c.succeeded("quiet")
    c.expect(not our_writes(c), f"no write of ours, got {our_writes(c)}")


@case(mode="warn", managed="warn")
def warn_says_so_and_lets_pass(c):
    (name,) = c.nodes(1)
    made = c.pod("bold", spec=c.spec(nodeName=name))
    c.expect(any("nodeName" in w for w in c.ana.warnings), f"a warning, got {c.ana.warnings}")
    c.expect(not has_gate(made), "no gate")
    c.succeeded("bold")
    c.expect(not our_writes(c), f"no write of ours, got {our_writes(c)}")


def would(c):
    """What `queue --would` says of this case's pods, by name."""
    rows = c.service.json("queue", "--would", "--account", c.account).get("rows", [])
    return {row["job"]["spec"]["name"].split("/")[-1]: row for row in rows}


@case(mode="observe", managed="")
def would_tells_what_enforce_would_do(c):
    c.nodes(1)
    c.pod("long", gpus=6, run_seconds=10)
    c.runs("long")
    c.job("gang", 2, 4, indexed=True, keys={"subak.gpu/gang-size": "2"}, run_seconds=1)
    c.until(lambda: list(would(c)) == ["gang"], "the gang as one row")
    c.pod("single", gpus=8, run_seconds=1)
    rows = c.until(lambda: (seen := would(c)) and len(seen) == 2 and seen, "both rows")
    for name, gpus in (("gang", "2x4"), ("single", "1x8")):
        row = rows[name]
        c.expect(row["pending"] and row["job"]["spec"]["account"] == c.account, f"pods of the account, got {row}")
        c.expect(row["shape"] == gpus and row["waitsFor"]["token"] == "WaitingForCapacity", f"no place yet, got {row}")
    c.expect(not c.service.json("queue", "--account", c.account).get("rows"), "nothing really waits in Subak")
    c.completed("gang")
    c.succeeded("single")
    c.until(lambda: not would(c), "nothing left that would wait")
    c.expect(not our_writes(c), f"no write of ours, got {our_writes(c)}")


@case(mode="observe", managed="")
def enforce_adopts_what_runs(c):
    c.nodes(2)
    c.job("old", 2, 4, run_seconds=8)
    c.running_pods(2, "old")
    set_mode(c, "enforce")
    label(c, "true")
    before = len(our_writes(c))
    c.until(lambda: c.subak_jobs() and all(j["state"] == "JOB_STATE_RUNNING" for j in c.subak_jobs()), "adopted jobs")
    c.until(lambda: has_gate(o_made(c)), "gates on new pods")
    c.pod("new", gpus=8, run_seconds=1)
    c.succeeded("new")
    c.completed("old")
    old = [w for w in our_writes(c)[before:] if w[3].startswith("old")]
    c.expect(not old, f"what was adopted is not written to, got {old}")


def o_made(c):
    """A pod as it would be made now."""
    return c.ana.create(o.pod("probe", c.ns, c.spec(1)), dry_run=True)


@case(mode="observe", managed="")
def what_waits_ungated_stays_foreign(c):
    c.nodes(1)
    c.pod("long", gpus=8, run_seconds=6)
    c.runs("long")
    c.pod("pending", gpus=8)
    c.until(lambda: "pending" in would(c), "the pod among those that would wait")
    set_mode(c, "enforce")
    label(c, "true")
    c.stays(lambda: not has_gate(c.get_pod("pending")), "nothing gates it afterwards", 2)
    c.expect(not would(c), "it would not wait any more")
    c.succeeded("pending")


@case()
def back_to_observe_opens_what_waits(c):
    c.nodes(1)
    c.pod("long", gpus=8, run_seconds=8)
    c.runs("long")
    for i in range(3):
        c.pod(f"waits-{i}", gpus=8)
        c.queued(f"waits-{i}")
    label(c, None)
    set_mode(c, "observe")
    c.until(lambda: not [p for p in c.pods("waits") if has_gate(p)], "open gates")
    for pod in c.pods("waits"):
        fields = str(pod["spec"].get("affinity", {}))
        c.expect("matchFields" not in fields, f"not pinned to a node, got {fields}")
    for i in range(3):
        c.succeeded(f"waits-{i}")


@case(mode="observe", managed="")
def gate_outside_enforce_is_opened(c):
    c.nodes(1)
    c.pod("gated", spec=c.spec(schedulingGates=[{"name": "subak.gpu/queue"}]))
    pod = c.succeeded("gated")
    c.expect("matchFields" not in str(pod["spec"].get("affinity", {})), "not pinned to a node")
    c.expect(len([w for w in our_writes(c) if w[1] == "pods"]) == 1, f"one write, got {our_writes(c)}")


@case()
def there_and_back_and_there(c):
    c.nodes(1)
    c.pod("runs", gpus=4, run_seconds=12)
    c.runs("runs")
    for mode in ("observe", "warn", "enforce"):
        set_mode(c, mode)
    c.pod("after", gpus=4)
    c.succeeded("after")
    c.succeeded("runs")


@case(mode="observe", managed="", alone=True, seconds=500)
def adoption_of_a_thousand(c):
    c.nodes(125)
    spec = c.spec(1)
    for i in range(1000):
        c.admin.create(o.pod(f"old-{i}", c.ns, spec, notes={"run-seconds": 600}))
    c.until(lambda: sum("started" in row for row in c.log()) == 1000, "1000 running pods", 200)
    set_mode(c, "enforce")
    label(c, "true")
    c.until(lambda: sum(j["state"] == "JOB_STATE_RUNNING" for j in c.subak_jobs()) == 1000, "1000 running jobs", 60)
    c.expect(not our_writes(c), f"no write of ours, got {len(our_writes(c))}")
    c.expect(all(node_of(p) and phase(p) == "Running" for p in c.pods()), "all of them run on")
