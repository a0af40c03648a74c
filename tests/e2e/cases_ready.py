"""Gangs that hold GPUs and are not Ready in time."""

from case import case

READY_S = 6


def within(c, seconds):
    c.service.subak("policy", "set", f"readyWithin={seconds}s", "--reason", "a case")


@case(alone=True, seconds=240)
def not_ready_in_time(c):
    """One pod of a gang never becomes Ready: the whole gang ends, waits with the pod's words, and starts again."""
    c.nodes(2)
    c.job("train", 2, 8, indexed=True, start_seconds=0.1, run_seconds=12, unready_first=1)
    within(c, READY_S)
    try:
        first = c.until(lambda: c.job_named("train"), "job train")
        c.until(lambda: c.service.json("job", "get", first["id"])["state"] == "JOB_STATE_PAUSED", "a pause", 90)
        text = c.why(first["id"])
        c.expect("were not Ready in time" in text and "ImagePullBackOff: no such image" in text, f"the pod's words: {text}")
        job = c.admin.get("Job", c.ns, "train")
        c.expect(job["status"].get("failed", 0) == 0, f"no failure is counted: {job['status']}")
        c.completed("train", seconds=150)
        again = [row for row in c.log() if row["name"].startswith("train") and "bound" in row]
        c.expect(len(again) == 4, f"both pods ended and came again: {[row['name'] for row in again]}")
    finally:
        within(c, 0)
