"""Who made a job, whatever its template says; and namespaces that move from Kueue's marks to Subak and back."""

import objects as o
from case import case, has_gate
from kube_api import ApiError

EVE = {"subak.gpu/user": "eve"}
STAMP = "subak.gpu/created-by"
QUEUE = "kueue.x-k8s.io/queue-name"
KUEUE = "/apis/kueue.x-k8s.io/v1beta2"


def leaf_of(c, name):
    """The path of the account that pays for the job: with its user, if it has one."""
    job = c.until(lambda: c.job_named(name), f"job {name}")
    spec = job.get("spec", {})
    return "/".join(part for part in (spec.get("account", ""), spec.get("user", "")) if part)


@case()
def template_names_somebody_else(c):
    """A Job, a Deployment and a pod whose templates name eve: their makers are charged."""
    c.nodes(1)
    c.job("train", 1, 1, keys=EVE, run_seconds=6)
    forged = o.job("forged", c.ns, c.template(1, keys=EVE | {STAMP: "eve"}, run_seconds=6), notes={STAMP: "eve"})
    c.world.plane.api("bob").create(forged)
    c.ana.create(o.deployment("serve", c.ns, c.template(1, keys=EVE, spec=c.spec(1, restart="Always")), 1))
    c.expect(leaf_of(c, "train") == f"{c.account}/ana", f"ana pays, not {leaf_of(c, 'train')}")
    c.expect(leaf_of(c, "forged") == f"{c.account}/bob", f"bob pays, not {leaf_of(c, 'forged')}")
    c.expect(leaf_of(c, "serve") == f"{c.account}/ana", f"ana pays, not {leaf_of(c, 'serve')}")
    job = c.admin.get("Job", c.ns, "forged")
    c.expect(job["metadata"]["annotations"][STAMP] == "bob", "the API server wrote who made it")
    cannot_claim(c, "forged", "bob")
    c.completed("train")
    c.completed("forged")


@case(seconds=240)
def cron_job_is_of_its_maker(c):
    """A CronJob's Job is made by a controller; so is its pod."""
    c.nodes(1)
    made = {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": o.meta("tick", c.ns), "spec": {
        "schedule": "* * * * *", "jobTemplate": {"metadata": {"annotations": {STAMP: "eve"}},
                                                "spec": o.job("x", c.ns, c.template(1, keys=EVE, run_seconds=4))["spec"]}}}  # fmt: skip
    path = f"/apis/batch/v1/namespaces/{c.ns}/cronjobs"
    c.ana.call("POST", path, made)
    try:
        pods = c.until(lambda: c.pods("tick"), "pod of the CronJob", 100)
        c.expect(pods[0]["metadata"]["annotations"][STAMP].startswith("system:"), "a controller made the pod")
        c.expect(leaf_of(c, "tick") == f"{c.account}/ana", f"ana pays, not {leaf_of(c, 'tick')}")
    finally:
        c.admin.call("DELETE", f"{path}/tick")


@case(managed="")
def owner_of_before_has_no_maker(c):
    """An owner that was made before the namespace was managed: the team pays, and no user."""
    c.nodes(1)
    c.ana.create(o.job("old", c.ns, c.template(1, keys=EVE, run_seconds=4), suspend=True))
    c.admin.patch("Namespace", "", c.ns, {"metadata": {"labels": {"subak.gpu/managed": "true"}}})
    c.until(lambda: is_watched(c), "a namespace that the policies see")
    cannot_claim(c, "old", None)
    c.admin.patch("Job", c.ns, "old", {"spec": {"suspend": False}})
    c.until(lambda: c.pods("old"), "pod of the Job")
    c.expect(leaf_of(c, "old") == c.account, f"the team pays, not {leaf_of(c, 'old')}")
    c.completed("old")


