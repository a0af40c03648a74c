"""What the API server lets in: the rows of the pod policy, by the manifests of deploy/kubernetes."""

import objects as o
from case import case, has_gate
from kube_api import JSON_PATCH

OPEN_GATE = [{"op": "remove", "path": "/spec/schedulingGates/0"}]


def denied(c, spec, *words, labels=None, notes=None):
    """The create is refused with a message that has all words, and nothing of it reaches Subak."""
    error = c.refused(lambda: c.ana.create(o.pod("bad", c.ns, spec, labels, notes)), "denied", *words)
    c.expect(error.code in (403, 422), f"code 403 or 422, got {error.code}")
    c.expect(c.get_pod("bad") is None and not c.subak_jobs(), "no pod, no job")


def with_container(**more):
    return {"restartPolicy": "Never", "containers": [o.container(**more)]}


@case()
def denied_two_kinds_of_gpus(c):
    spec = c.spec()
    spec["containers"][0]["resources"]["limits"]["nvidia.com/mig-1g.10gb"] = "1"
    denied(c, spec, "resources", "want")


@case()
def denied_unknown_account(c):
    denied(c, c.spec(), "subak.gpu/account", "nobody", labels={"subak.gpu/account": f"{c.account}.nobody"})


@case()
def denied_account_of_others(c):
    c.set_account("others", shares=1)
    denied(c, c.spec(), "subak.gpu/account", "others", labels={"subak.gpu/account": "others"})


@case()
def denied_name_of_another_user(c):
    denied(c, c.spec(), "subak.gpu/user", "bob", labels={"subak.gpu/user": "bob"})


@case()
def denied_while_the_account_drains(c):
    c.nodes(1)
    c.pod("runs", gpus=2, run_seconds=4)
    c.runs("runs")
    c.service.subak("account", "drain", c.account, "--reason", "a case")
    c.refused(lambda: c.pod("new"), "denied", c.account)
    c.succeeded("runs")
    c.service.subak("account", "resume", c.account, "--reason", "a case")
    c.pod("later")
    c.succeeded("later")


@case(seconds=240)
def member_replaced_while_the_account_drains(c):
    """What was there before goes on and comes back; what controllers make after that waits until it is resumed."""
    c.nodes(2)
    c.job("train", 2, 8, indexed=True, fail_first=1, run_seconds=4)
    c.running_pods(2, "train")
    c.service.subak("account", "drain", c.account, "--reason", "a case")
    c.refused(lambda: c.pod("bare"), "denied", c.account, "draining")
    c.refused(lambda: c.job("later", 1, 1), "denied", c.account, "draining")
    c.ana.create(o.deployment("late", c.ns, c.template(1, spec=c.spec(1, restart="Always")), 2))
    c.until(lambda: len([p for p in c.pods("late") if has_gate(p)]) == 2, "two gated pods of the new Deployment")
    late = c.until(lambda: c.job_named("late"), "a job of it in Subak")
    c.until(lambda: f"account {c.account} is draining" in str(c.service.json("why", late["id"])), "why names it")
    c.completed("train", seconds=150)
    c.stays(lambda: all(has_gate(p) for p in c.pods("late")), "the new Deployment's pods wait", 2)
    c.service.subak("account", "resume", c.account, "--reason", "a case")
    c.running_pods(2, "late")
    c.admin.delete("Deployment", c.ns, "late")


@case()
def warned_while_the_account_drains(c):
    """A controller's pod is let in, and whoever makes one by hand as its controller would, is told."""
    c.service.subak("account", "drain", c.account, "--reason", "a case")
    owner = c.admin.call("POST", f"/api/v1/namespaces/{c.ns}/configmaps",
                         {"apiVersion": "v1", "kind": "ConfigMap", "metadata": o.meta("owner", c.ns)})  # fmt: skip
    pod = o.pod("made", c.ns, c.spec())
    pod["metadata"]["ownerReferences"] = [{"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "controller": True,
                                           "uid": owner["metadata"]["uid"]}]  # fmt: skip
    c.expect(has_gate(c.admin.create(pod)), "our gate")
    c.expect(any("is draining" in w for w in c.admin.warnings), f"a warning, got {c.admin.warnings}")


@case()
def account_on_hold_starts_nothing(c):
    c.nodes(1)
    c.service.subak("account", "hold", c.account, "--reason", "a case")
    c.pod("waits")
    c.queued("waits")
    c.stays(lambda: has_gate(c.get_pod("waits")), "it waits", 2)
    c.service.subak("account", "resume", c.account, "--reason", "a case")
    c.succeeded("waits")


