"""Coming and leaving: what clashes, the gate that the API server sets by itself, and a cluster without Subak. All alone."""

import os
import time

import objects as o
from case import case, has_gate, phase
from cases_parking import is_suspended, parking

ROOT = "/apis/admissionregistration.k8s.io/v1/"
GUARDS = ("validatingadmissionpolicies", "mutatingadmissionpolicies", "validatingwebhookconfigurations",
          "mutatingwebhookconfigurations")  # fmt: skip


def register(c, *words):
    c.service.register(c.world.plane, *words)
    time.sleep(1.5)  # until the API server asks those that it has been told of


def with_kubeconfig(c, *words):
    return c.service.command(*words[:1], "--kubeconfig", c.world.plane.kubeconfig("admin"), *words[1:])


def guards_of(admin):
    """What intercepts, by kind and name, of ours."""
    rows = []
    for kind in GUARDS:
        items = admin.call("GET", ROOT + kind)["items"]
        rows += [f"{kind}/{i['metadata']['name']}" for i in items if i["metadata"]["name"].startswith("subak")]
    return rows


@case()
def manifests_of_every_kind(c):
    """What install prints is what a real API server takes, with conditions and policies that it can read."""
    ca = os.path.join(c.service.folder, "tls", "ca.crt")
    image = ("--image", "registry.example.com/subak:1")
    for words in (image, (*image, "--state", "postgres://subak@db.example.com/subak", "--replicas", "3"),
                  ("--kubernetes", "1.29", "--url", "https://10.0.0.5:9443"),
                  ("--kubernetes", "1.36", "--gpu-kinds", "amd.com/gpu,example.com/npu", "--as", "sre@example.com")):
        text = c.service.subak("install", "--print", "--cluster", "e2e", "--ca", ca, *words)
        code, out = c.world.plane.kubectl("admin", "apply", "--dry-run=server", "--validate=strict", "-f", "-", text_in=text)
        c.expect(code == 0, f"it takes {words}: {out}")


@case(alone=True)
def gate_by_the_api_server(c):
    """Kubernetes 1.36: while we are away pods with GPUs wait, and none is refused."""
    c.nodes(2)
    register(c, "--kubernetes", "1.36")
    try:
        c.service.stop()
        c.pod("waits", gpus=8, run_seconds=1)
        c.job("gang", 2, 4, run_seconds=1)
        c.until(lambda: len(c.pods("gang")) == 2, "the Job's pods")
        c.expect(all(has_gate(p) for p in [c.get_pod("waits"), *c.pods("gang")]), "each has our gate")
        c.expect(c.get_pod("waits")["metadata"]["labels"]["subak.gpu/managed"] == "true", "and the label")
        c.pod("light", gpus=0, run_seconds=1)
        c.succeeded("light")
        c.refused(lambda: c.ana.create(o.pod("pinned", c.ns, c.spec(1, nodeName=c.node_names[0]))), "nodeName")
        privileged = c.spec(0)
        privileged["containers"][0]["securityContext"] = {"privileged": True}
        c.refused(lambda: c.ana.create(o.pod("sees", c.ns, privileged)), "privileged")
        c.service.start()
        c.succeeded("waits")
        c.completed("gang")
        c.pod("after", gpus=1, run_seconds=1)
        c.expect(c.get_pod("after")["metadata"]["labels"].get("subak.gpu/account") == c.account, "the webhook adds who pays")
        c.succeeded("after")
    finally:
        if not c.service.process.alive():
            c.service.start()
        for kind in ("mutatingadmissionpolicybindings", "mutatingadmissionpolicies"):
            c.admin.call("DELETE", f"{ROOT}{kind}/subak-gate")
        register(c)


