#!/usr/bin/env python3
"""A real Prometheus scrapes a played dcgm-exporter, and the service asks it who is idle: sums, reports, the warning of
the owner, busy GPUs without a holder, restarts. Then servers that hang or lie. All on loopback.

Usage: activity_test.py PATH_TO_SUBAKD PATH_TO_SUBAK PATH_TO_STANDIN
Exit code 77 (skipped) without the program `prometheus`.
"""

import http.server
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import unittest

from kube_edge_stand import DEADLINE_S, Edge, until
from ports import free_ports

PRICES = "currency: EUR\ngpus:\n- {from: 2020-01-01, product: H100, perHour: 3600}\nenergy:\n" \
         "- {from: 2020-01-01, perKwh: 100}\n"


class Exporter:
    """Says what the test puts into `devices`: (GPU, activity, watts, namespace, pod)."""

    def __init__(self, node):
        self.devices = []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                body = outer.page(node).encode()
                self.send_response(200)
                self.send_header("Content-Type", "text/plain; version=0.0.4")
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.address = f"127.0.0.1:{self.server.server_address[1]}"

    def page(self, node):
        lines = []
        for gpu, activity, watts, namespace, pod in self.devices:
            labels = (f'gpu="{gpu}",UUID="GPU-{gpu}",pci_bus_id="0000:0{gpu}:00.0",device="nvidia{gpu}",'
                      f'modelName="NVIDIA H100 80GB HBM3",Hostname="{node}",container="main",'
                      f'namespace="{namespace}",pod="{pod}"')
            lines += [f"DCGM_FI_DEV_GPU_UTIL{{{labels}}} {round(activity * 100)}",
                      f"DCGM_FI_PROF_GR_ENGINE_ACTIVE{{{labels}}} {activity}",
                      f"DCGM_FI_DEV_FB_USED{{{labels}}} 1024",
                      f"DCGM_FI_DEV_POWER_USAGE{{{labels}}} {watts}"]
        return "\n".join(lines) + "\n"

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class Observed(Edge):
    """A service that asks `self.prometheus` every second."""

    def configure(self):
        raise NotImplementedError

    def before_start(self):
        self.configure()
        with open(self.path("prices.yaml"), "w", encoding="utf-8") as file:
            file.write(PRICES)
        with open(self.path("subak.yaml"), "a", encoding="utf-8") as file:
            file.write(f"prometheus: {self.prometheus}\nprometheusEvery: 1s\nidleWarnAfter: 5s\n"
                       f"showIdleHolders: true\nprices: {self.path('prices.yaml')}\n")

    def reads(self, result):
        return self.metric(f'subak_activity_reads_total{{result="{result}"}}')

    def seconds(self, activity):
        series = f'subak_activity_gpu_seconds_total{{account="ml",product="H100",activity="{activity}"}}'
        return self.metric(series) or 0

    def run_pod(self, name, gpus):
        self.api.make_pod(name, gpus)
        self.released(name)
        self.api.bind(name)
        self.api.run(name)

    def job(self, identity):
        return json.loads(self.subak("job", "get", identity, "--output", "json"))


