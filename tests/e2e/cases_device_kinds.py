"""Claims of every form: classes that stand for resources, cards that the driver cuts, alternatives, single devices, gangs
(docs/design/0098)."""

from case import GPU, case, has_gate, node_of
from cases_devices import (API, DRIVER, OF_TYPE, charged, claiming, device, gpus_of, make_claim, make_class,
                           make_template, offer, slice_of)  # fmt: skip
from cases_jobs import rows_of, together

OF_CLASS = "deviceclass.resource.kubernetes.io/"
SPECIAL = "resource.kubernetes.io/extended-resource-claim"
COUNTERS = 8  # of a card: its slices of memory


def special_claims(c):
    return [claim for claim in c.admin.list("ResourceClaim", c.ns) if claim["metadata"].get("annotations", {}).get(SPECIAL)]


@case(seconds=240, alone=True)
def claim_made_for_a_resource(c):
    """A class stands for nvidia.com/gpu: the pod names no claim, the scheduler makes a special one, and it counts once."""
    name = f"extended.{c.ns}"
    c.admin.create({"apiVersion": API, "kind": "DeviceClass", "metadata": {"name": name},
                    "spec": {"selectors": [{"cel": {"expression": OF_TYPE.format("gpu")}}],
                             "extendedResourceName": GPU}})  # fmt: skip
    try:
        (node,) = offer(c, gpus=4)
        c.judges_itself = True
        c.pod("first", gpus=3, run_seconds=8)
        c.runs("first")
        c.expect(len(special_claims(c)) == 1, "one special claim")
        make_template(c, "two", 2)
        c.pod("plain", gpus=2, run_seconds=1)
        claiming(c, "claims", "two", run_seconds=1)
        for each in ("plain", "claims"):
            c.queued(each)
        c.stays(lambda: all(has_gate(c.get_pod(each)) for each in ("plain", "claims")), "one GPU is free", 3)
        for each in ("first", "plain", "claims"):
            c.expect(node_of(c.succeeded(each)) == node, "the node of the driver")
        charged(c, {"first": 3, "plain": 2, "claims": 2})
    finally:
        c.admin.delete("DeviceClass", "", name)


@case(seconds=180)
def claim_by_the_name_of_its_class(c):
    """A class is a resource too, without a claim in the pod."""
    offer(c, gpus=2)
    c.judges_itself = True
    spec = c.spec(0)
    spec["containers"][0]["resources"]["limits"][OF_CLASS + DRIVER] = "2"
    for name in ("a", "b"):
        c.pod(name, spec=spec, run_seconds=5)
    c.runs("a")
    c.expect(len(special_claims(c)) == 1, "one special claim")
    c.queued("b")
    for name in ("a", "b"):
        c.succeeded(name)
    charged(c, {"a": 2, "b": 2})


def ours(c, name, profile=None):
    """A device that a class of this case selects."""
    out = device(name, profile=profile)
    out["attributes"]["pool"] = {"string": c.ns}
    return out


def counted(c, name, profile=None, first=0, size=COUNTERS):
    """A device that takes `size` counters of its card, from `first` on."""
    out = ours(c, name, profile)
    taken = {f"memory-slice-{i}": {"value": "1"} for i in range(first, first + size)}
    out["consumesCounters"] = [{"counterSet": "gpu-0", "counters": taken}]
    return out


def partitionable(c):
    """A node whose driver cuts its card on demand: the counters in one slice, the card and its parts in another."""
    (node,) = c.nodes(1, gpus=0)
    sums = {f"memory-slice-{i}": {"value": "1"} for i in range(COUNTERS)}
    shared = slice_of(node, [], number=0, slices=2)
    del shared["spec"]["devices"]
    shared["spec"]["sharedCounters"] = [{"name": "gpu-0", "counters": sums}]
    c.admin.create(shared)
    parts = [counted(c, f"gpu-0-mig-1g10gb-{i}", "1g.10gb", i, 1) for i in range(7)]
    parts += [counted(c, f"gpu-0-mig-3g40gb-{i}", "3g.40gb", 4 * i, 4) for i in range(2)]
    c.admin.create(slice_of(node, [counted(c, "gpu-0"), *parts], number=1, slices=2))
    return node


