"""Plays NVIDIA's MIG Manager on a node: it cuts the cards as nvidia.com/mig.config asks, and reports its state.

Before it cuts, it takes the device plugin away, so that none of the node's GPUs is allocatable. Source: documentation
of mig-parted and of the GPU Operator ("GPU Operator with MIG").
"""

import json

import objects as o

CONFIG, STATE = "nvidia.com/mig.config", "nvidia.com/mig.config.state"
OF_A_CARD = {"1g.10gb": 7, "2g.20gb": 3, "3g.40gb": 2, "7g.80gb": 1}  # slices of an H100 of 80 GB
PART = {"1g.10gb": 1 / 8, "2g.20gb": 2 / 8, "3g.40gb": 4 / 8, "7g.80gb": 1}  # of its memory


def slice_name(profile):
    return "nvidia.com/mig-" + profile


class MigManager:
    """On one node of so many cards. `profile`: into which the cards are cut; None: into none."""

    def __init__(self, c, cards=1, profile=None, **labels):
        self.c, self.cards, self.profile = c, cards, profile
        named = {"nvidia.com/mig.capable": "true", "nvidia.com/mig.strategy": "mixed", "nvidia.com/gpu.count": str(cards),
                 CONFIG: f"all-{profile or 'disabled'}", STATE: "success"} | labels  # fmt: skip
        self.node = c.nodes(1, gpus=cards, labels=named, resources=self.slices() or None)[0]
        c.parts |= {slice_name(each): part for each, part in PART.items()}
        c.until(lambda: self.row(), f"node {self.node} in Subak")

    def slices(self):
        return {slice_name(self.profile): OF_A_CARD[self.profile] * self.cards} if self.profile else {}

    def patch(self, labels=None, notes=None):
        self.c.admin.patch("Node", "", self.node, {"metadata": {"labels": labels or {}, "annotations": notes or {}}})

    def ask(self, profile):
        """What an operator does: another configuration."""
        self.patch({CONFIG: f"all-{profile or 'disabled'}"})

    def state(self, value):
        self.patch({STATE: value})

    def plugin(self, how):
        """None: the device plugin runs."""
        self.patch(notes={"e2e/plugin": how})

    def cut(self, profile):
        """What the device plugin offers once it runs again."""
        self.profile = profile
        notes = {"e2e/gpus": "0" if profile else str(self.cards), "e2e/resources": json.dumps(self.slices())}
        self.patch(notes=notes | {"e2e/plugin": None})

    def apply(self, profile):
        """A change from its begin to its end, on a node that holds no pod."""
        self.ask(profile)
        self.state("pending")
        self.plugin("off")
        self.closed("mig.config.state is pending")
        self.cut(profile)
        self.state("success")
        self.open()

    def row(self):
        rows = self.c.service.json("cluster", "nodes")["nodes"]
        return next((row["spec"] for row in rows if row["spec"]["name"] == self.node), None)

    def closed(self, words):
        """The node takes nothing new, and says why."""
        return self.c.until(lambda: words in self.row().get("unfit", ""), f"'{words}' as the cause on {self.node}")

    def open(self):
        self.c.until(lambda: not self.row().get("unfit"), f"a fit node {self.node}")


def sliced(c, profile="1g.10gb", count=1, **more):
    """The spec of a pod of so many slices."""
    spec = c.spec(0, **more)
    spec["containers"] = [o.container(count, resource=slice_name(profile))]
    return spec