@case(alone=True)
def our_own_credential_may_not_do_more(c):
    """What holds for who has Subak's credential: images and labels stay as they are."""
    c.nodes(1, gpus=4)
    c.pod("waits", gpus=8)
    c.queued("waits")
    us = c.world.plane.api("subak")
    image = {"spec": {"containers": [{"name": "main", "image": "example.com/evil"}]}}
    name = c.get_pod("waits")["spec"]["containers"][0]["name"]
    image["spec"]["containers"][0]["name"] = name
    strategic = "application/strategic-merge-patch+json"
    c.refused(lambda: us.patch("Pod", c.ns, "waits", image, content_type=strategic), "images")
    c.refused(lambda: us.patch("Pod", c.ns, "waits", {"metadata": {"labels": {"a": "b"}}}), "labels")
    c.refused(lambda: us.patch("Pod", c.ns, "waits", {"metadata": {"labels": {"subak.gpu/leader": "true"}}}), "labels")
    us.patch("Pod", c.ns, "waits", {"metadata": {"annotations": {"subak.gpu/status": "fine"}}})


@case(alone=True)
def preflight_of_a_real_cluster(c):
    c.nodes(1)
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "few", "namespace": c.ns},
             "spec": {"hard": {"requests.nvidia.com/gpu": "8"}}}  # fmt: skip
    c.admin.call("POST", f"/api/v1/namespaces/{c.ns}/resourcequotas", quota)
    code, out, error = with_kubeconfig(c, "preflight")
    c.expect(code == 0, f"no blocker, got {code}: {out}{error}")
    c.expect(f"{c.ns}/few (requests.nvidia.com/gpu: 8)" in out, f"the quota is named: {out}")
    code, out, error = with_kubeconfig(c, "preflight", "--as", "nobody")
    c.expect("no rights here yet" in out, f"a user without rights is named, got {code}: {out}{error}")
    code, out, error = with_kubeconfig(c, "preflight", "--as", "e2e-admin")
    c.expect(code == 0 and "rights" not in out, f"by its groups it may do all, got {code}: {out}{error}")


@case(alone=True, seconds=240)
def left_with_the_service_alive(c):
    leave(c, dead=False)


@case(alone=True, seconds=240)
def left_with_the_service_dead(c):
    leave(c, dead=True)


def leave(c, dead):
    """Nothing is left that waits for us, jobs run, and new pods go as if we had never been there; then we come back."""
    c.nodes(1)
    c.pod("runs", gpus=8, run_seconds=8)
    c.runs("runs")
    for i in range(3):
        c.pod(f"waits-{i}", gpus=4, run_seconds=1)
    c.job("gang", 2, 2, run_seconds=1)
    c.until(lambda: len([p for p in c.pods() if has_gate(p)]) == 5, "five gated pods")
    if not dead:
        with parking(c):
            c.job("parked", 1, 1, run_seconds=1)
            c.expect(is_suspended(c, "Job", "parked"), "a Job that waits suspended")
    if dead:
        c.service.stop()
    try:
        c.judges_itself = True  # what is opened by hand is nobody's
        code, out, error = with_kubeconfig(c, "uninstall")
        c.expect(code == 0, f"it leaves, got {code}: {out}{error}")
        c.expect(not guards_of(c.admin), f"nothing intercepts, got {guards_of(c.admin)}")
        c.expect(not any(has_gate(p) for p in c.pods()), "no gate of ours is left")
        c.pod("free", gpus=1, run_seconds=1)
        c.expect(not has_gate(c.get_pod("free")), "a new pod has no gate")
        c.completed("gang")
        if not dead:
            c.completed("parked")
        for name in ("waits-0", "waits-1", "waits-2", "free", "runs"):
            c.pod_is(name, lambda p: phase(p) == "Succeeded", f"{name} runs to its end")
    finally:
        come_back(c, dead)


def come_back(c, dead):
    c.service.register(c.world.plane, "--only", "access")
    if dead:
        c.service.start()
    register(c)
    c.admin.patch("Namespace", "", c.ns, {"metadata": {"labels": {"subak.gpu/managed": "true"}}})
    c.service.subak("cluster", "mode", "e2e", "enforce", "--reason", "a case")
    created = c.pod("again", gpus=1, run_seconds=1)
    c.expect(has_gate(created), "it queues again")
    c.succeeded("again")