def cannot_claim(c, name, maker):
    """An edit of the annotation is refused or undone."""
    try:
        c.ana.patch("Job", c.ns, name, {"metadata": {"annotations": {STAMP: "ana"}}})
    except ApiError as error:
        c.expect("created-by" in error.message, f"the refusal names it: {error.message}")
    notes = c.admin.get("Job", c.ns, name)["metadata"].get("annotations") or {}
    c.expect(notes.get(STAMP) == maker, f"made by {maker}, not {notes.get(STAMP)}")


def is_watched(c):
    """The API server has seen the label: it writes who made a Job."""
    probe = o.job("probe", c.ns, c.template(1), suspend=True)
    made = c.ana.create(probe)
    c.admin.delete("Job", c.ns, "probe")
    return STAMP in (made["metadata"].get("annotations") or {})


def migrate(c, *words):
    config = c.world.plane.kubeconfig("admin")
    code, out, error = c.service.command("migrate", "--namespace", c.ns, "--kubeconfig", config, *words)
    c.expect(code == 0, f"migrate {' '.join(words)}: exit {code}: {out}{error}")
    return out + error


@case(managed="")
def namespace_moved_from_kueue_and_back(c):
    """Jobs as Kueue holds them, without Kueue: suspended, with the name of a queue."""
    c.nodes(1)
    kueue_kinds(c)
    queue = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "LocalQueue", "metadata": o.meta("main", c.ns),
             "spec": {"clusterQueue": "all"}}  # fmt: skip
    queues = f"{KUEUE}/namespaces/{c.ns}/localqueues"
    c.until(lambda: is_served(c, queues), "the kinds of Kueue")
    c.admin.call("POST", queues, queue)
    for name in ("first", "second"):
        c.ana.create(o.job(name, c.ns, c.template(8, run_seconds=6), suspend=True, labels={QUEUE: "main"}))
    c.expect("first waits in queue main: Subak queues it" in migrate(c), "the report")
    c.expect(not c.pods(), "the report changes nothing")
    migrate(c, "--apply")
    c.expect(c.admin.call("GET", f"{queues}/main")["spec"]["stopPolicy"] == "Hold", "a held queue")
    runs = c.until(lambda: c.pods("first") + c.pods("second"), "pods behind the gate")
    c.expect(all("subak.gpu/created-by" in p["metadata"]["annotations"] for p in runs), "Subak's namespace")
    c.running_pods(1)
    waits = c.until(lambda: [p for p in c.pods() if has_gate(p)], "a pod that waits in Subak")[0]
    name = waits["metadata"]["ownerReferences"][0]["name"]
    migrate(c, "--back", "--apply")
    job = c.admin.get("Job", c.ns, name)
    c.expect(job["spec"]["suspend"] and job["metadata"]["labels"][QUEUE] == "main", f"with Kueue again: {job['metadata']}")
    c.expect(c.admin.call("GET", f"{queues}/main")["spec"]["stopPolicy"] == "None", "an open queue")
    c.expect("subak.gpu/managed" not in c.admin.get("Namespace", "", c.ns)["metadata"]["labels"], "no label")
    c.completed("second" if name == "first" else "first")


def is_served(c, path):
    try:
        return c.admin.call("GET", path)
    except ApiError:
        return None


def kueue_kinds(c):
    """The kinds of Kueue that the command reads, without a schema."""
    for kind, plural, scope in (("LocalQueue", "localqueues", "Namespaced"), ("Workload", "workloads", "Namespaced"),
                                ("ClusterQueue", "clusterqueues", "Cluster")):  # fmt: skip
        version = {"name": "v1beta2", "served": True, "storage": True, "schema": {
            "openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}}  # fmt: skip
        body = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
                "metadata": {"name": f"{plural}.kueue.x-k8s.io",
                             "annotations": {"api-approved.kubernetes.io": "unapproved, for tests"}},
                "spec": {"group": "kueue.x-k8s.io", "scope": scope, "versions": [version],
                         "names": {"kind": kind, "plural": plural, "singular": kind.lower(), "listKind": kind + "List"}}}  # fmt: skip
        c.admin.call("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", body)