@case()
def denied_more_than_the_limit(c):
    c.nodes(1)
    c.set_account(c.account, c.ns, more=["--limit", "gpu=4"])
    denied(c, c.spec(8), c.account, "limit")
    c.pod("fits", gpus=4)
    c.succeeded("fits")


@case()
def denied_preset_node(c):
    (name,) = c.nodes(1)
    denied(c, c.spec(nodeName=name), "nodeName")


@case()
def denied_visible_devices(c):
    spec = with_container(gpus=0, env=[{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}])
    denied(c, spec, "NVIDIA_VISIBLE_DEVICES")


@case()
def denied_device_of_the_host(c):
    spec = with_container(gpus=0) | {"volumes": [{"name": "d", "hostPath": {"path": "/dev/./nvidia0"}}]}
    denied(c, spec, "hostPath")


@case()
def denied_privileged(c):
    denied(c, with_container(gpus=0, securityContext={"privileged": True}), "privileged")


@case()
def denied_runtime_class(c):
    runtime = {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "nvidia"}}
    c.admin.call("POST", "/apis/node.k8s.io/v1/runtimeclasses", runtime | {"handler": "nvidia"})
    denied(c, with_container(gpus=0) | {"runtimeClassName": "nvidia"}, "runtimeClass")


@case()
def denied_gang_size(c):
    denied(c, c.spec(), "subak.gpu/gang-size", "many", notes={"subak.gpu/gang-size": "many"})


@case()
def denied_topology(c):
    denied(c, c.spec(), "subak.gpu/topology", "moon", notes={"subak.gpu/topology": "moon"})


@case()
def denied_time_limit(c):
    denied(c, c.spec(), "subak.gpu/time-limit", "soon", notes={"subak.gpu/time-limit": "soon"})


@case()
def denied_slices_with_nvlink(c):
    spec = with_container(gpus=1, resource="nvidia.com/mig-1g.10gb")
    denied(c, spec, "peer-to-peer", notes={"subak.gpu/topology": "nvlink"})


@case()
def denied_foreign_scheduler(c):
    denied(c, c.spec(schedulerName="kai-scheduler"), "schedulerName")


@case()
def denied_debug_container_with_gpus(c):
    c.nodes(1)
    c.pod("runs", run_seconds=4)
    c.runs("runs")
    debug = {"name": "look", "image": "example.com/sh", "env": [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}]}
    c.refused(lambda: c.admin.patch("Pod", c.ns, "runs", {"spec": {"ephemeralContainers": [debug]}},
                                    "ephemeralcontainers", "application/strategic-merge-patch+json"),
              "NVIDIA_VISIBLE_DEVICES")  # fmt: skip
    c.succeeded("runs")


@case()
def gate_is_not_for_people_to_take(c):
    c.nodes(1, gpus=4)
    c.pod("waits", gpus=8)
    c.queued("waits")
    c.refused(lambda: c.ana.patch("Pod", c.ns, "waits", OPEN_GATE, content_type=JSON_PATCH), "subak.gpu/queue")
    c.refused(lambda: c.admin.patch("Pod", c.ns, "waits", OPEN_GATE, content_type=JSON_PATCH), "subak.gpu/queue")
    c.expect(has_gate(c.get_pod("waits")), "the gate is on it")


@case()
def keys_are_not_for_people_to_change(c):
    c.nodes(1, gpus=4)
    c.pod("waits", gpus=8)
    c.queued("waits")
    change = {"metadata": {"labels": {"subak.gpu/account": "others"}}}
    c.refused(lambda: c.ana.patch("Pod", c.ns, "waits", change), "subak.gpu")
    c.refused(lambda: c.ana.patch("Pod", c.ns, "waits", {"metadata": {"annotations": {"subak.gpu/priority": "9"}}}),
              "subak.gpu")  # fmt: skip
    c.ana.patch("Pod", c.ns, "waits", {"metadata": {"labels": {"mine": "yes"}}})


@case()
def namespaces_are_not_for_people_to_label(c):
    c.refused(lambda: c.ana.patch("Namespace", "", c.ns, {"metadata": {"labels": {"subak.gpu/managed": None}}}),
              "subak.gpu")  # fmt: skip
    c.ana.patch("Namespace", "", c.ns, {"metadata": {"labels": {"mine": "yes"}}})


@case()
def dry_run_leaves_nothing(c):
    made = c.ana.create(o.pod("tried", c.ns, c.spec()), dry_run=True)
    c.expect(has_gate(made), "the answer has our gate")
    c.stays(lambda: c.get_pod("tried") is None and not c.subak_jobs(), "no pod, no job", 1)


