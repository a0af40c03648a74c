"""The service is killed at each step of a ComputeDomain's life: none is left, none is made twice (docs/design/0093)."""

import os
import signal

from case import case, has_gate
from cases_domains import KEY, domains, events, made, none_left, one_node_each, rack
from cases_faults import kill_and_start, scheduler_pid
from cases_jobs import gang, rows_of, wait_job

REFUSED_S = 120


def ends_well(c, name, count=1):
    c.completed(name, seconds=120)
    none_left(c)
    c.expect(made(c) == count, f"{count} ComputeDomains ever, got {made(c)}")
    c.expect(len(rows_of(c, name)) == 2, "each pod ran once")
    one_node_each(c, name)


@case(alone=True, seconds=300)
def domain_killed_while_its_gang_waits(c):
    """The pods have their claims, and nothing is made yet."""
    rack(c, 2)
    c.pod("holder", gpus=4, run_seconds=10)
    c.runs("holder")
    gang(c, "train", 2, 4, keys=KEY, run_seconds=2)
    wait_job(c, "train", "QUEUED")
    kill_and_start(c)
    c.expect(not domains(c), "no ComputeDomain before its turn")
    c.succeeded("holder")
    ends_well(c, "train")


@case(alone=True, seconds=300)
def domain_killed_before_its_template(c):
    """It is made, and its template is late: after the start the same one is waited for."""
    rack(c, 2)
    c.world.driver.withheld.add(c.ns)
    gang(c, "train", 2, 4, keys=KEY, run_seconds=2)
    first = c.until(lambda: domains(c), "ComputeDomain")[0]["metadata"]["uid"]
    kill_and_start(c)
    c.stays(lambda: all(has_gate(p) for p in c.pods("train")), "no gate opens without the template", 3)
    c.expect([d["metadata"]["uid"] for d in domains(c)] == [first], "the same ComputeDomain")
    c.world.driver.release(c.ns)
    ends_well(c, "train")


@case(alone=True, seconds=300)
def domain_killed_before_its_pods_are_bound(c):
    """The gates are open, and no scheduler runs."""
    rack(c, 2)
    os.kill(scheduler_pid(c), signal.SIGSTOP)
    try:
        gang(c, "train", 2, 4, keys=KEY, run_seconds=2)
        c.until(lambda: len([p for p in c.pods("train") if not has_gate(p)]) == 2, "two open gates")
        kill_and_start(c)
        c.expect(len(domains(c)) == 1, "its ComputeDomain is there")
    finally:
        os.kill(scheduler_pid(c), signal.SIGCONT)
    ends_well(c, "train")


@case(alone=True, seconds=300)
def domain_killed_while_its_gang_runs(c):
    rack(c, 2)
    gang(c, "train", 2, 4, keys=KEY, run_seconds=10)
    c.running_pods(2, "train")
    kill_and_start(c)
    job = wait_job(c, "train", "RUNNING")
    c.until(lambda: "2 of 2 joined nodes ready" in c.service.subak("job", "get", job["id"]), "its state is shown again")
    ends_well(c, "train")


@case(alone=True, seconds=300)
def domain_killed_while_it_goes(c):
    """The driver holds it by its finalizer. A gang that needs the nodes waits for its end, and then has one of its own."""
    rack(c, 2)
    gang(c, "train", 2, 4, keys=KEY, run_seconds=4)
    c.running_pods(2, "train")
    c.world.driver.kept.add(c.ns)
    c.completed("train")
    c.until(lambda: [d for d in domains(c) if "deletionTimestamp" in d["metadata"]], "ComputeDomain that goes")
    kill_and_start(c)
    c.expect(len(domains(c)) == 1, "one ComputeDomain, which goes")
    c.world.driver.release(c.ns)
    none_left(c)
    gang(c, "next", 2, 4, keys=KEY, run_seconds=2)
    ends_well(c, "next", count=2)


@case(alone=True, seconds=400)
def domain_whose_kind_is_gone(c):
    """The nodes still offer channels: after a minute the hold is released, with the cause, and it starts when the kind is
    there again."""
    rack(c, 2)
    c.world.driver.remove_kind()
    try:
        gang(c, "train", 2, 4, keys=KEY, run_seconds=2)
        c.until(lambda: events(c, "ReleaseRefused"), "Event ReleaseRefused", REFUSED_S)
        note = str(events(c, "ReleaseRefused"))
        c.expect("ComputeDomain" in note or "computedomains" in note, f"the object in '{note}'")
        c.expect(all(has_gate(p) for p in c.pods("train")), "no gate has opened")
    finally:
        c.world.driver.install_kind()
    ends_well(c, "train")
