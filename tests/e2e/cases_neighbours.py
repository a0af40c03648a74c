"""What others do beside Subak: kube-scheduler's preemption, drains, autoscalers, and marks of other queue managers."""

import re

import objects as o
from case import case, condition, ended, has_gate, node_of, phase
from cases_nodes import kubectl

HIGH = "e2e-high"
OURS = "subak-gpu"


def high_class(c):
    """A class of users that preempts, above each but ours."""
    body = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": HIGH}, "value": 1000000}
    try:
        c.admin.call("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", body)
    except Exception as error:  # another case has made it
        c.expect("already exists" in str(error), f"the class, not {error}")


def cpu_pod(c, cpu, **more):
    """A pod without GPUs on the nodes of this case."""
    spec = {"restartPolicy": "Never", "nodeSelector": {"e2e/pool": c.ns}, **more}
    spec["containers"] = [{"name": "main", "image": "example.com/web", "resources": {"requests": {"cpu": cpu}}}]
    return spec


@case()
def gpu_pod_is_not_preempted(c):
    """A pod of a higher class that finds no CPU waits: it ends no GPU pod."""
    high_class(c)
    node = c.nodes(1)[0]
    cores = int(c.admin.get("Node", "", node)["status"]["allocatable"]["cpu"])
    spec = c.spec(2)
    spec["containers"][0]["resources"]["limits"]["cpu"] = str(cores - 2)
    c.pod("train", spec=spec, run_seconds=12)
    pod = c.runs("train")
    c.expect(pod["spec"]["priorityClassName"] == OURS, "our class")
    c.expect(pod["spec"]["preemptionPolicy"] == "Never", "a pod that preempts nothing")
    c.ana.create(o.pod("web", c.ns, cpu_pod(c, str(cores - 4), priorityClassName=HIGH), notes={"run-seconds": 1}))
    c.pod_is("web", lambda p: any(r["type"] == "PodScheduled" and r["status"] == "False"
                                  for r in p["status"].get("conditions", [])), "a refusal by the scheduler")  # fmt: skip
    c.stays(lambda: not condition(c.get_pod("train"), "DisruptionTarget"), "the GPU pod is let be", 3)
    c.succeeded("train")
    c.succeeded("web")


@case()
def gpu_pod_preempts_nothing(c):
    """A GPU pod without CPU waits; a pod of a lower class stays."""
    high_class(c)
    node = c.nodes(1)[0]
    cores = int(c.admin.get("Node", "", node)["status"]["allocatable"]["cpu"])
    c.ana.create(o.pod("web", c.ns, cpu_pod(c, str(cores - 2)), notes={"run-seconds": 8}))
    c.runs("web")
    spec = c.spec(1, priorityClassName=HIGH)
    c.pod("train", spec=spec, run_seconds=1)
    c.queued("train")
    c.stays(lambda: phase(c.get_pod("web")) != "Failed" and "deletionTimestamp" not in c.get_pod("web")["metadata"],
            "the other pod is let be", 3)  # fmt: skip
    c.succeeded("web")
    pod = c.succeeded("train")
    notes = pod["metadata"]["annotations"]
    c.expect(notes["subak.gpu/own-priority-class"] == HIGH and notes["subak.gpu/own-priority"] == "1000000", "its own class")


@case()
def own_class_orders_within_the_account(c):
    high_class(c)
    c.nodes(1, gpus=1)
    c.pod("first", run_seconds=3)
    c.runs("first")
    c.pod("later", run_seconds=1)
    c.queued("later")
    c.pod("sooner", spec=c.spec(1, priorityClassName=HIGH), run_seconds=1)
    c.queued("sooner")
    c.succeeded("later")
    order = [name for name, _, _ in sorted(c.started(), key=lambda row: row[2])]
    c.expect(order == ["first", "sooner", "later"], f"the higher class first, not {order}")


@case()
def forged_own_priority_is_denied(c):
    labels, notes = None, {"subak.gpu/own-priority": "9"}
    error = c.refused(lambda: c.ana.create(o.pod("bad", c.ns, c.spec(), labels, notes)), "denied", "subak.gpu/own-priority")
    c.expect(error.code == 422, f"code 422, got {error.code}")