@case()
def gate_written_by_its_author(c):
    c.nodes(1)
    made = c.pod("own", spec=c.spec(schedulingGates=[{"name": "subak.gpu/queue"}]))
    c.expect(len(made["spec"]["schedulingGates"]) == 1, "one gate, not two")
    c.succeeded("own")


@case()
def more_than_the_fleet_has(c):
    c.nodes(1)
    c.pod("huge", gpus=16)
    c.expect(any("ExceedsFleet" in w or "fleet" in w for w in c.ana.warnings), f"a warning, got {c.ana.warnings}")
    c.queued("huge")
    c.expect("ExceedsFleet" in c.why(c.only_job()), "why says ExceedsFleet")


@case()
def marks_of_others_exempt_nothing(c):
    c.nodes(1)
    made = c.pod("marked", labels={"kueue.x-k8s.io/queue-name": "q"})
    c.expect(has_gate(made), "our gate")
    c.expect(any("exempts nothing" in w for w in c.ana.warnings), f"a warning, got {c.ana.warnings}")
    c.succeeded("marked")


@case()
def burstable_pod_is_warned(c):
    c.nodes(1)
    spec = c.spec(2)
    spec["containers"][0]["resources"]["requests"] = {"cpu": "1", "memory": "1Gi"}
    c.pod("loose", spec=spec)
    want = 'spec.containers[0].resources.requests[cpu]: was "1", want "'
    plain = [w.replace('\\"', '"') for w in c.ana.warnings]
    c.expect(any(want in w for w in plain), f"the field and its value, got {plain}")
    c.succeeded("loose")


@case()
def denied_unaligned(c):
    """The configuration has alignment `deny` for this namespace."""
    spec = c.spec(2)
    spec["containers"][0]["resources"]["requests"] = {"cpu": "1"}
    denied(c, spec, 'spec.containers[0].resources.requests[cpu]: was "1", want "4" as the limit')
    c.nodes(1)
    c.pod("aligned", gpus=2)
    c.succeeded("aligned")


@case()
def pod_routed_to_shared_gpus(c):
    """The configuration has a route for this namespace. No node has such GPUs, so the pod waits."""
    c.nodes(1)
    made = c.pod("notebook")
    c.expect(made["spec"]["nodeSelector"].get("nvidia.com/gpu.product") == "NVIDIA-A10-SHARED", "the route's product")
    c.expect(any("NVIDIA-A10-SHARED" in w for w in c.ana.warnings), f"a warning, got {c.ana.warnings}")
    c.queued("notebook")
    c.until(lambda: "NoMatchingFlavor" in c.why(c.only_job()), "no node of the route as the reason")


@case()
def zero_gpus_are_none(c):
    c.nodes(1, gpus=0)
    spec = c.spec(0)
    spec["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] = "0"
    made = c.pod("zero", spec=spec)
    c.expect(not has_gate(made), "no gate")
    c.succeeded("zero")


@case()
def gpus_of_an_init_container(c):
    c.nodes(1)
    made = c.pod("prepares", spec=c.spec(0, initContainers=[o.container(2, "prepare")]))
    c.expect(has_gate(made), "our gate")
    c.succeeded("prepares")


@case()
def devices_by_claim_wait(c):
    spec = c.spec(0, resourceClaims=[{"name": "r", "resourceClaimName": "some"}])
    made = c.pod("claims", spec=spec)
    c.expect(has_gate(made), "our gate")
    c.expect("DeviceClaim" in made["metadata"]["annotations"].get("subak.gpu/status", ""), "the reason is on it")


@case()
def system_namespace_is_left_alone(c):
    c.nodes(1)
    pod = o.pod(f"{c.ns}-agent", "kube-system", c.spec(1), notes={"run-seconds": 1})
    made = c.admin.create(pod)
    c.expect(not has_gate(made), "no gate")
    c.until(lambda: c.admin.get("Pod", "kube-system", f"{c.ns}-agent")["status"]["phase"] == "Succeeded", "its end")
    c.admin.delete("Pod", "kube-system", f"{c.ns}-agent")


@case(managed="")
def what_slips_in_is_charged(c):
    """The namespace is enforced, but nobody labelled it, so nobody is asked about its pods."""
    c.nodes(1)
    made = c.pod("slips", gpus=2, run_seconds=2)
    c.expect(not has_gate(made), "no gate")
    c.succeeded("slips")


@case(account=False)
def namespace_without_an_account(c):
    c.nodes(1)
    c.refused(lambda: c.pod("orphan"), "denied")
