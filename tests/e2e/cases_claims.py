"""Quota that comes back: who gives, what happens to it, and who is left alone (docs/design/0084)."""

import objects as o
from case import case, has_gate, phase


def teams(c, quota=8):
    """An account with quota, and one without; the labels of their pods."""
    c.set_account(f"{c.account}.owner", more=("--quota", f"gpu={quota}"))
    c.set_account(f"{c.account}.borrower")
    return [{"subak.gpu/account": f"{c.account}.{team}"} for team in ("owner", "borrower")]


def claimed(c, name):
    """The claim of the job of that name, once there is one."""

    def happened():
        job = c.job_named(name)
        rows = c.service.json("claims", "--account", c.account)["claims"]
        return next((row for row in rows if job and row["jobId"] == job["id"]), None)

    return c.until(happened, f"claim of {name}")


@case()
def gang_gives_back_and_completes(c):
    """It is suspended, waits as the same job, and runs again."""
    c.nodes(1)
    owner, borrower = teams(c)
    c.job("train", 2, 4, indexed=True, labels=borrower, run_seconds=6)
    c.running_pods(2, "train")
    before = c.job_named("train")["id"]
    c.pod("urgent", gpus=8, labels=owner, run_seconds=2)
    claim = claimed(c, "urgent")
    c.expect([v["jobId"] for v in claim["victims"]] == [before], f"the gang is its victim: {claim}")
    why = c.why(claim["jobId"])
    c.expect("WaitingForPreemptedWorkloads" in why and before in why, f"why says who gives: {why[:400]}")
    c.succeeded("urgent")
    c.expect(c.job_named("train")["id"] == before, "the gang is the same job")
    c.completed("train")


@case()
def deployments_pod_is_recreated(c):
    c.nodes(1)
    owner, borrower = teams(c)
    c.ana.create(o.deployment("serve", c.ns, c.template(8, labels=dict(borrower), run_seconds=600), 1))
    c.running_pods(1, "serve")
    c.pod("urgent", gpus=8, labels=owner, run_seconds=2)
    c.succeeded("urgent")
    c.running_pods(1, "serve")
    c.admin.delete("Deployment", c.ns, "serve")


@case()
def bare_pod_is_left_alone(c):
    """No controller would recreate it."""
    c.nodes(1)
    owner, borrower = teams(c)
    c.pod("notebook", gpus=8, labels=borrower, run_seconds=12)
    c.runs("notebook")
    c.pod("urgent", gpus=8, labels=owner, run_seconds=1)
    c.queued("urgent")
    c.stays(lambda: phase(c.get_pod("notebook")) == "Running" and has_gate(c.get_pod("urgent")), "the owner waits", 5)
    c.succeeded("notebook")
    c.succeeded("urgent")


@case()
def job_within_quota_is_left_alone(c):
    c.nodes(1)
    owner, borrower = teams(c, quota=4)
    c.set_account(f"{c.account}.borrower", more=("--quota", "gpu=4"))
    c.job("within", 1, 4, labels=borrower, run_seconds=8)
    c.running_pods(1, "within")
    c.job("beyond", 1, 4, labels=borrower, run_seconds=8)
    c.running_pods(1, "beyond")
    c.pod("urgent", gpus=4, labels=owner, run_seconds=1)
    claim = claimed(c, "urgent")
    c.expect(len(claim["victims"]) == 1, f"one of the two gives: {claim}")
    c.succeeded("urgent")
    c.expect(len([row for row in c.log() if row["name"].startswith(("within", "beyond"))]) <= 3, "one of them ran twice")
    c.completed("within")
    c.completed("beyond")
