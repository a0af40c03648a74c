"""The service is killed at each step of a claim's life: no device has two holders, none is charged twice."""

import os
import signal

from case import case, ended, has_gate
from cases_devices import charged, claiming, held_s, make_claim, make_template, offer, shared_s, two_of_one_claim
from cases_faults import kill_and_start, scheduler_pid

SLACK_S = 2.0


@case(alone=True, seconds=240)
def claim_killed_while_it_waits(c):
    offer(c, gpus=2)
    make_template(c, "two", 2)
    claiming(c, "first", "two", run_seconds=8)
    c.runs("first")
    claiming(c, "waits", "two", run_seconds=2)
    c.queued("waits")
    kill_and_start(c)
    c.stays(lambda: ended(c.get_pod("first")) or has_gate(c.get_pod("waits")), "it waits for the first", 3)
    for name in ("first", "waits"):
        c.succeeded(name)
    charged(c, {"first": 2, "waits": 2})


@case(alone=True, seconds=240)
def claim_killed_before_it_is_allocated(c):
    """The gate is open, and no scheduler runs: the hold survives, and nobody else gets the devices."""
    offer(c, gpus=2)
    make_template(c, "two", 2)
    os.kill(scheduler_pid(c), signal.SIGSTOP)
    try:
        claiming(c, "held", "two", run_seconds=3)
        c.pod_is("held", lambda p: not has_gate(p), "open gate")
        kill_and_start(c)
        claiming(c, "late", "two", run_seconds=1)
        c.queued("late")
        c.stays(lambda: has_gate(c.get_pod("late")), "the devices are held", 2)
    finally:
        os.kill(scheduler_pid(c), signal.SIGCONT)
    for name in ("held", "late"):
        c.succeeded(name)
    charged(c, {"held": 2, "late": 2})


@case(alone=True, seconds=240)
def claim_that_ends_while_it_is_away(c):
    offer(c, gpus=2)
    make_template(c, "two", 2)
    claiming(c, "runs", "two", run_seconds=8)
    c.runs("runs")
    job = c.job_named("runs")["id"]
    c.service.kill()
    c.succeeded("runs")
    c.service.start()
    c.until(lambda: not c.subak_jobs(), "end of its job")
    cause = c.service.json("job", "get", job)["cause"]
    c.expect(cause == "CAUSE_FINISHED", f"it has finished, got {cause}")
    claiming(c, "next", "two", run_seconds=1)
    c.succeeded("next")
    charged(c, {"runs": 2, "next": 2})


@case(alone=True, seconds=300)
def claim_whose_payer_ends_while_it_is_away(c):
    """Two pods share a claim. The one that pays ends unseen: the other one pays from then on, and no second is paid twice."""
    offer(c, gpus=4)
    make_claim(c, "shared", 3)
    two_of_one_claim(c, 8, 24)
    c.service.kill()
    c.succeeded("first")
    c.service.start()
    c.succeeded("second")
    wanted = 3 * shared_s(c)
    c.until(lambda: not c.subak_jobs(), "end of all jobs")
    used = c.used_s()
    c.expect(abs(used - wanted) <= 3 * SLACK_S, f"{wanted} GPU-s in the ledger, got {used:.1f}")
    c.expect(held_s(c, {"first": 3, "second": 3}) > wanted + 3 * SLACK_S, "twice would be more")
