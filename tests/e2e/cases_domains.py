"""ComputeDomains: made when a gang starts, taken down when it ends. All of them alone, as the first needs a cluster
in which no node offers a channel."""

import time

import compute_domains as cd
import objects as o
from case import case, ended, has_gate, node_of, phase
from cases_faults import kill_and_start
from cases_operators import set_completed
from cases_jobs import gang, rows_of, wait_job

KEY = {"subak.gpu/compute-domain": "true"}
LABEL = "subak.gpu/attempt"
GB200 = "NVIDIA-GB200"
REFUSED_S = 90  # a minute of refusals, and what comes before


def rack(c, nodes=4, cliques=1, offer=True):
    """So many nodes of 4 GPUs in each clique, whose driver offers a channel; their names."""
    c.world.driver.install()
    names = []
    for i in range(cliques):
        labels = {"nvidia.com/gpu.clique": f"{cd.CLIQUE}.{i}", "nvidia.com/gpu.product": GB200}
        names += c.nodes(nodes, gpus=4, labels=labels)
    if offer:
        c.world.driver.offer(*names)
        c.until(lambda: all(channels(c, name) for name in names), "channels of all nodes", 90)
    return names


def channels(c, node):
    rows = c.service.json("cluster", "nodes")["nodes"]
    spec = next((n["spec"] for n in rows if n["spec"]["name"] == node), {})
    return any(r["name"] == "compute-domain.nvidia.com/channel" for r in spec.get("extended", []))


def keyed(c, name, **keys):
    """A pod of its own with the key, and with more keys: subak.gpu/KEY."""
    more = {f"subak.gpu/{key.replace('_', '-')}": value for key, value in keys.items()}
    return c.ana.create(o.pod(name, c.ns, c.spec(4), None, KEY | more))


def gpus_known(c):
    rows = c.service.json("cluster", "nodes").get("nodes", [])
    return sum(int(n["spec"].get("gpus", 0)) for n in rows if n["spec"]["name"] in c.node_names)


def domains(c):
    return c.admin.list("ComputeDomain", c.ns)


def none_left(c):
    c.until(lambda: not domains(c), "end of all ComputeDomains")
    c.until(lambda: not c.admin.list("ResourceClaimTemplate", c.ns), "end of all templates")


def made(c):
    """How many ComputeDomains there ever were."""
    return len(c.world.driver.made.get(c.ns, ()))


def events(c, reason):
    return [e for e in c.admin.list("Event", c.ns) if e["reason"] == reason]


def one_node_each(c, prefix):
    nodes = [row["node"] for row in rows_of(c, prefix)]
    c.expect(len(set(nodes)) == len(nodes), f"each pod on a node of its own: {nodes}")


@case(alone=True)
def domain_without_the_driver(c):
    """The pod is refused, with the reason, and so is a Job of such pods."""
    labels = {"nvidia.com/gpu.clique": f"{cd.CLIQUE}.0", "nvidia.com/gpu.product": GB200}
    c.nodes(2, gpus=4, labels=labels)
    words = ("subak.gpu/compute-domain", "compute-domain.nvidia.com/channel", "NVIDIA's DRA driver")
    c.until(lambda: gpus_known(c) == 8, "GPUs of both nodes in Subak")
    c.refused(lambda: keyed(c, "lone"), *words)
    c.refused(lambda: gang(c, "train", 2, 4, keys=KEY), *words)


@case(alone=True, seconds=240)
def domain_lives_with_its_gang(c):
    rack(c)
    gang(c, "train", 4, 4, keys=KEY, run_seconds=12)
    job = wait_job(c, "train", "RUNNING", "STARTING")
    found = c.until(lambda: domains(c), "ComputeDomain")[0]
    owner = c.admin.get("Job", c.ns, "train")["metadata"]
    c.expect(found["metadata"]["labels"][LABEL] == f"{job['id']}.1", "the label names job and attempt")
    c.expect(found["metadata"]["ownerReferences"][0]["uid"] == owner["uid"], "the Job owns it")
    c.expect(found["spec"]["numNodes"] == 0, "numNodes is 0")
    pods = c.running_pods(4, "train")
    name = found["spec"]["channel"]["resourceClaimTemplate"]["name"]
    for pod in pods:
        claims = [claim["name"] for claim in pod["spec"]["containers"][0]["resources"]["claims"]]
        c.expect(cd.templates_of(pod) == [name] and claims == ["subak-compute-domain"], "one claim in each pod")
    c.expect(len(c.admin.list("ResourceClaim", c.ns)) == 4, "a claim of each pod")
    text = "4 of 4 joined nodes ready"
    c.until(lambda: text in c.service.subak("job", "get", job["id"]), f"'{text}' in job get")
    c.expect(name in c.why(job["id"]) and text in c.why(job["id"]), "why shows the domain")
    rows = c.service.json("cluster", "domains")["domains"]
    c.expect([r["kind"] for r in rows if r.get("computeDomains")].count("clique") == 1, "cluster domains shows it")
    c.completed("train")
    none_left(c)
    c.expect(made(c) == 1, "made once")
    one_node_each(c, "train")