@unittest.skipUnless(shutil.which("prometheus"), "needs prometheus")
class WithPrometheus(Observed):
    def configure(self):
        self.exporter = Exporter("n1")
        self.addCleanup(self.exporter.close)
        config = self.path("prometheus.yml")
        with open(config, "w", encoding="utf-8") as file:
            file.write("global: {scrape_interval: 1s}\nscrape_configs:\n- job_name: dcgm\n  static_configs:\n"
                       f"  - targets: ['{self.exporter.address}']\n"
                       "    labels: {namespace: gpu-operator, pod: dcgm-exporter-x, container: exporter}\n")
        address = f"127.0.0.1:{free_ports(1)[0]}"
        self.prometheus = f"http://{address}"
        with open(self.path("prometheus.log"), "w", encoding="utf-8") as log:
            child = subprocess.Popen(
                ["prometheus", f"--config.file={config}", f"--storage.tsdb.path={self.path('data')}",
                 f"--web.listen-address={address}", "--log.level=warn"], stdout=log, stderr=log)
        self.addCleanup(child.wait, DEADLINE_S)
        self.addCleanup(child.terminate)

    def events(self):
        items = self.api.call("GET", "/apis/events.k8s.io/v1/events")["items"]
        return [e for e in items if e["reason"] == "Idle"]

    def test_idle_busy_and_unheld(self):
        self.run_pod("idle", 2)
        self.run_pod("busy", 4)
        held = [(g, 0.001, 60, "team-a", "idle") for g in (0, 1)] + [(g, 0.9, 600, "team-a", "busy") for g in range(2, 6)]
        self.exporter.devices = held + [(6, 0.0, 55, "", "")]
        until(lambda: self.seconds("idle") > 8 and self.seconds("active") > 16, "sums")
        self.check_job_and_report()
        self.check_warning()
        self.check_unheld(held)
        self.check_restart()
        self.assertIn("every balance is the sum of its rows", self.subak("usage", "verify"))

    def check_job_and_report(self):
        idle, busy = self.job("1-1"), self.job("1-2")
        self.assertGreater(int(idle["activity"]["idle"]["gpuSeconds"]), 7)
        self.assertEqual(int(idle["activity"]["active"].get("gpuSeconds", 0)), 0)
        self.assertIn("idleSince", idle)
        self.assertGreater(int(busy["activity"]["active"]["gpuSeconds"]), 15)
        self.assertNotIn("idleSince", busy)
        self.assertIn("all GPUs idle since", " ".join(self.subak("job", "get", "1-1").split()))
        answer = json.loads(self.subak("usage", "report", "--output", "json"))
        activity = {k: int(v.get("gpuSeconds", 0)) for k, v in answer["activity"].items() if k != "energyJoules"}
        held = int(answer["running"].get("gpuSeconds", 0)) + int(answer["total"].get("gpuSeconds", 0))
        self.assertLessEqual(abs(sum(activity.values()) - held), 4, (activity, held))
        # Four GPUs of 600 W for their active seconds, two of 60 W for their idle ones.
        joules = int(answer["activity"]["energyJoules"])
        expected = 600 * activity["active"] + 60 * activity["idle"]
        self.assertLess(abs(joules - expected), 0.2 * expected)
        table = self.subak("usage", "report", "--prices", self.path("prices.yaml"))
        self.assertIn("IDLE COST", table)
        cost, idle_cost = (float(table.splitlines()[-3].split()[i]) for i in (5, 6))
        self.assertGreater(idle_cost, 7)
        self.assertGreater(cost, idle_cost + 15)
        self.assertEqual(self.metric('subak_price_per_gpu_hour{product="H100",currency="EUR"}'), 3600)

    def check_warning(self):
        until(self.events, "the event")
        self.api.make_pod("waits", 8)
        until(lambda: self.jobs("queued") == 1, "queued")
        why = " ".join(self.subak("why", "1-3").split())
        self.assertIn("idle GPUs of the cluster are held by job 1-1 of ml: 2 GPUs, idle since", why)
        self.assertNotIn("job 1-2 of", why)
        time.sleep(2)
        self.assertEqual({e["regarding"]["name"] for e in self.events()}, {"idle"})
        self.assertEqual(len(self.events()), 1)
        self.assertIn("the GPUs of job 1-1 (2) are all idle since", self.events()[0]["note"])

    def check_unheld(self, held):
        self.assertEqual(self.metric('subak_busy_unheld_gpus{cluster="east"}'), 0)
        self.exporter.devices = held + [(6, 0.7, 300, "other", "stranger"), (7, 0.5, 300, "", "")]
        until(lambda: self.metric('subak_busy_unheld_gpus{cluster="east"}') == 2, "busy GPUs without a holder")
        status = self.subak("status")
        self.assertIn("GPU 6 of node n1 is busy although no pod holds it; the metrics name the pod other/stranger",
                      " ".join(status.split()))
        self.exporter.devices = held
        until(lambda: self.metric('subak_busy_unheld_gpus{cluster="east"}') == 0, "no busy GPU without a holder")

    def check_restart(self):
        before = int(self.job("1-1")["activity"]["idle"]["gpuSeconds"])
        self.end(signal.SIGTERM)
        self.start()
        until(lambda: self.reads("ok") > 1, "reads after the restart")
        job = self.job("1-1")
        self.assertGreaterEqual(int(job["activity"]["idle"]["gpuSeconds"]), before)
        until(lambda: self.metric('subak_cluster_synced{cluster="east"}') == 1, "synced")
        time.sleep(3)
        self.assertEqual([e["regarding"]["name"] for e in self.events()], ["idle"])


