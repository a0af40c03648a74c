"""Devices of Dynamic Resource Allocation: counted, placed and charged once (docs/design/0098).

The API server, the scheduler and the claim controller are real. The driver is played: its slices say what it offers,
and the played kubelet prepares every claim at once.
"""

from case import GATE, Failed, case, condition, has_gate, node_of, phase
from kube_api import ApiError

DRIVER, API = "gpu.nvidia.com", "resource.k8s.io/v1"
H100, A100 = "NVIDIA H100 80GB HBM3", "NVIDIA A100-SXM4-80GB"
OF_TYPE = "device.driver == 'gpu.nvidia.com' && device.attributes['gpu.nvidia.com'].type == '{}'"
SLACK_S = 1.5


def made(client, body):
    """Makes an object without a namespace that other cases may have made."""
    try:
        client.create(body)
    except ApiError as error:
        if error.code != 409:
            raise


def make_class(c, name, selector):
    made(c.admin, {"apiVersion": API, "kind": "DeviceClass", "metadata": {"name": name},
                   "spec": {"selectors": [{"cel": {"expression": selector}}]}})  # fmt: skip


def classes(c):
    make_class(c, "gpu.nvidia.com", OF_TYPE.format("gpu"))
    make_class(c, "mig.nvidia.com", OF_TYPE.format("mig"))


def device(name, product=H100, profile=None, driver=DRIVER):
    attributes = {"uuid": {"string": f"{'MIG' if profile else 'GPU'}-{name}"}}
    if driver == DRIVER:
        attributes |= {"type": {"string": "mig" if profile else "gpu"}, "productName": {"string": product}}
    if profile:
        attributes["profile"] = {"string": profile}
    return {"name": name, "attributes": attributes, "capacity": {"memory": {"value": "80Gi"}}}


def slice_of(node, devices, generation=1, number=0, slices=1, driver=DRIVER):
    spec = {"driver": driver, "nodeName": node, "devices": devices,
            "pool": {"name": node, "generation": generation, "resourceSliceCount": slices}}  # fmt: skip
    name = f"{node}-{driver}-{generation}-{number}"
    return {"apiVersion": API, "kind": "ResourceSlice", "metadata": {"name": name}, "spec": spec}


def offer(c, count=1, gpus=4, devices=None, **more):
    """Nodes whose GPUs only a driver offers; their names."""
    classes(c)
    names = c.nodes(count, gpus=0)
    for name in names:
        c.admin.create(slice_of(name, devices or [device(f"gpu-{i}", **more) for i in range(gpus)]))
    return names


def request(count=1, of="gpu.nvidia.com", selector=None):
    exactly = {"deviceClassName": of, "count": count}
    if selector:
        exactly["selectors"] = [{"cel": {"expression": selector}}]
    return {"devices": {"requests": [{"name": "gpus", "exactly": exactly}]}}


def make_template(c, name, *args, **more):
    c.admin.create({"apiVersion": API, "kind": "ResourceClaimTemplate", "metadata": {"name": name, "namespace": c.ns},
                    "spec": {"spec": request(*args, **more)}})  # fmt: skip


def make_claim(c, name, *args, **more):
    c.admin.create({"apiVersion": API, "kind": "ResourceClaim", "metadata": {"name": name, "namespace": c.ns},
                    "spec": request(*args, **more)})  # fmt: skip


def claiming(c, name, template=None, claim=None, gpus=0, **notes):
    """A pod that claims its devices."""
    spec = c.spec(gpus)
    source = {"resourceClaimTemplateName": template} if template else {"resourceClaimName": claim}
    spec["resourceClaims"] = [{"name": "devices"} | source]
    spec["containers"][0]["resources"]["claims"] = [{"name": "devices"}]
    c.judges_itself = True
    return c.pod(name, spec=spec, **notes)


