"""MIG Manager in each of its states, and pods of slices: nothing new starts on a node that it changes, and what runs
there is charged (docs/design/0054, 0090, 0095)."""

import re

from case import GPU, case, has_gate, node_of
from cases_jobs import gang
from cases_nodes import power
from mig_manager import MigManager, sliced

ROUTED = "NVIDIA-H100-80GB-HBM3-MIG-1g.10gb"


def waits_for(c, name, *words):
    """The pod waits, and says for what."""
    c.queued(name)
    job = c.job_named(name)["id"]
    for text in words:
        c.until(lambda text=text: text in c.why(job), f"'{text}' in why {job}")
    c.stays(lambda: has_gate(c.get_pod(name)), f"{name} waits", 2)


@case(seconds=200)
def mig_pending(c):
    """What runs keeps its slices and is charged. What waits starts when the new slices are there."""
    manager = MigManager(c, 1, "1g.10gb")
    c.pod("runs", spec=sliced(c, count=2), run_seconds=10)
    c.runs("runs")
    manager.ask("2g.20gb")
    manager.closed("mig.config is all-2g.20gb but the node offers slices 1g.10gb=7")
    c.pod("waits", spec=sliced(c, "2g.20gb", 2), run_seconds=2)
    manager.state("pending")
    manager.plugin("off")
    manager.closed("mig.config.state is pending")
    waits_for(c, "waits")
    c.expect(c.job_named("runs")["state"] == "JOB_STATE_RUNNING", "the first pod runs on")
    c.succeeded("runs")
    manager.cut("2g.20gb")
    manager.state("success")
    c.succeeded("waits")


@case(seconds=200)
def mig_rebooting(c):
    """The machine is away so long that the control plane gives it up."""
    manager = MigManager(c, 1)
    manager.ask("3g.40gb")
    manager.state("rebooting")
    manager.closed("mig.config.state is rebooting")
    power(c, manager.node, on=False)
    c.pod("waits", spec=sliced(c, "3g.40gb"), run_seconds=2)
    c.until(lambda: not c.is_ready(manager.node), "node that is not ready", 90)
    manager.cut("3g.40gb")
    power(c, manager.node, on=True)
    c.until(lambda: c.is_ready(manager.node), "node that is ready again")
    waits_for(c, "waits", "mig.config.state is rebooting")
    manager.state("success")
    c.succeeded("waits")


@case(seconds=200)
def mig_failed(c):
    """Some slices are there, but they may go at the next try."""
    manager = MigManager(c, 1)
    manager.ask("1g.10gb")
    manager.state("failed")
    manager.cut("1g.10gb")
    manager.closed("mig.config.state is failed")
    c.pod("waits", spec=sliced(c), run_seconds=2)
    waits_for(c, "waits", "mig.config.state is failed")
    manager.plugin("off")
    manager.state("pending")
    waits_for(c, "waits", "mig.config.state is pending")
    manager.plugin(None)
    manager.state("success")
    c.succeeded("waits")


@case(seconds=200)
def mig_success_that_disagrees(c):
    """The label says success of slices that nobody offers yet. A whole-GPU pod does not slip in."""
    manager = MigManager(c, 2)
    manager.ask("1g.10gb")
    manager.closed("mig.config is all-1g.10gb but the node offers")
    c.pod("whole", gpus=1, run_seconds=1)
    c.pod("slice", spec=sliced(c), run_seconds=2)
    waits_for(c, "whole", "mig.config is all-1g.10gb but the node offers")
    manager.cut("1g.10gb")
    c.succeeded("slice")
    c.expect(has_gate(c.get_pod("whole")), "the pod of a whole GPU still waits")
    manager.apply(None)
    c.succeeded("whole")


@case(seconds=200)
def mig_state_that_nobody_knows(c):
    """A newer MIG Manager may have more states: only success opens the node."""
    manager = MigManager(c, 1, "1g.10gb")
    manager.state("draining")
    manager.closed("mig.config.state is draining")
    c.pod("waits", spec=sliced(c), run_seconds=1)
    waits_for(c, "waits", "mig.config.state is draining")
    manager.state("success")
    c.succeeded("waits")


