"""Processes that die: ours at each step of a job's life, and the API server. All of them alone."""

import os
import signal
import time

from case import case, has_gate, phase
from cases_jobs import gang, rows_of, together
from control_plane import SUBAK_USER
from service import Replica


def scheduler_pid(c):
    return c.world.plane.processes["kube-scheduler"].child.pid


def kill_and_start(c):
    c.service.kill()
    c.service.start()


@case(alone=True)
def killed_while_pods_wait(c):
    c.nodes(1)
    c.pod("long", gpus=8, run_seconds=6)
    c.runs("long")
    c.job("waits", 2, 4, run_seconds=1)
    c.until(lambda: len([p for p in c.pods("waits") if has_gate(p)]) == 2, "two gated pods")
    kill_and_start(c)
    c.completed("waits")


@case(alone=True)
def killed_while_a_gang_is_held(c):
    c.nodes(4)
    os.kill(scheduler_pid(c), signal.SIGSTOP)
    try:
        gang(c, "held", 4, 8, keys={"subak.gpu/gang-size": "4"}, run_seconds=2)
        c.until(lambda: len([p for p in c.pods("held") if not has_gate(p)]) == 4, "four open gates")
        kill_and_start(c)
    finally:
        os.kill(scheduler_pid(c), signal.SIGCONT)
    c.completed("held")
    together(c, rows_of(c, "held"))


@case(alone=True)
def killed_while_it_runs(c):
    c.nodes(2)
    gang(c, "runs", 2, 8, run_seconds=6)
    c.running_pods(2, "runs")
    kill_and_start(c)
    c.completed("runs")


@case(alone=True)
def ended_while_it_was_away(c):
    c.nodes(1)
    c.job("ends", 2, 4, run_seconds=3)
    c.running_pods(2, "ends")
    c.service.kill()
    c.completed("ends")
    time.sleep(2)
    c.service.start()
    c.until(lambda: not c.subak_jobs(), "end of both jobs")  # before the case takes its pods away


@case(alone=True)
def deleted_while_it_was_away(c):
    c.nodes(1)
    c.pod("long", gpus=8, run_seconds=60)
    c.runs("long")
    c.pod("waits", gpus=8)
    c.queued("waits")
    c.service.kill()
    for name in ("waits", "long"):
        c.ana.delete("Pod", c.ns, name)
    c.until(lambda: not c.pods(), "end of both pods")
    c.service.start()
    c.until(lambda: not c.subak_jobs(), "end of both jobs")
    c.judges_itself = True  # nobody can say when it ended: it is charged to when it was last heard of
    used, (ran, slack) = c.used_s(), c.expected_s()
    c.expect(0 < used <= ran + 2 * slack, f"charged, and no longer than it ran: {used} of {ran}")


@case(alone=True, seconds=300)
def killed_at_each_step_of_a_release(c):
    """A gang of 16 after the other; the service dies a little later each time."""
    c.nodes(2)
    for step in range(8):
        name = f"round-{step}"
        gang(c, name, 16, 1, keys={"subak.gpu/gang-size": "16"}, run_seconds=1)
        time.sleep(0.08 * step)
        kill_and_start(c)
        c.completed(name)
        rows = rows_of(c, name)
        c.expect(len(rows) == 16, f"16 pods ran, each once, got {len(rows)}")


@case(alone=True, seconds=240)
def restarted_under_load(c):
    """As an upgrade does: an orderly end and a new start, while jobs come and go."""
    c.nodes(4)
    for i in range(20):
        c.job(f"load-{i}", 2, 4, run_seconds=1)
        if i % 5 == 4:
            c.service.stop()
            c.service.start()
    for i in range(20):
        c.completed(f"load-{i}", seconds=120)


@case(alone=True, seconds=240)
def stopped_for_a_while(c):
    """The process stands still, as in a paused machine: its watches are stale when it wakes."""
    c.nodes(1)
    c.pod("long", gpus=8, run_seconds=5)
    c.runs("long")
    c.pod("waits", gpus=8)
    c.queued("waits")
    os.kill(c.service.process.child.pid, signal.SIGSTOP)
    c.succeeded("long")
    c.ana.delete("Pod", c.ns, "long")
    time.sleep(10)
    os.kill(c.service.process.child.pid, signal.SIGCONT)
    c.succeeded("waits")