def held_s(c, counts):
    """GPU-seconds that the kubelet saw for these pods, by how many GPUs each has."""
    total = 0
    for pod in c.log():
        if pod["name"] not in counts or "bound" not in pod:
            continue
        if "finished" not in pod:
            raise Failed(f"pod {pod['name']} has not finished by the kubelet's log")
        begin_s = pod["bound"]["bound_s"] or int(pod["bound"]["at"])
        total += counts[pod["name"]] * (pod["finished"]["finished_s"] - begin_s)
    return total


def charged(c, counts):
    expected, slack = held_s(c, counts), SLACK_S * sum(counts.values())
    try:
        c.until(lambda: abs(c.used_s() - expected) <= slack, "", 10)
    except Failed as error:
        raise Failed(f"used {c.used_s():.2f} GPU-s in the ledger, the kubelet saw {expected}, want within {slack}") from error


def gpus_of(c, node):
    rows = c.service.json("cluster", "nodes")["nodes"]
    return next((int(row["spec"].get("gpus", 0)) for row in rows if row["spec"]["name"] == node), 0)


@case(seconds=180)
def claimed_gpus_are_counted(c):
    offer(c, gpus=4)
    make_template(c, "two", 2)
    for name in ("a", "b"):
        claiming(c, name, "two", run_seconds=8)
        c.runs(name)
    claiming(c, "late", "two", run_seconds=2)
    c.queued("late")
    why = c.why(c.job_named("late")["id"])
    c.expect("WaitingForCapacity" in why or "free" in why, f"why says that no GPU is free: {why[:300]}")
    c.stays(lambda: has_gate(c.get_pod("late")), "it waits", 2)
    for name in ("a", "b", "late"):
        c.succeeded(name)
    charged(c, {"a": 2, "b": 2, "late": 2})


def two_of_one_claim(c, *run_seconds):
    """The pods `first` and `second` run, one after the other, with the claim `shared`."""
    for name, seconds in zip(("first", "second"), run_seconds):
        claiming(c, name, claim="shared", run_seconds=seconds)
        c.runs(name)


def shared_s(c):
    """How long their claim had its devices, by the kubelets' log."""
    log = {pod["name"]: pod for pod in c.log()}
    begin = log["first"]["bound"]["bound_s"] or int(log["first"]["bound"]["at"])
    return log["second"]["finished"]["finished_s"] - begin


@case(seconds=180)
def claim_of_two_pods_is_charged_once(c):
    offer(c, gpus=4)
    make_claim(c, "shared", 3)
    two_of_one_claim(c, 6, 14)
    c.expect(node_of(c.get_pod("first")) == node_of(c.get_pod("second")), "both pods are where the claim is")
    c.succeeded("first")
    c.succeeded("second")
    most = 3 * shared_s(c)
    c.until(lambda: most - 3 * 4 <= c.used_s() <= most + 3 * SLACK_S, f"{most} GPU-s in the ledger, once")


@case(seconds=180)
def unknown_device_class_waits(c):
    offer(c, gpus=2)
    name = f"late.{c.ns}"
    make_template(c, "one", 1, of=name)
    claiming(c, "waits", "one", run_seconds=1)

    def told():
        status = condition(c.get_pod("waits"), "subak.gpu/Queued") or {}
        return "no such DeviceClass" in str(c.get_pod("waits")) or "UnknownDeviceClass" in str(status)

    c.until(told, "pod that says which class is unknown")
    c.expect("UnknownDeviceClass" in str(c.get_pod("waits")), "the reason has its name")
    c.stays(lambda: has_gate(c.get_pod("waits")), "it waits", 2)
    make_class(c, name, OF_TYPE.format("gpu"))
    c.succeeded("waits")
    charged(c, {"waits": 1})
    c.admin.delete("DeviceClass", "", name)


@case(seconds=180)
def plugin_and_driver_side_by_side(c):
    (claimed,) = offer(c, gpus=2)
    (plugin,) = c.nodes(1, gpus=2)
    make_template(c, "two", 2)
    c.pod("plain", gpus=2, run_seconds=3)
    claiming(c, "claims", "two", run_seconds=3)
    c.runs("plain")
    c.runs("claims")
    c.expect(node_of(c.get_pod("plain")) == plugin, "nvidia.com/gpu is where the device plugin offers it")
    c.expect(node_of(c.get_pod("claims")) == claimed, "claimed GPUs are where the driver offers them")
    # Neither goes where the other one could.
    claiming(c, "more", "two", run_seconds=1)
    c.queued("more")
    for name in ("plain", "claims", "more"):
        c.succeeded(name)
    charged(c, {"plain": 2, "claims": 2, "more": 2})