@case(seconds=200)
def mig_plugin_away_for_long(c):
    """The kubelet has forgotten the slices. Labels of feature discovery name them, so the books keep the pod's part."""
    manager = MigManager(c, 1, "1g.10gb", **{"nvidia.com/mig-1g.10gb.count": "7"})
    c.pod("runs", spec=sliced(c, count=3), run_seconds=14)
    c.runs("runs")
    manager.state("pending")
    for how in ("off", "gone"):
        manager.plugin(how)
        c.stays(lambda: c.job_named("runs")["state"] == "JOB_STATE_RUNNING", "the pod runs on", 2)
    mig = {row["profile"]: int(row["count"]) for row in manager.row().get("mig", [])}
    c.expect(mig == {"1g.10gb": 7}, f"the books keep the slices, got {mig}")
    c.succeeded("runs")
    manager.plugin(None)
    manager.state("success")
    c.pod("next", spec=sliced(c, count=7), run_seconds=1)
    c.succeeded("next")


@case()
def mig_slices_are_charged_as_their_part(c):
    """Of one card: three profiles one after the other, judged by the kubelets' log."""
    for profile, count in (("1g.10gb", 2), ("2g.20gb", 1), ("3g.40gb", 2)):
        manager = MigManager(c, 1, profile)
        name = "of-" + profile.replace(".", "-")
        c.pod(name, spec=sliced(c, profile, count), run_seconds=4)
        c.expect(node_of(c.succeeded(name)) == manager.node, "it ran on the node of its profile")


@case()
def mig_slices_of_one_node(c):
    """Two nodes have 14 slices together, and a pod must have all of its slices on one."""
    for _ in range(2):
        MigManager(c, 1, "1g.10gb")
    c.pod("wide", spec=sliced(c, count=64))
    told = " ".join(c.ana.warnings)
    most = re.search(r"asks for 64 MIG slices 1g.10gb on one node, the largest has (\d+), and the GPUs of no node", told)
    c.expect(most and 7 <= int(most.group(1)) <= 56, f"a warning with the most of a node, got {told}")
    c.queued("wide")
    why = c.why(c.job_named("wide")["id"])
    c.expect("ExceedsFleet mig-1g.10gb" in why and "64" in why and "7" in why, f"why names both numbers: {why[:400]}")
    c.pod("most", spec=sliced(c, count=7), run_seconds=1)
    c.succeeded("most")


@case(seconds=200)
def mig_route_to_slices(c):
    """A notebook that asks for a whole GPU gets a slice, as the configuration says; a gang stays on whole GPUs."""
    labels = {"nvidia.com/gpu.product": ROUTED, "nvidia.com/mig.capable": "true", "nvidia.com/mig.strategy": "single",
              "nvidia.com/gpu.count": "7", "nvidia.com/gpu.slices.ci": "1", "nvidia.com/gpu.slices.gi": "1"}  # fmt: skip
    (slices,) = c.nodes(1, gpus=7, labels=labels)
    whole = c.nodes(2)
    c.parts[(slices, GPU)] = 1 / 8
    made = c.pod("notebook", run_seconds=8)
    c.expect(made["spec"]["nodeSelector"].get("nvidia.com/gpu.product") == ROUTED, "the route's product")
    gang(c, "train", 2, 8, run_seconds=2)
    c.expect(node_of(c.runs("notebook")) == slices, "the notebook is on the slices")
    c.completed("train")
    c.expect({row["node"] for row in c.log() if row["name"].startswith("train")} == set(whole), "the gang is not")
    c.succeeded("notebook")


@case(alone=True)
def mig_advice(c):
    """`cluster mig` counts the slices, and names the configuration that would serve what waits."""
    MigManager(c, 1, "1g.10gb")
    idle = MigManager(c, 2)
    c.pod("runs", spec=sliced(c, count=3), run_seconds=20)
    c.runs("runs")
    for i in range(4):
        c.pod(f"waits-{i}", spec=sliced(c, "3g.40gb"), run_seconds=1)
        c.queued(f"waits-{i}")
    text = " ".join(c.service.subak("cluster", "mig").split())
    c.expect("1g.10gb 7 3 4 0" in text, f"slices, used, free and waiting: {text}")
    advice = f"advice: nvidia.com/mig.config=all-3g.40gb on {idle.node} would serve more of the waiting jobs: 4 of 3g.40gb"
    c.expect(advice in text, f"'{advice}' in {text}")
    idle.apply("3g.40gb")
    for i in range(4):
        c.succeeded(f"waits-{i}")
    c.succeeded("runs")
