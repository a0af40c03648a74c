#!/usr/bin/env python3
"""How quick the console is with 12,500 nodes and 50,000 waiting jobs: rows for tools/bench.

  console_bench.py TREE BUNDLE

The answers are made here, so the service is not part of the figures. Prints one JSON row a line:
  console_frame_ms       p95 of the time between two frames, while the map is moved and zoomed; a screen
                         has 60 a second, so 16.7 is the least
  console_first_view_ms  from the address to the first figures, the slowest of overview, queue and fleet
"""

import json
import os
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from played import Browser, until  # noqa: E402

TREE, BUNDLE = sys.argv[1:3]
sys.path.insert(0, os.path.join(TREE, "console"))
import dev_server  # noqa: E402

NODES, WAITING, FRAMES = 12_500, 50_000, 120
MOST_ELEMENTS = 3000
TIME = "2026-03-01T12:00:00Z"

# Moves and zooms the map by its keys, one step a frame. Returns the times between frames.
FREE, RUNNING, DRAINED = 1, 2, 6  # GpuState

MOVE = """
const [steps, done] = [arguments[0], arguments[arguments.length - 1]];
const box = document.querySelector('.map-box');
const keys = ['+', 'ArrowRight', 'ArrowDown', '+', 'ArrowRight', '-', 'ArrowLeft', '+', 'ArrowDown', '-', '0'];
const times = [];
let i = 0, last = performance.now();
const step = () => {
  const now = performance.now();
  times.push(now - last);
  last = now;
  if (i >= steps) { done(times); return; }
  box.dispatchEvent(new KeyboardEvent('keydown', {key: keys[i % keys.length], bubbles: true}));
  i += 1;
  requestAnimationFrame(step);
};
requestAnimationFrame(step);
"""


def fleet_map():
    """The answer of GetFleetMap: full nodes with a job each, every seventh with some single GPUs in use."""
    areas, keeps, rests, conditions, runs, jobs = [], [], [], [], [], 0
    areas.append({"kind": "product", "name": "NVIDIA-H100-80GB-HBM3", "parent": 0, "nodes": 0})
    for i in range(NODES):
        if i % 256 == 0:
            areas.append({"kind": "block", "name": f"block-{i // 256:02}", "parent": 1, "nodes": 0})
            block = len(areas)
        if i % 16 == 0:
            areas.append({"kind": "rack", "name": f"rack-{i // 16:04}", "parent": block, "nodes": 0})
        areas[-1]["nodes"] += 1
        name = f"node-{i:05}"
        before = f"node-{i - 1:05}" if i else ""
        keep = len(os.path.commonprefix([before, name]))
        keeps.append(keep)
        rests.append(name[keep:])
        conditions.append(1 if i % 97 == 0 else 0)
        idle = DRAINED if i % 97 == 0 else FREE
        used = 8 if i % 7 else i % 8
        new = [8] if used == 8 else [1] * used
        runs += [16 * cells + RUNNING for cells in new]
        jobs += len(new)
        if used < 8:
            runs.append(16 * (8 - used) + idle)
    return {
        "cluster": "big", "time": TIME, "clusterId": 1, "areas": areas,
        "kinds": [{"product": "NVIDIA-H100-80GB-HBM3", "gpus": 8, "uncutGpus": 8, "gpuMilligpu": 1000}],
        "conditions": [{"text": "cordoned", "state": "GPU_STATE_DRAINED"}],
        "accounts": [f"team-{i}" for i in range(40)],
        "users": [f"user-{i}" for i in range(400)],
        "ownerAccounts": [1 + i % 40 for i in range(400)], "ownerUsers": [1 + i for i in range(400)],
        "nameKeeps": keeps, "nameRests": rests, "nodeKinds": [0] * NODES, "nodeConditions": conditions,
        "jobNumbers": ["1"] * jobs, "jobOwners": [i % 400 for i in range(jobs)], "jobEnds": [1 + i % 1440 for i in range(jobs)],
        "runs": runs, "runJobs": [0] + [1] * (jobs - 1),
    }  # fmt: skip


def waiting(i):
    return {
        "position": str(i + 1), "shape": "4x8 nvlink", "wait": f"{WAITING - i}s",
        "job": {"id": f"1-{i + 1}", "state": "JOB_STATE_QUEUED", "milligpu": "32000",
                "spec": {"account": f"team-{i % 40}", "user": f"user-{i % 400}", "name": f"train-{i}"}},
        "waitsFor": {"token": "WaitingForCapacity", "subject": "gpu", "detail": "there is no placement for it now"},
        "expectedStart": {"earliest": TIME, "expected": TIME, "latest": TIME},
    }  # fmt: skip


class Answers:
    """The answers of a large fleet, in place of dev_server.Api."""

    def __init__(self):
        self.rows = [waiting(i) for i in range(WAITING)]
        cluster = {"name": "big", "mode": "MODE_ENFORCE", "synced": True}
        self.fixed = {
            "GetStatus": {"state": "serving", "leader": True, "clockBelieved": True, "jobsQueued": str(WAITING),
                          "clusters": [cluster]},
            "ListClusters": {"clusters": [cluster]},
            "ListShares": {"rows": [{"account": f"team-{i}", "runningMilligpu": "1000"} for i in range(40)]},
            "GetPlan": {"time": TIME, "until": TIME, "step": "60s"},
            "GetFleetMap": fleet_map(),
        }  # fmt: skip

    def call(self, _, method, body, at=None):
        assert at is None
        request = json.loads(body)
        if method == "ListQueue":
            begin = int(request.get("pageToken") or 0)
            end = begin + int(request.get("pageSize") or 100)
            answer = {"rows": self.rows[begin:end], "nextPageToken": str(end) if end < len(self.rows) else ""}
        else:
            answer = self.fixed.get(method, {})
        return 200, {"subak-sequence": "1"}, json.dumps(answer).encode()


def serve():
    dev_server.Handler.api = Answers()
    dev_server.Handler.bundle = BUNDLE
    dev_server.Handler.live = lambda handler: handler.answer(404, {"Content-Type": "text/plain"}, b"no events\n")
    server = dev_server.Server(("127.0.0.1", 0), dev_server.Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"


def first_view_ms(browser, path):
    """The time from the address to the first figures, without the start of the browser."""
    browser.driver.get("about:blank")
    begin = time.monotonic()
    browser.driver.get(browser.url + path)
    shown = "return document.querySelector('.as-of time') !== null && document.querySelector('main').innerText.length > 100"
    until(path, lambda: browser.js(shown))
    elements = browser.js("return document.querySelectorAll('*').length")
    if elements >= MOST_ELEMENTS:
        raise SystemExit(f"{path} has {elements} elements, more than {MOST_ELEMENTS}")
    return (time.monotonic() - begin) * 1000


def row(name, value, what):
    return {"name": name, "value": value, "unit": "ms", "limit": None, "ratio": None, "what_the_limit_is": what}


def main():
    browser = Browser(serve())
    try:
        browser.look(1280, "light")
        first = {path: first_view_ms(browser, path) for path in ("/overview", "/queue", "/fleet")}
        until("the map is there", lambda: "12,500 nodes" in browser.text())
        frames = sorted(browser.driver.execute_async_script(MOVE, FRAMES))
    finally:
        browser.stop()
    print(json.dumps(row("console_frame_ms", frames[int(len(frames) * 0.95)], None)))
    print(json.dumps(row("console_first_view_ms", max(first.values()), None)))
    print(f"{len(frames)} frames, median {frames[len(frames) // 2]:.1f} ms; first views: {first}", file=sys.stderr)


if __name__ == "__main__":
    main()
