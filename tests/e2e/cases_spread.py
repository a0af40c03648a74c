"""Topology spread and pod affinity: Subak chooses nodes that kube-scheduler accepts at once."""

from collections import Counter

import objects as o
from case import case, has_gate, node_of
from cases_volumes import refusals

ZONE = "topology.kubernetes.io/zone"
HOST = "kubernetes.io/hostname"


def zones(c, *counts):
    """Nodes of 8 GPUs in zones of this case, so many in each; {node: zone}."""
    found = {}
    for i, count in enumerate(counts):
        for node in c.nodes(count, labels={ZONE: f"{c.ns}-{i}"}):
            found[node] = i
    return found


def selector(app):
    return {"matchLabels": {"app": app}}


def spread(key, app="train", **more):
    return {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": selector(app)} | more  # fmt: skip


def near(key, app):
    term = {"topologyKey": key, "labelSelector": selector(app)}
    return {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def train(c, name, pods, spec, app="train", run_seconds=3, **more):
    c.job(name, pods, 1, indexed=True, labels={"app": app, "version": "1"}, spec=spec, keys={"subak.gpu/gang-size": str(pods)},
          run_seconds=run_seconds, **more)  # fmt: skip


def accepted(c, pods):
    for pod in pods:
        c.expect(not refusals(c, pod["metadata"]["name"]), "kube-scheduler refuses nothing")


@case()
def gang_spread_over_nodes(c):
    """Six pods that would fit on one node, on three nodes: two on each."""
    c.nodes(3)
    train(c, "train", 6, c.spec(1, topologySpreadConstraints=[spread(HOST)]))
    pods = c.running_pods(6, "train")
    c.expect(sorted(Counter(node_of(p) for p in pods).values()) == [2, 2, 2], "two on each node")
    accepted(c, pods)


@case()
def gang_spread_over_zones_and_nodes(c):
    zone = zones(c, 3, 1)
    rules = [spread(ZONE, matchLabelKeys=["version"]), spread(HOST, maxSkew=2)]
    train(c, "train", 4, c.spec(2, topologySpreadConstraints=rules))
    pods = c.running_pods(4, "train")
    c.expect(sorted(Counter(zone[node_of(p)] for p in pods).values()) == [2, 2], "two in each zone")
    accepted(c, pods)


@case()
def gang_spread_over_all_nodes_of_a_label(c):
    """The scheduler counts all nodes with the label. It takes each pod once enough others are bound."""
    row = f"{c.ns}/row"
    nodes = {name: i for i in range(3) for name in c.nodes(1, labels={row: str(i)})}
    rule = spread(row, nodeAffinityPolicy="Ignore")
    train(c, "train", 9, c.spec(1, topologySpreadConstraints=[rule]))
    pods = c.running_pods(9, "train")
    c.expect(sorted(Counter(nodes[node_of(p)] for p in pods).values()) == [3, 3, 3], "three in each row")


@case()
def gang_that_no_spread_allows_waits(c):
    """Four whole nodes of two zones: three and one would be a skew of 2."""
    zones(c, 3, 1)
    train(c, "train", 4, c.spec(8, topologySpreadConstraints=[spread(ZONE)]))
    job = c.until(lambda: c.job_named("train"), "job of it")["id"]
    c.until(lambda: "topology spread constraint" in c.why(job), "the reason")
    c.stays(lambda: all(has_gate(p) for p in c.pods("train")), "all pods wait", 2)
    c.nodes(1, labels={ZONE: f"{c.ns}-1"})
    accepted(c, c.running_pods(4, "train"))


@case()
def spread_with_more_domains_than_nodes(c):
    """minDomains 3 with two nodes: one pod on each, and the third waits."""
    c.nodes(2)
    spec = c.spec(1, topologySpreadConstraints=[spread(HOST, minDomains=3)])
    for i in range(2):
        c.pod(f"p{i}", spec=spec, labels={"app": "train"}, run_seconds=6)
    pods = c.running_pods(2, "p")
    c.expect(len({node_of(p) for p in pods}) == 2, "one on each node")
    accepted(c, pods)
    c.pod("third", spec=spec, labels={"app": "train"}, run_seconds=1)
    waits = c.queued("third")
    c.until(lambda: "minDomains 3" in c.why(c.job_of_pod(waits)["id"]), "the reason")
    accepted(c, [c.succeeded("third")])


@case()
def single_pods_spread_as_they_come(c):
    """A Deployment whose pods are jobs of their own: each new pod goes to the node with the fewest."""
    c.nodes(3)
    spec = c.spec(1, restart="Always", topologySpreadConstraints=[spread(HOST, "web")])
    c.ana.create(o.deployment("web", c.ns, c.template(1, {"app": "web"}, spec=spec), 2))
    c.running_pods(2, "web")
    c.ana.patch("Deployment", c.ns, "web", {"spec": {"replicas": 6}})
    pods = c.running_pods(6, "web")
    c.expect(sorted(Counter(node_of(p) for p in pods).values()) == [2, 2, 2], "two on each node")
    accepted(c, pods)


@case()
def gang_near_itself(c):
    """One zone has room for the gang, the other for a part of it only."""
    zone = zones(c, 1, 2)
    train(c, "train", 2, c.spec(8, affinity=near(ZONE, "train")))
    pods = c.running_pods(2, "train")
    c.expect({zone[node_of(p)] for p in pods} == {1}, "the zone with two nodes")
    accepted(c, pods)


@case()
def pod_near_another_pod(c):
    """It waits without GPUs until a pod that its affinity selects has a node, and goes to that node."""
    nodes = c.nodes(3)
    c.pod("reader", spec=c.spec(8, affinity=near(HOST, "cache")), run_seconds=1)
    c.pod_is("reader", lambda p: "WaitingForPods" in str(p), "the reason")
    where = o.required(o.term(HOST, nodes[1]))
    c.pod("cache", spec=c.spec(0, affinity=where), labels={"app": "cache"}, run_seconds=30)
    reader = c.succeeded("reader")
    c.expect(node_of(reader) == nodes[1], "the node of the cache")
    accepted(c, [reader])


@case()
def pods_near_earlier_pods_of_their_own_kind(c):
    """Of a Deployment, the first pod goes anywhere, and the later ones to its node."""
    c.nodes(3)
    spec = c.spec(1, restart="Always", affinity=near(HOST, "web"))
    c.ana.create(o.deployment("web", c.ns, c.template(1, {"app": "web"}, spec=spec), 1))
    first = node_of(c.running_pods(1, "web")[0])
    c.ana.patch("Deployment", c.ns, "web", {"spec": {"replicas": 4}})
    pods = c.running_pods(4, "web")
    c.expect({node_of(p) for p in pods} == {first}, "all on the node of the first")
    accepted(c, pods)
