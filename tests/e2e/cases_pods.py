"""Single pods: their place, their run, their end."""

import time

import objects as o
from case import ended, case, has_gate, node_of, phase

FOREIGN_GATE = "example.com/wait"


@case(plain=True)
def single_pod(c):
    c.nodes(1)
    c.pod("one", gpus=2)
    pod = c.succeeded("one")
    c.expect(node_of(pod).startswith(c.ns), "it ran in its pool")


@case(plain=True)
def pod_without_gpus(c):
    c.nodes(1, gpus=0)
    c.pod("light", gpus=0)
    pod = c.succeeded("light")
    ours = [key for part in ("labels", "annotations") for key in pod["metadata"].get(part, {}) if "subak" in key]
    c.expect(not ours and not has_gate(pod), "nothing of ours is on it")


@case(plain=True)
def pod_that_fails(c):
    c.nodes(1)
    c.pod("bad", exit_code=3)
    c.pod_is("bad", lambda p: phase(p) == "Failed", "phase Failed")


@case(plain=True)
def container_that_restarts(c):
    c.nodes(1)
    c.pod("again", spec=c.spec(restart="OnFailure"), restarts=2, run_seconds=1.5)
    pod = c.succeeded("again")
    c.expect(pod["status"]["containerStatuses"][0]["restartCount"] == 2, "two restarts")


@case(plain=True)
def sidecar_and_init_container(c):
    c.nodes(1)
    inits = [o.container(4, "prepare"), o.container(0, "mesh", restartPolicy="Always")]
    c.pod("both", spec=c.spec(gpus=2, initContainers=inits), run_seconds=2)
    c.succeeded("both")


@case(plain=True)
def required_affinity_of_its_own(c):
    names = c.nodes(3)
    spec = c.spec(affinity=o.required(o.term("kubernetes.io/hostname", names[1])))
    c.pod("picky", spec=spec)
    c.expect(node_of(c.succeeded("picky")) == names[1], "it ran where its affinity says")


@case(plain=True)
def several_affinity_terms(c):
    names = c.nodes(3)
    terms = [o.term("kubernetes.io/hostname", names[0]), o.term("kubernetes.io/hostname", names[2])]
    for i in range(4):
        c.pod(f"either-{i}", gpus=4, spec=c.spec(4, affinity=o.required(*terms)), run_seconds=3)
    for i in range(4):
        c.expect(node_of(c.succeeded(f"either-{i}")) in (names[0], names[2]), "a node of one of its terms")


@case(plain=True)
def preferred_affinity(c):
    names = c.nodes(2)
    c.pod("wishes", spec=c.spec(affinity=o.preferred(o.term("kubernetes.io/hostname", names[1]))))
    c.expect(node_of(c.succeeded("wishes")) in names, "it ran in its pool")


@case(plain=True)
def affinity_that_excludes(c):
    names = c.nodes(2)
    terms = o.required(o.term("kubernetes.io/hostname", names[0], operator="NotIn"))
    c.pod("not-there", spec=c.spec(affinity=terms))
    c.expect(node_of(c.succeeded("not-there")) == names[1], "the other node")


@case(plain=True)
def taints_and_tolerations(c):
    taint = {"key": "e2e/only", "value": "some", "effect": "NoSchedule"}
    (tainted,) = c.nodes(1, taints=[taint])
    (free,) = c.nodes(1)
    c.pod("plain", gpus=8, spec=c.spec(8), run_seconds=3)
    c.runs("plain")
    c.pod("tolerant", spec=c.spec(8, tolerations=[{"key": "e2e/only", "operator": "Exists"}]))
    c.expect(node_of(c.succeeded("tolerant")) == tainted, "the tolerant one is on the tainted node")
    c.expect(node_of(c.succeeded("plain")) == free, "the plain one is not")


@case(plain=True)
def one_after_the_other(c):
    c.nodes(1)
    c.pod("first", gpus=8, run_seconds=3)
    c.runs("first")
    c.pod("second", gpus=8)
    c.succeeded("second")
    rows = sorted(c.log(), key=lambda p: p["bound"]["at"])
    c.expect(rows[1]["bound"]["at"] >= rows[0]["finished"]["at"], "the second came after the first's end")


