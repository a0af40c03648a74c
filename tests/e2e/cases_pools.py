"""Node pools: a played autoscaler adds the nodes that Subak wants."""

import re

from case import case


def pool(c):
    return next(p for p in c.service.json("cluster", "pools")["pools"] if p["name"] == "elastic")


def grow(c):
    """What an autoscaler does: it adds the wanted nodes to the pool."""
    wanted = int(pool(c).get("wanted", 0))
    if wanted:
        c.nodes(wanted)
    return wanted


@case(seconds=180)
def node_pool_grows(c):
    """Jobs wait for nodes of a pool; when these come, they start. The pool never gets more than its maximum."""
    c.job("train", 2, 8, indexed=True, keys={"subak.gpu/gang-size": "2"}, run_seconds=4)
    c.job("large", 3, 8, indexed=True, keys={"subak.gpu/gang-size": "3"}, run_seconds=1)
    train = c.until(lambda: c.job_named("train"), "the job in Subak")["id"]
    c.until(lambda: "WaitingForNodes" in c.why(train), "the reason WaitingForNodes")
    why = c.why(train)
    c.expect("pool elastic has 2 more nodes" in why, f"the pool and its nodes in {why}")
    c.expect("it starts on new nodes of a pool, and when these come is not known" in why, f"no estimate in {why}")
    large = c.until(lambda: c.job_named("large"), "the large job in Subak")["id"]
    c.until(lambda: "NoMatchingFlavor" in c.why(large), "a job that is too large for the pool")
    c.expect("WaitingForNodes" not in c.why(large), "the large job waits for no nodes")

    def metric(state):
        row = re.search(r'^subak_pool_nodes{cluster="[^"]+",pool="elastic",state="%s"} (\S+)$' % state,
                        c.service.metrics(), re.M)  # fmt: skip
        return row and float(row.group(1))

    c.until(lambda: metric("wanted") == 2, "two wanted nodes in the metrics")
    c.expect(pool(c)["jobs"] == [train], "the job that wants the nodes")
    c.until(lambda: grow(c) == 2, "two nodes more")
    c.running_pods(2, "train")
    c.completed("train")
    c.until(lambda: metric("present") == 2 and metric("wanted") == 0, "a pool that wants nothing more", 90)
    c.service.subak("job", "cancel", large, "--reason", "a case")