@case(seconds=180)
def evicted_member_comes_back(c):
    """Somebody evicts a pod of a gang: the cause says so, and the gang waits again with its submit time."""
    c.nodes(2)
    c.job("train", 2, 8, indexed=True, run_seconds=6, more={"backoffLimit": 6})
    pods = c.running_pods(2, "train")
    job = c.job_named("train")

    def ends():
        row = re.search(r'^subak_attempts_ended_total{cause="evicted"} (\S+)$', c.service.metrics(), re.M)
        return float(row.group(1)) if row else 0

    before = ends()
    name = pods[0]["metadata"]["name"]
    c.admin.call("POST", f"/api/v1/namespaces/{c.ns}/pods/{name}/eviction",
                 {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": c.ns}})  # fmt: skip
    c.until(lambda: ends() > before, "an end with the cause evicted", 90)
    c.completed("train", seconds=120)
    c.expect(c.service.json("job", "get", job["id"])["submitTime"] == job["submitTime"], "the first submit time")


@case()
def node_that_an_autoscaler_removes(c):
    """Even a pod that tolerates every taint does not go there."""
    leaving, stays = c.nodes(2)
    taint = {"key": "karpenter.sh/disrupted", "effect": "NoSchedule"}
    c.admin.patch("Node", "", leaving, {"spec": {"taints": [taint]}})
    c.until(lambda: "an autoscaler removes the node" in str(c.service.json("cluster", "nodes")), "a node that is not fit")
    c.pod("a", spec=c.spec(8, tolerations=[{"operator": "Exists"}]), run_seconds=1)
    c.expect(node_of(c.succeeded("a")) == stays, "the node that stays")


@case()
def gang_is_marked_for_autoscalers(c):
    c.nodes(1)
    c.job("train", 2, 1, indexed=True, keys={"subak.gpu/gang-size": "2"}, run_seconds=1)
    c.completed("train")
    for pod in c.pods("train"):
        notes = pod["metadata"]["annotations"]
        c.expect(notes.get("karpenter.sh/do-not-disrupt") == "true", "Karpenter's mark")
        c.expect(notes.get("cluster-autoscaler.kubernetes.io/safe-to-evict") == "false", "the cluster autoscaler's mark")
    c.pod("single", run_seconds=1)
    c.expect("karpenter.sh/do-not-disrupt" not in c.succeeded("single")["metadata"].get("annotations", {}), "no mark")


@case()
def one_pod_a_node(c):
    """Pods that exclude each other by anti-affinity, in a gang whose pods would all fit on one node."""
    c.nodes(2)
    rule = {"labelSelector": {"matchLabels": {"app": "train"}}, "topologyKey": "kubernetes.io/hostname"}
    spec = c.spec(1, affinity={"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [rule]}})
    c.job("train", 2, 1, indexed=True, labels={"app": "train"}, spec=spec, run_seconds=4)
    pods = c.running_pods(2, "train")
    c.expect(len({node_of(pod) for pod in pods}) == 2, "each on a node of its own")
    c.pod("third", spec=spec, labels={"app": "train"}, run_seconds=1)
    waits = c.queued("third")
    c.until(lambda: "anti-affinity" in c.why(c.job_of_pod(waits)["id"]), "the reason names it")
    c.completed("train")
    c.succeeded("third")


@case()
def queue_of_kueue_is_an_account(c):
    """A Job as Kueue's users write it: suspended, with a queue on the Job alone."""
    c.nodes(1)
    c.set_account(f"{c.account}.lab")
    made = o.job("train", c.ns, c.template(2, run_seconds=2), suspend=True,
                 labels={"kueue.x-k8s.io/queue-name": "lab", "kueue.x-k8s.io/max-exec-time-seconds": "600"})  # fmt: skip
    c.ana.create(made)
    c.completed("train")
    pod = c.pods("train")[0]
    notes = {**pod["metadata"].get("labels", {}), **pod["metadata"]["annotations"]}
    c.expect(notes["subak.gpu/account"] == f"{c.account}.lab", "the queue's account")
    c.expect(notes["subak.gpu/time-limit"] == "10m", "the time limit")
    wrong = o.job("wrong", c.ns, c.template(1), labels={"kueue.x-k8s.io/queue-name": "lost"})
    c.refused(lambda: c.ana.create(wrong), "denied", "queue-name", "lab")
    by_user = o.job("mine", c.ns, c.template(1, run_seconds=1), suspend=True)
    c.ana.create(by_user)
    c.stays(lambda: c.admin.get("Job", c.ns, "mine")["spec"]["suspend"], "its user suspended it", 3)


@case()
def part_of_a_gpu_by_kai_is_refused(c):
    pod = o.pod("half", c.ns, cpu_pod(c, "1"), {"kai.scheduler/queue": "q"}, {"gpu-fraction": "0.5"})
    pod["metadata"]["annotations"] = {"gpu-fraction": "0.5"}
    c.refused(lambda: c.ana.create(pod), "denied", "gpu-fraction", "nvidia.com/gpu.shared")


@case(seconds=180)
def drain_against_a_disruption_budget(c):
    """kubectl drain waits for the budget; what Subak counts stays what runs."""
    c.nodes(1)
    c.ana.create(o.deployment("serve", c.ns, c.template(spec=c.spec(2, restart="Always")), 1))
    pod = c.running_pods(1, "serve")[0]
    budget = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": o.meta("serve", c.ns),
              "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "serve"}}}}  # fmt: skip
    c.admin.call("POST", f"/apis/policy/v1/namespaces/{c.ns}/poddisruptionbudgets", budget)
    name = pod["metadata"]["name"]
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": c.ns}}
    c.refused(lambda: c.admin.call("POST", f"/api/v1/namespaces/{c.ns}/pods/{name}/eviction", eviction), "budget")
    c.stays(lambda: not ended(c.get_pod(name)) and not has_gate(c.get_pod(name)), "it runs on", 2)
    c.admin.call("DELETE", f"/apis/policy/v1/namespaces/{c.ns}/poddisruptionbudgets/serve")