@case(seconds=180)
def pool_of_a_new_generation(c):
    (node,) = offer(c, gpus=2)
    c.until(lambda: gpus_of(c, node) == 2, "node with two GPUs")
    devices = [device(f"gpu-{i}") for i in range(4)]
    c.admin.create(slice_of(node, devices[:2], generation=2, number=0, slices=2))
    c.stays(lambda: gpus_of(c, node) == 2, "half of a generation changes nothing", 2)
    c.admin.create(slice_of(node, devices[2:], generation=2, number=1, slices=2))
    c.admin.delete("ResourceSlice", "", f"{node}-{DRIVER}-1-0")
    c.until(lambda: gpus_of(c, node) == 4, "node with four GPUs")
    make_template(c, "four", 4)
    claiming(c, "all", "four", run_seconds=1)
    c.succeeded("all")
    charged(c, {"all": 4})


@case(seconds=180)
def claim_that_names_a_product(c):
    (other,) = offer(c, gpus=2, product=A100)
    (wanted,) = offer(c, gpus=2, product=H100)
    by_name = f"device.attributes['gpu.nvidia.com'].productName == '{H100}'"
    make_template(c, "h100", 2, selector=by_name)
    claiming(c, "a", "h100", run_seconds=4)
    c.runs("a")
    c.expect(node_of(c.get_pod("a")) == wanted, f"it runs on the H100s, not on {other}")
    claiming(c, "b", "h100", run_seconds=1)
    c.queued("b")
    c.succeeded("a")
    c.succeeded("b")
    c.expect(node_of(c.get_pod("b")) == wanted, "so does the next one")


@case(seconds=180)
def claimed_slices(c):
    devices = [device(f"gpu-0-mig-1g10gb-19-{i}", profile="1g.10gb") for i in range(7)]
    offer(c, devices=devices)
    make_template(c, "slices", 3, of="mig.nvidia.com",
                  selector="device.attributes['gpu.nvidia.com'].profile == '1g.10gb'")  # fmt: skip
    for name in ("a", "b"):
        claiming(c, name, "slices", run_seconds=4)
        c.runs(name)
    claiming(c, "late", "slices", run_seconds=1)
    c.queued("late")
    for name in ("a", "b", "late"):
        c.succeeded(name)


@case(seconds=120)
def claim_of_no_gpu_needs_no_gate(c):
    (node,) = offer(c, gpus=1)
    name = f"nic.{c.ns}"
    make_class(c, name, f"device.driver == '{name}'")
    c.admin.create(slice_of(node, [device("nic-0", driver=name)], driver=name))
    make_template(c, "nic", 1, of=name)
    claiming(c, "light", "nic", run_seconds=1)
    c.succeeded("light")
    c.expect(not c.subak_jobs(), "no job in Subak")
    c.admin.delete("DeviceClass", "", name)


@case(seconds=240, alone=True)
def service_is_killed_while_claims_run(c):
    offer(c, gpus=4)
    make_template(c, "two", 2)
    claiming(c, "before", "two", run_seconds=20)
    c.runs("before")
    claiming(c, "beside", "two", run_seconds=20)
    c.service.kill()
    c.service.start()
    c.runs("beside")
    claiming(c, "late", "two", run_seconds=1)
    c.queued("late")
    c.stays(lambda: has_gate(c.get_pod("late"), GATE), "no GPU is given twice", 3)
    for name in ("before", "beside", "late"):
        c.succeeded(name)
    c.expect(all(phase(p) == "Succeeded" for p in c.pods()), "all pods ended well")
    charged(c, {"before": 2, "beside": 2, "late": 2})