@case()
def gated_and_labelled(c):
    c.nodes(1)
    made = c.pod("mine", run_seconds=2)
    c.expect(has_gate(made), "the answer to the create has our gate")
    labels = made["metadata"]["labels"]
    c.expect(labels.get("subak.gpu/account") == c.account, f"the account's label, got {labels}")
    pod = c.succeeded("mine")
    c.expect(not has_gate(pod), "our gate is gone")


@case()
def foreign_gate_beside_ours(c):
    c.nodes(1)
    c.pod("guarded", spec=c.spec(schedulingGates=[{"name": FOREIGN_GATE}]))
    c.queued("guarded")
    c.stays(lambda: has_gate(c.get_pod("guarded")) and c.subak_jobs(), "it waits while the other gate is there", 4)
    c.admin.patch("Pod", c.ns, "guarded", [{"op": "remove", "path": "/spec/schedulingGates/0"}],
                  content_type="application/json-patch+json")  # fmt: skip
    c.succeeded("guarded")


@case()
def foreign_gate_holds_up_no_other(c):
    c.nodes(1)
    c.pod("guarded", gpus=8, spec=c.spec(8, schedulingGates=[{"name": FOREIGN_GATE}]))
    c.queued("guarded")
    c.pod("behind", gpus=8)
    c.succeeded("behind")
    c.expect(has_gate(c.get_pod("guarded")), "the guarded one still waits")


@case()
def deleted_while_queued(c):
    c.nodes(1)
    c.pod("long", gpus=8, run_seconds=8)
    c.runs("long")
    c.pod("waits", gpus=8)
    c.queued("waits")
    c.ana.delete("Pod", c.ns, "waits")
    c.until(lambda: len(c.subak_jobs()) == 1, "end of the job of the deleted pod")
    c.succeeded("long")


@case(plain=True)
def deleted_while_running(c):
    c.nodes(1)
    c.pod("cut", gpus=8, run_seconds=60, stop_seconds=2)
    c.runs("cut")
    time.sleep(1)
    c.ana.delete("Pod", c.ns, "cut")
    c.pod("next", gpus=8)
    c.succeeded("next")
    rows = {p["name"]: p for p in c.log()}
    c.expect(rows["next"]["bound"]["at"] >= rows["cut"]["finished"]["at"], "a terminating pod holds its GPUs")


@case()
def deleted_by_force_while_running(c):
    c.nodes(1)
    c.pod("forced", run_seconds=60)
    c.runs("forced")
    c.admin.delete("Pod", c.ns, "forced", grace_s=0)
    c.until(lambda: not c.subak_jobs(), "end of its job")


@case()
def waits_for_a_node(c):
    c.nodes(1, gpus=4)
    c.pod("large", gpus=8)
    c.queued("large")
    c.stays(lambda: has_gate(c.get_pod("large")), "it waits", 2)
    c.nodes(1, gpus=8)
    c.succeeded("large")


@case()
def turned_away_by_the_kubelet(c):
    c.nodes(2)
    c.pod("unlucky", gpus=4, reject_first=1)
    c.pod_is("unlucky", ended, "end")
    c.until(lambda: not c.subak_jobs(), "end of its job")
    c.expect(c.used_s() == 0, "its account pays nothing")


@case()
def opened_by_break_glass(c):
    c.nodes(1)
    c.pod("long", gpus=8, run_seconds=6)
    c.runs("long")
    c.pod("urgent", gpus=2)
    c.queued("urgent")
    c.world.breakglass.patch("Pod", c.ns, "urgent", [{"op": "remove", "path": "/spec/schedulingGates/0"}],
                             content_type="application/json-patch+json")  # fmt: skip
    c.succeeded("urgent")


@case(mode="observe", managed="")
def bound_without_us(c):
    (name,) = c.nodes(1)
    c.admin.create(o.pod("foreign", c.ns, c.spec(4, nodeName=name), notes={"run-seconds": 3}))
    c.succeeded("foreign")


@case()
def packed_onto_fragments(c):
    names = c.nodes(2)
    c.pod("seed", gpus=4, run_seconds=8)
    at = node_of(c.runs("seed"))
    for i in range(2):
        c.pod(f"small-{i}", gpus=2)
    for i in range(2):
        c.expect(node_of(c.succeeded(f"small-{i}")) == at, f"fragments first, of {names}")
