"""The recipes of docs/recipes.md, as they stand there: the manifest is applied, and what the page shows is compared."""

import re

import pages
from case import ALL, GPU, case, node_of
from cases_devices import charged, offer
from cases_domains import none_left, rack
from cases_jobs import gang, rows_of, together, wait_job
from mig_manager import MigManager
from pages import shows

PAGE = "recipes.md"
A10 = "NVIDIA-A10-SHARED"


def recipe(heading):
    return pages.parts(PAGE, 2)[heading]


def apply(c, page, seconds=None):
    """How long its pods run; None: for ever. Returns the warnings of the webhook."""
    pages.apply(c, pages.manifest_in(page), seconds and (lambda _: seconds))
    return "\n".join(c.ana.warnings)


def job_get(c, name):
    return c.service.subak("job", "get", c.job_named(name)["id"])


@case(alone=True, seconds=300)
def recipe_multi_node_nvlink_training(c):
    page = recipe("Multi-node NVLink training")
    rack(c, 6)
    apply(c, page, 15)
    c.running_pods(4, "pretrain")
    wait_job(c, "pretrain", "RUNNING")
    c.until(lambda: "4 of 4 joined nodes ready" in job_get(c, "pretrain"), "all nodes joined")
    shows(c, page, "subak job get", job_get(c, "pretrain"))
    gang(c, "second", 2, 4, keys={"subak.gpu/compute-domain": "true"}, run_seconds=1)
    second = wait_job(c, "second", "QUEUED")["id"]
    shows(c, page, "subak why", c.service.subak("why", second))
    for name in ("pretrain", "second"):
        c.completed(name)
        together(c, rows_of(c, name))
    none_left(c)


@case(seconds=200)
def recipe_mig_inference(c):
    page = recipe("MIG inference")
    manager = MigManager(c, 1, "1g.10gb")
    apply(c, page)
    c.running_pods(3, "small-model")
    shows(c, page, "subak job get", job_get(c, "small-model"))
    shows(c, page, "subak cluster mig", c.service.subak("cluster", "mig"))
    manager.state("pending")
    manager.closed("mig.config.state is pending")
    c.ana.patch("Deployment", c.ns, "small-model", {"spec": {"replicas": 4}})
    waits = c.until(lambda: [j for j in c.subak_jobs() if j["state"] == "JOB_STATE_QUEUED"], "a fourth server that waits")
    shows(c, page, "subak why", c.service.subak("why", waits[0]["id"]))
    manager.state("success")
    c.running_pods(4, "small-model")


@case(seconds=200)
def recipe_shared_notebooks(c):
    page = recipe("Shared notebooks")
    labels = {"nvidia.com/gpu.product": A10, "nvidia.com/gpu.replicas": "4", "nvidia.com/gpu.count": "1",
              "nvidia.com/gpu.sharing-strategy": "time-slicing"}  # fmt: skip
    (name,) = c.nodes(1, gpus=4, labels=labels)
    c.parts[(name, GPU)] = 1 / 4
    shows(c, page, "kubectl create", apply(c, page, 6))
    c.expect(node_of(c.runs("notebook")) == name, "the node of shared GPUs")
    shows(c, page, "subak job get", job_get(c, "notebook"))
    c.succeeded("notebook")


@case(seconds=200)
def recipe_serving(c):
    page = recipe("Serving")
    c.nodes(1)
    said = re.search(r"\$ subak account set \S+ --namespaces \S+ (.*?) --reason", " ".join(page.split())).group(1)
    c.set_account(c.account, c.ns, more=said.split())
    apply(c, page)
    c.running_pods(3, "chat")
    shows(c, page, "subak account get", c.service.subak("account", "get", c.account))
    c.ana.patch("Deployment", c.ns, "chat", {"spec": {"replicas": 6}})
    c.running_pods(4, "chat")

    def waiting():
        jobs = [j for j in c.subak_jobs() if j["state"] == "JOB_STATE_QUEUED"]
        return jobs if len(jobs) == 2 and jobs[0]["workload"].get("running") == 4 else None

    waits = c.until(waiting, "two servers that wait")
    queue = c.service.subak("queue", "--account", c.account, "--output", "wide")
    shows(c, page, "subak queue", queue.replace(c.ns + "/", "serving/"))
    why = c.service.subak("why", waits[0]["id"]).replace(c.account, "ml.serving")
    shows(c, page, "subak why", why.replace(c.ns + "/", "serving/"))


@case(seconds=200)
def recipe_rdma_training(c):
    """Two nodes are free, in two fabrics."""
    page = recipe("RDMA training")
    rdma = {"rdma/hca": 8}
    names = [c.nodes(1, beside=rdma, labels={"e2e/fabric": fabric})[0] for fabric in "ab"]
    c.expect(not apply(c, page, 3), f"no warning, got {c.ana.warnings}")
    c.until(lambda: "TopologyPlacementFailed fabric" in c.why(c.only_job()), "the fabric as the reason")
    shows(c, page, "subak why", c.service.subak("why", c.only_job()))
    names += c.nodes(1, beside=rdma, labels={"e2e/fabric": "b"})
    c.completed("finetune")
    together(c, rows_of(c, "finetune"))
    c.expect({row["node"] for row in rows_of(c, "finetune")} == set(names[1:]), "both nodes of fabric b")


@case(seconds=200)
def recipe_a_claimed_gpu(c):
    page = recipe("A claimed GPU")
    (name,) = offer(c, gpus=2)
    c.judges_itself = True
    shows(c, page, "kubectl create", apply(c, page, 5))
    c.expect(node_of(c.runs("evaluate")) == name, "the node of the driver")
    shows(c, page, "subak job get", job_get(c, "evaluate"))
    c.succeeded("evaluate")
    charged(c, {"evaluate": 2})


@case()
def each_recipe_of_the_page_has_a_case(c):
    wanted = {"recipe_" + re.sub(r"[^a-z]+", "_", heading.lower()) for heading in pages.parts(PAGE, 2)}
    has = {function.__name__ for function in ALL if function.__name__.startswith("recipe_")}
    c.expect(wanted == has, f"cases {sorted(has)} for the recipes {sorted(wanted)}")