@case(seconds=240)
def claim_of_a_partitioned_card(c):
    """The card counts once, whole. Its parts exist only by a claim, which Subak does not place: such a pod says so, and
    starts when the driver offers the slices as they are."""
    make_class(c, DRIVER, OF_TYPE.format("gpu"))
    make_class(c, f"mig.{c.ns}", OF_TYPE.format("mig") + f" && device.attributes['{DRIVER}'].pool == '{c.ns}'")
    node = partitionable(c)
    c.until(lambda: gpus_of(c, node) == 1, "node of one GPU")
    make_template(c, "whole", 1)
    claiming(c, "card", "whole", run_seconds=3)
    c.runs("card")
    make_template(c, "part", 1, of=f"mig.{c.ns}")
    claiming(c, "part", "part", run_seconds=2)
    words = "MIG slices that the driver cuts on demand, which Subak does not place yet"
    c.until(lambda: words in str(c.get_pod("part")), "pod that says why it waits")
    c.expect("UnknownDeviceClass" in str(c.get_pod("part")), "the reason has its name")
    c.succeeded("card")
    c.stays(lambda: has_gate(c.get_pod("part")), "it waits although the card is free", 2)
    charged(c, {"card": 1})
    c.admin.create(slice_of(node, [ours(c, f"gpu-0-mig-{i}", "1g.10gb") for i in range(7)], generation=2))
    for number in range(2):
        c.admin.delete("ResourceSlice", "", f"{node}-{DRIVER}-1-{number}")
    c.succeeded("part")


@case(seconds=240)
def claim_with_alternatives(c):
    """The cluster has none of the first kind: the second one counts, with its own number."""
    offer(c, gpus=2)
    missing = f"device.attributes['{DRIVER}'].productName == 'NVIDIA X900'"
    choices = [{"name": "best", "deviceClassName": DRIVER, "count": 1, "selectors": [{"cel": {"expression": missing}}]},
               {"name": "good", "deviceClassName": DRIVER, "count": 2}]  # fmt: skip
    c.admin.create({"apiVersion": API, "kind": "ResourceClaimTemplate", "metadata": {"name": "either", "namespace": c.ns},
                    "spec": {"spec": {"devices": {"requests": [{"name": "gpus", "firstAvailable": choices}]}}}})  # fmt: skip
    for name in ("a", "b"):
        claiming(c, name, "either", run_seconds=5)
    c.runs("a")
    c.queued("b")
    c.stays(lambda: has_gate(c.get_pod("b")), "both GPUs are taken", 2)
    for name in ("a", "b"):
        c.succeeded(name)
    charged(c, {"a": 2, "b": 2})


@case(seconds=180)
def claim_of_a_single_device(c):
    """By its uuid: the pod waits for this GPU, although others are free."""
    names = []
    for i in range(2):
        devices = [device(f"gpu-{j}") for j in range(2)]
        for j, each in enumerate(devices):
            each["attributes"]["uuid"] = {"string": f"GPU-{c.ns}-{i}-{j}"}
        names += offer(c, devices=devices)
    wanted = f"device.attributes['{DRIVER}'].uuid == 'GPU-{c.ns}-1-1'"
    make_template(c, "mine", 1, selector=wanted)
    claiming(c, "a", "mine", run_seconds=3)
    c.expect(node_of(c.runs("a")) == names[1], "the node of this GPU")
    (claim,) = c.admin.list("ResourceClaim", c.ns)
    results = claim["status"]["allocation"]["devices"]["results"]
    c.expect([row["device"] for row in results] == ["gpu-1"], f"this GPU, got {results}")
    c.succeeded("a")
    charged(c, {"a": 1})


@case(seconds=240)
def claim_that_vanishes(c):
    """The pod waits without it, says so, and starts when it is there again."""
    offer(c, gpus=2)
    make_claim(c, "holds", 2)
    claiming(c, "first", claim="holds", run_seconds=12)
    c.runs("first")
    make_claim(c, "later", 2)
    claiming(c, "second", claim="later", run_seconds=1)
    c.queued("second")
    c.admin.delete("ResourceClaim", c.ns, "later")
    c.until(lambda: "later" in c.get_pod("second")["metadata"]["annotations"].get("subak.gpu/status", ""),
            "status that names the claim")  # fmt: skip
    c.succeeded("first")
    c.stays(lambda: has_gate(c.get_pod("second")), "it waits", 3)
    make_claim(c, "later", 2)
    c.succeeded("second")
    charged(c, {"first": 2, "second": 2})


@case(seconds=240)
def claims_of_a_gang(c):
    """Each pod has a claim of its own, and they start together."""
    offer(c, count=2, gpus=4)
    make_template(c, "four", 4)
    claiming(c, "holder", "four", run_seconds=6)
    c.runs("holder")
    spec = c.spec(0, resourceClaims=[{"name": "devices", "resourceClaimTemplateName": "four"}])
    spec["containers"][0]["resources"]["claims"] = [{"name": "devices"}]
    c.job("train", 2, indexed=True, spec=spec, run_seconds=4)
    c.until(lambda: len(c.pods("train")) == 2, "two pods")
    c.stays(lambda: all(has_gate(p) for p in c.pods("train")), "none starts while a node is taken", 2)
    c.completed("train")
    together(c, rows_of(c, "train"))
    charged(c, {row["name"]: 4 for row in c.log()})