@case(alone=True, seconds=240)
def domain_of_a_job_set(c):
    """Its Jobs are one gang, of which only the JobSet says the size: one ComputeDomain for all."""
    rack(c)
    pods = c.template(4, keys=KEY, run_seconds=5)
    c.ana.create(o.job_set("set", c.ns, [("work", 3, 1, pods)]))
    c.running_pods(3, "set")
    c.expect(len(domains(c)) == 1, "one ComputeDomain")
    set_completed(c, "set")
    none_left(c)
    c.expect(made(c) == 1, "made once")
    one_node_each(c, "set")


@case(alone=True, seconds=240)
def domain_of_a_second_gang_waits(c):
    """One gang with a ComputeDomain in a clique, one ComputeDomain on a node."""
    rack(c)
    gang(c, "first", 2, 4, keys=KEY, run_seconds=10)
    c.running_pods(2, "first")
    gang(c, "second", 2, 4, keys=KEY, run_seconds=2)
    second = wait_job(c, "second", "QUEUED")
    c.expect("compute-domain" in c.why(second["id"]), "why names compute-domain")
    c.stays(lambda: len(domains(c)) == 1, "one ComputeDomain while the first runs", 3)
    c.completed("first")
    c.completed("second")
    none_left(c)
    c.expect(made(c) == 2, "one for each gang")