@unittest.skipUnless(shutil.which("prometheus"), "needs prometheus")
class InObserveMode(WithPrometheus):
    mode = "observe"
    test_idle_busy_and_unheld = None  # of the other modes

    def test_nothing_is_written(self):
        self.api.make_pod("foreign", 2, gates=())
        self.api.change("foreign", {"spec": {"nodeName": "n1"}})
        self.api.run("foreign")
        self.exporter.devices = [(g, 0.0, 60, "team-a", "foreign") for g in (0, 1)]
        until(lambda: self.seconds("idle") > 20, "sums")
        self.assertIn("idleSince", self.job("1-1"))
        self.assertEqual(self.events(), [])


class Liar:
    """A server that does to each connection what `self.answer(connection)` says."""

    def __init__(self):
        self.answer = lambda connection: None
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.reply, args=(connection,), daemon=True).start()

    def reply(self, connection):
        with connection:
            try:
                connection.recv(65536)
                self.answer(connection)
            except OSError:
                pass

    def close(self):
        self.listener.close()


def http_answer(body, status="200 OK", more=""):
    return f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\n{more}Connection: close\r\n\r\n{body}".encode()


def vector(*series):
    return json.dumps({"status": "success", "data": {"resultType": "vector", "result": list(series)}})


def one_series(value, clock_s=0, **labels):
    return {"metric": {"__name__": "DCGM_FI_PROF_GR_ENGINE_ACTIVE", "Hostname": "n1", **labels},
            "value": [time.time() + clock_s, value]}


def million(connection):
    """As many series as no fleet has, without an end."""
    connection.sendall(http_answer('{"status":"success","data":{"resultType":"vector","result":['))
    series = "".join(json.dumps(one_series("1", gpu=str(g), UUID=f"GPU-{g}")) + "," for g in range(10000)).encode()
    for _ in range(100):
        connection.sendall(series)
    connection.sendall((json.dumps(one_series("1")) + "]}}").encode())


class WithALiar(Observed):
    def configure(self):
        self.liar = Liar()
        self.addCleanup(self.liar.close)
        self.prometheus = f"http://{self.liar.address}"

    def lies(self, answer, why):
        failed = self.reads("failed")
        self.liar.answer = answer
        until(lambda: self.reads("failed") > failed + 1, why)

    def sends(self, *answer, **more):
        return lambda connection: connection.sendall(http_answer(*answer, **more))

    def test_lies(self):
        self.run_pod("p", 8)
        self.lies(lambda connection: None, "a closed connection")
        self.lies(self.sends("<html>no</html>"), "no JSON")
        self.lies(self.sends("x", "500 Oh"), "an error")
        self.lies(self.sends("", "302 Found", "Location: http://127.0.0.1:1/\r\n"), "a redirect")
        self.lies(self.sends(json.dumps({"status": "error", "error": "bad query"}), "400 Bad"), "a refusal")
        self.assertIn("bad query", self.subak("status"))
        self.lies(self.sends(vector(one_series("1", clock_s=-3600))), "another time")
        self.lies(million, "a million series")
        # More devices than the pod has, the same one twice, and values that cannot be.
        self.liar.answer = self.sends(vector(
            *(one_series(v, gpu=str(g), UUID=f"GPU-{g}", namespace="team-a", pod="p")
              for v in ("0", "0.9", "NaN", "7", "-1") for g in range(64))))
        good = self.reads("ok")
        until(lambda: self.reads("ok") > good + 3, "good answers")
        answer = json.loads(self.subak("usage", "report", "--output", "json"))
        held = int(answer["running"]["gpuSeconds"]) + int(answer["total"].get("gpuSeconds", 0))
        active = int(answer["activity"]["active"].get("gpuSeconds", 0))
        self.assertTrue(0 < active <= held, (active, held))
        self.api.finish("p")
        until(lambda: self.jobs() == 0, "done")
        self.assertIn("every balance is the sum of its rows", self.subak("usage", "verify"))

    def test_a_server_that_hangs(self):
        hangs = threading.Event()
        self.addCleanup(hangs.set)
        self.liar.answer = lambda connection: hangs.wait(DEADLINE_S)
        self.run_pod("p", 8)
        until(lambda: self.jobs("running") == 1, "jobs run")
        begin = time.monotonic()
        self.end(signal.SIGTERM)
        self.assertLess(time.monotonic() - begin, 20, "the service does not wait for the answer")


if __name__ == "__main__":
    if not shutil.which("prometheus"):
        print("skipped: there is no prometheus", file=sys.stderr)
    unittest.main(verbosity=2)
