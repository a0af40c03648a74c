"""Shared GPUs, by time-slicing and by MPS: a replica is charged as its part of the card, and two replicas are no second
card (docs/design/0095)."""

from case import GPU, case, has_gate, node_of
import objects as o

SHARED = "nvidia.com/gpu.shared"
TWO = 'spec.containers[0].resources.limits[{}]: was "2", want "1": several replicas may be parts of one GPU, and many ' \
      "device plugins refuse more than one"


def shared_node(c, cards=1, replicas=4, strategy="time-slicing", **labels):
    """Its cards are offered as nvidia.com/gpu.shared."""
    named = {"nvidia.com/gpu.replicas": str(replicas), "nvidia.com/gpu.sharing-strategy": strategy,
             "nvidia.com/gpu.count": str(cards)}  # fmt: skip
    (name,) = c.nodes(1, resources={SHARED: cards * replicas}, labels=named | labels)
    c.parts[(name, SHARED)] = 1 / replicas
    return name


def sharing(c, replicas=1):
    """The spec of a pod of so many replicas in one container."""
    spec = c.spec(0)
    spec["containers"] = [o.container(replicas, resource=SHARED)]
    return spec


def told(c, text):
    plain = [w.replace('\\"', '"') for w in c.ana.warnings]
    c.expect(any(text in w for w in plain), f"the warning '{text}', got {plain}")


@case()
def shared_part_is_charged(c):
    """Three of the four replicas of a card, by the kubelets' log; a fourth joins, a fifth waits."""
    shared_node(c)
    for i in range(4):
        c.pod(f"part-{i}", spec=sharing(c), run_seconds=6)
        c.runs(f"part-{i}")
    c.pod("fifth", spec=sharing(c), run_seconds=1)
    c.queued("fifth")
    c.stays(lambda: has_gate(c.get_pod("fifth")), "it waits", 2)
    for name in ("part-0", "part-1", "part-2", "part-3", "fifth"):
        c.succeeded(name)


@case()
def shared_card_of_three(c):
    """A third is 333 thousandths: the thousandth that is left belongs to nobody."""
    name = shared_node(c, replicas=3, strategy="mps")
    c.parts[(name, SHARED)] = 0.333
    for i in range(3):
        c.pod(f"part-{i}", spec=sharing(c), run_seconds=5)
    for i in range(3):
        c.succeeded(f"part-{i}")


@case()
def shared_two_replicas_are_told(c):
    """Time-slicing gives them, and the warning says that they are no second card."""
    shared_node(c)
    c.pod("hopes", spec=sharing(c, 2), run_seconds=3)
    told(c, TWO.format(SHARED))
    c.succeeded("hopes")


@case()
def shared_two_replicas_under_mps(c):
    """No node may give a container two: it waits, and why says that replicas do not add up. One by one they run."""
    shared_node(c, strategy="mps")
    c.pod("hopes", spec=sharing(c, 2), run_seconds=3)
    told(c, TWO.format(SHARED))
    c.queued("hopes")
    why = c.why(c.job_named("hopes")["id"])
    for words in (f"ExceedsFleet {SHARED}", "a container asks for 2 replicas of shared GPUs", "replicas do not add up to cards"):
        c.expect(words in why, f"'{words}' in {why[:500]}")
    c.stays(lambda: has_gate(c.get_pod("hopes")), "it waits", 2)
    spec = sharing(c)
    spec["containers"].append(o.container(1, "second", resource=SHARED))
    c.pod("each-its-own", spec=spec, run_seconds=3)
    c.succeeded("each-its-own")
    c.expect(has_gate(c.get_pod("hopes")), "the other one still waits")


@case()
def shared_product(c):
    """Replicas under the name nvidia.com/gpu: who names the product gets a part, who does not gets no card there."""
    labels = {"nvidia.com/gpu.product": o.PRODUCT + "-SHARED", "nvidia.com/gpu.replicas": "4",
              "nvidia.com/gpu.sharing-strategy": "time-slicing", "nvidia.com/gpu.count": "1"}  # fmt: skip
    (name,) = c.nodes(1, gpus=4, labels=labels)
    c.parts[(name, GPU)] = 1 / 4
    c.pod("whole", gpus=1, run_seconds=1)
    c.queued("whole")
    spec = c.spec(1)
    spec["nodeSelector"]["nvidia.com/gpu.product"] = o.PRODUCT + "-SHARED"
    c.pod("part", spec=spec, run_seconds=3)
    c.succeeded("part")
    c.expect(has_gate(c.get_pod("whole")), "a part of a card is no card")
    (card,) = c.nodes(1, gpus=1)
    c.expect(node_of(c.succeeded("whole")) == card, "the whole card")