@case(alone=True, seconds=240)
def apiserver_restarted(c):
    c.nodes(2)
    gang(c, "first", 2, 8, run_seconds=8)
    c.running_pods(2, "first")
    gang(c, "second", 2, 8, run_seconds=1)
    c.until(lambda: len([p for p in c.pods("second") if has_gate(p)]) == 2, "two gated pods")
    c.world.plane.restart_apiserver()
    c.completed("first", seconds=90)
    c.completed("second", seconds=90)


@case(alone=True, seconds=240)
def apiserver_killed_while_gates_open(c):
    c.nodes(2)
    c.job("burst", 16, 1, run_seconds=1, more={"parallelism": 16})
    c.until(lambda: [p for p in c.pods("burst") if not has_gate(p)], "a first open gate")
    c.world.plane.restart_apiserver(signal.SIGKILL, away_s=3)
    c.completed("burst", seconds=120)


@case(alone=True, seconds=240)
def away_and_nobody_else_suffers(c):
    """Without us only pods that may use GPUs wait or are refused."""
    c.nodes(1)
    c.pod("runs", gpus=2, run_seconds=4)
    c.runs("runs")
    c.service.stop()
    for i in range(20):
        c.pod(f"light-{i}", gpus=0)
    c.job("plain", 2, 0, run_seconds=1)
    c.completed("plain")
    c.ana.patch("Pod", c.ns, "runs", {"metadata": {"labels": {"seen": "yes"}}})
    c.succeeded("runs")
    c.refused(lambda: c.pod("gpu", gpus=1), "webhook")
    c.job("gpus", 1, 1, run_seconds=1)
    c.stays(lambda: not c.pods("gpus"), "the Job has no pod yet", 2)
    c.service.start()
    c.completed("gpus", seconds=120)


@case(alone=True, seconds=240)
def a_replica_answers_while_it_is_away(c):
    """The API server asks a replica, and the service dies: each pod is judged as before."""
    c.nodes(1)
    replica = Replica(c.service).start()
    try:
        c.service.register(c.world.plane, "--only", "webhooks", port=replica.webhook_port)
        c.until(lambda: asks(c, replica), "review at the replica")
        c.service.kill()
        made = c.pod("waits", gpus=2, run_seconds=1)
        account = made["metadata"]["labels"].get("subak.gpu/account")
        c.expect(has_gate(made) and account == c.account, f"gate and account, got {account}")
        c.refused(lambda: c.pod("foreign", gpus=1, labels={"subak.gpu/account": "e2e"}), "denied", "e2e")
        c.pod("light", gpus=0, run_seconds=1)
        c.succeeded("light")
        c.service.start()
        c.succeeded("waits")
    finally:
        if not c.service.process.alive():
            c.service.start()
        c.service.register(c.world.plane, "--only", "webhooks")
        c.until(lambda: asks(c, c.service), "review at the service")
        replica.stop()


def asks(c, who):
    """True if the API server has asked `who` about a pod that is made for that."""
    before = who.metric("subak_admissions_total")
    c.pod("asked", gpus=1)
    c.ana.delete("Pod", c.ns, "asked")
    c.until(lambda: not c.get_pod("asked"), "end of the pod")
    return who.metric("subak_admissions_total") > before


@case(alone=True)
def silent_after_a_restart(c):
    """A new start writes nothing on what already runs."""
    c.nodes(1)
    c.pod("runs", gpus=2, run_seconds=6)
    c.runs("runs")
    before = len([w for w in c.world.plane.writes_of(SUBAK_USER) if w[2] == c.ns and w[1] != "events"])
    kill_and_start(c)
    time.sleep(2)
    after = len([w for w in c.world.plane.writes_of(SUBAK_USER) if w[2] == c.ns and w[1] != "events"])
    c.expect(after == before, f"no write more, got {after - before}")
    c.pod_is("runs", lambda p: phase(p) == "Succeeded", "its end")