@case(alone=True, seconds=240)
def domain_in_one_clique(c):
    """Two cliques of two nodes: three pods fit into neither, and wait; with prefer: they start."""
    nodes = rack(c, 2, 2)
    gang(c, "wide", 3, 4, keys=KEY, run_seconds=1)
    wait_job(c, "wide", "QUEUED")
    c.stays(lambda: all(has_gate(p) for p in c.pods("wide")), "no gate opens", 3)
    c.ana.delete("Job", c.ns, "wide")
    gang(c, "some", 3, 4, keys=KEY | {"subak.gpu/topology": "prefer:nvlink"}, run_seconds=1)
    c.completed("some")
    c.refused(lambda: keyed(c, "far", job="far", gang_size="3", topology="rack"), "inside one NVLink domain")
    c.refused(lambda: keyed(c, "many", job="many", gang_size="19"), "at most 18 pods")
    gang(c, "pair", 2, 4, keys=KEY, run_seconds=1)
    c.completed("pair")
    c.expect(len({nodes.index(row["node"]) // 2 for row in rows_of(c, "pair")}) == 1, "the pair is in one clique")
    none_left(c)


@case(alone=True, seconds=240)
def domain_that_a_user_made(c):
    """A pod with a claim of its own stays as it is, and its gang counts in the clique."""
    rack(c)
    c.admin.create(cd.compute_domain("own", c.ns, "own-channel"))
    c.until(lambda: c.admin.get("ResourceClaimTemplate", c.ns, "own-channel"), "the user's template")
    spec = c.spec(4, resourceClaims=[{"name": "channel", "resourceClaimTemplateName": "own-channel"}])
    spec["containers"][0]["resources"]["claims"] = [{"name": "channel"}]
    c.job("owns", 2, indexed=True, spec=spec, run_seconds=8)
    for pod in c.running_pods(2, "owns"):
        c.expect(cd.templates_of(pod) == ["own-channel"], "no claim of ours")
    c.expect(len({p["node"] for p in rows_of(c, "owns")}) == 2, "one pod on each node")
    gang(c, "other", 2, 4, keys=KEY, run_seconds=1)
    other = wait_job(c, "other", "QUEUED")
    c.expect("compute-domain" in c.why(other["id"]), "the gang with the user's domain is in the way")
    c.completed("owns")
    c.completed("other")
    c.until(lambda: len(domains(c)) == 1, "end of Subak's own ComputeDomain")
    c.expect(domains(c)[0]["metadata"]["name"] == "own", "the user's ComputeDomain stays")
    c.refused(lambda: c.world.plane.api("subak").delete("ComputeDomain", c.ns, "own"), "subak.gpu/attempt")
    c.admin.delete("ComputeDomain", c.ns, "own")
    none_left(c)


@case(alone=True, seconds=240)
def domain_whose_template_is_late(c):
    rack(c, 2)
    c.world.driver.withheld.add(c.ns)
    gang(c, "late", 2, 4, keys=KEY, run_seconds=1)
    c.until(lambda: domains(c), "ComputeDomain")
    job = wait_job(c, "late", "STARTING")
    c.stays(lambda: all(has_gate(p) for p in c.pods("late")), "no gate opens without the template", 5)
    c.expect("waiting for its ResourceClaimTemplate" in c.why(job["id"]), "why says what it waits for")
    c.world.driver.release(c.ns)
    began = time.monotonic()
    c.completed("late")
    c.expect(time.monotonic() - began < 30 * c.world.patience, "soon after the template")
    none_left(c)
    c.expect(made(c) == 1, "made once")


@case(alone=True, seconds=400)
def domain_whose_template_never_comes(c):
    """The hold is released, the Event names the object; later attempts have ComputeDomains of their own."""
    rack(c, 2)
    c.world.driver.withheld.add(c.ns)
    gang(c, "never", 2, 4, keys=KEY, run_seconds=1)
    c.until(lambda: events(c, "ReleaseRefused"), "Event ReleaseRefused", REFUSED_S)
    note = events(c, "ReleaseRefused")[0].get("message") or events(c, "ReleaseRefused")[0].get("note", "")
    c.expect("ResourceClaimTemplate" in note and "does not exist" in note, f"the object in '{note}'")
    c.world.driver.release(c.ns)
    c.completed("never", seconds=150)
    none_left(c)


@case(alone=True, seconds=300)
def domain_with_our_name_made_by_hand(c):
    rack(c, 2)
    keys = KEY | {"subak.gpu/job": "hand", "subak.gpu/gang-size": "2"}
    held = c.ana.create(o.pod("dry", c.ns, c.spec(4), None, keys), dry_run=True)
    name = cd.templates_of(held)[0]
    c.admin.create(cd.compute_domain(name, c.ns))
    for i in range(2):
        c.ana.create(o.pod(f"hand-{i}", c.ns, c.spec(4), None, keys | {"run-seconds": 1}))
    c.until(lambda: events(c, "ReleaseRefused"), "Event ReleaseRefused", REFUSED_S)
    note = str(events(c, "ReleaseRefused"))
    c.expect("subak.gpu/attempt" in note and "did not make" in note, f"the field in '{note}'")
    c.expect(all(has_gate(p) for p in c.pods("hand")), "no gate has opened")
    c.admin.delete("ComputeDomain", c.ns, name)
    for i in range(2):
        c.pod_is(f"hand-{i}", lambda p: phase(p) == "Succeeded", "end", 150)
    none_left(c)


@case(alone=True, seconds=240)
def domain_that_vanishes(c):
    """Somebody deletes it while its gates are closed: it is made again. While the gang runs, the gang runs on."""
    rack(c, 2)
    c.world.driver.withheld.add(c.ns)
    gang(c, "lost", 2, 4, keys=KEY, run_seconds=6)
    first = c.until(lambda: domains(c), "ComputeDomain")[0]["metadata"]
    c.admin.delete("ComputeDomain", c.ns, first["name"])
    c.until(lambda: [d for d in domains(c) if d["metadata"]["uid"] != first["uid"]], "another ComputeDomain")
    c.world.driver.release(c.ns)
    c.running_pods(2, "lost")
    c.admin.delete("ComputeDomain", c.ns, first["name"])
    c.completed("lost")
    none_left(c)


@case(alone=True, seconds=240)
def domain_that_is_never_ready(c):
    nodes = rack(c, 2)
    c.world.driver.not_ready.add(nodes[0])
    gang(c, "slow", 2, 4, keys=KEY, run_seconds=8)
    job = wait_job(c, "slow", "RUNNING", "STARTING")
    text = f"1 of 2 joined nodes ready; not ready: {nodes[0]}"
    c.until(lambda: text in " ".join(c.service.subak("job", "get", job["id"]).split()), f"'{text}'")
    c.expect(c.service.metric("subak_compute_domains") == 1, "one ComputeDomain in the metrics")
    c.world.driver.set_ready(nodes[0], True)
    c.until(lambda: "2 of 2 joined nodes ready" in c.service.subak("job", "get", job["id"]), "both ready")
    c.completed("slow")
    none_left(c)


@case(alone=True, seconds=400)
def domain_while_the_service_is_killed(c):
    """A gang after the other; the service dies a little later each time, from the pods' creation to the end."""
    rack(c, 2)
    rounds = 8
    for step in range(rounds):
        name = f"round-{step}"
        gang(c, name, 2, 4, keys=KEY, run_seconds=2)
        time.sleep(0.35 * step)
        kill_and_start(c)
        c.completed(name, seconds=120)
        rows = rows_of(c, name)
        c.expect(len(rows) == 2, f"two pods ran, each once, got {len(rows)}")
        none_left(c)
    c.expect(made(c) == rounds, f"{rounds} ComputeDomains, got {made(c)}")


@case(alone=True, seconds=240)
def domain_of_a_gang_that_ends_while_the_service_is_away(c):
    rack(c, 2)
    gang(c, "away", 2, 4, keys=KEY, run_seconds=4)
    c.running_pods(2, "away")
    c.service.kill()
    c.until(lambda: all(ended(p) for p in c.pods("away")), "end of all pods")
    c.expect(len(domains(c)) == 1, "the ComputeDomain is still there")
    c.service.start()
    none_left(c)
    c.expect(made(c) == 1, "made once")
    c.expect(len({node_of(p) for p in c.pods("away")}) == 2, "one pod on each node")
