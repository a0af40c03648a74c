#!/usr/bin/env python3
"""A real Prometheus scrapes a busy subakd with our rules: every panel and every rule must have an answer.

Usage: prometheus_test.py SUBAKD SUBAK_PLAY
Exit code 77 (skipped) without the program `prometheus`.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path[:0] = [os.path.join(ROOT, "tools"), os.path.join(ROOT, "tests", "server")]
import grafana  # noqa: E402
from ports import free_ports  # noqa: E402

SUBAKD, PLAY = (os.path.abspath(path) for path in (sys.argv.pop(1), sys.argv.pop(1)))
DEADLINE_S = 240  # generous: other work may share the machine
RATE = "10s"
POOL = "h100:label=pool=h100,max=8,product=NVIDIA-H100-80GB-HBM3,gpus=8"
PRICES = """
currency: EUR
gpus: [{from: 2020-01-01, product: gpu, perHour: 2.5}]
energy: [{from: 2020-01-01, perKwh: 0.2}]
"""
CONFIG = """
global: {{scrape_interval: 1s, evaluation_interval: 1s}}
scrape_configs:
  - job_name: subak
    static_configs: [{{targets: ["{target}"]}}]
rule_files: ["{root}/deploy/prometheus/rules.yml", "{root}/deploy/prometheus/alerts.yml"]
"""


def until(what, condition):
    """The first truth of `condition`, asked again and again until the deadline."""
    end = time.monotonic() + DEADLINE_S
    while time.monotonic() < end:
        answer = condition()
        if answer:
            return answer
        time.sleep(0.3)
    raise AssertionError(f"not within {DEADLINE_S} s: {what}")


class Watched(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        state = os.path.join(self.folder, "subak.db")
        config = os.path.join(ROOT, "deploy", "demo", "subak.yaml")
        prices = os.path.join(self.folder, "prices.yaml")
        with open(prices, "w", encoding="utf-8") as out:
            out.write(PRICES)
        address = f"127.0.0.1:{free_ports(1)[0]}"
        self.subakd = self.start(SUBAKD, "--config", config, "--state", state, "--prices", prices,
                                 "--prometheus", f"http://{address}", "--prometheus-every", "1s",
                                 "--node-pool", POOL,
                                 stdout=subprocess.PIPE, text=True)
        self.ports = dict(re.findall(r"(\w+)=([\d.]+:\d+)", self.subakd.stdout.readline()))
        self.begin = time.time()
        self.prometheus = grafana.Prometheus(self.start_prometheus(address))
        until("Prometheus is ready", self.prometheus.ready)
        until("the first scrape", lambda: self.answered("up == 1"))
        ca = os.path.join(self.folder, "tls", "ca.crt")
        self.start(PLAY, self.ports["webhook"], self.ports["grpc"], ca, stdin=subprocess.PIPE)

    def start(self, *command, **options):
        name = os.path.basename(command[0])
        log = open(os.path.join(self.folder, f"{name}.log"), "w", encoding="utf-8")
        self.addCleanup(log.close)
        child = subprocess.Popen(command, stderr=log, **{"stdout": log, **options})
        self.addCleanup(self.stop, child)
        return child

    @staticmethod
    def stop(child):
        if child.stdin:
            child.stdin.close()  # the end of a subak-play
        elif child.poll() is None:
            child.send_signal(signal.SIGTERM)
        if child.stdout:
            child.stdout.close()
        try:
            child.wait(timeout=DEADLINE_S)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()

    def start_prometheus(self, address):
        file = os.path.join(self.folder, "prometheus.yml")
        with open(file, "w", encoding="utf-8") as out:
            out.write(CONFIG.format(target=self.ports["http"], root=os.path.abspath(ROOT)))
        data = os.path.join(self.folder, "data")
        self.start("prometheus", f"--config.file={file}", f"--storage.tsdb.path={data}",
                   f"--web.listen-address={address}", "--log.level=warn")
        return address

    def answered(self, expr):
        """The range since the start."""
        found = self.prometheus.range(expr, self.begin, time.time(), 1)
        return [points for _, points in found if points]

    def test_every_panel_and_rule_has_an_answer(self):
        open_panels = {}
        for name, dashboard in grafana.dashboards().items():
            for panel in grafana.panels(dashboard):
                for target in panel["targets"]:
                    key = f"{name}: {panel['title']} {target['refId']}"
                    open_panels[key] = grafana.query(dashboard, target["expr"], RATE)
        self.assertGreater(len(open_panels), 40)

        def all_answered():
            for key in [k for k, expr in open_panels.items() if self.answered(expr)]:
                del open_panels[key]
            return not open_panels

        try:
            until("an answer", all_answered)
        except AssertionError:
            self.fail("panels without data:\n" + "\n".join(f"{k}: {e}" for k, e in open_panels.items()))
        self.check_variables()
        self.check_rules()
        self.subakd.send_signal(signal.SIGTERM)
        until("SubakDown pending", lambda: self.prometheus.now('ALERTS{alertname="SubakDown"}'))

    def check_variables(self):
        for dashboard in grafana.dashboards().values():
            for series, label in grafana.label_values(dashboard):
                values = self.prometheus.get("series", **{"match[]": series, "start": self.begin})
                self.assertTrue(values and all(v[label] for v in values), f"{series} has no {label}")

    def check_rules(self):
        """All evaluate; of the alerts only the one that subak-play provokes fires."""
        until("the bypass alert", lambda: self.prometheus.now('ALERTS{alertname="SubakBypassAttempts"}'))
        groups = self.prometheus.get("rules")["groups"]
        rules = [rule for group in groups for rule in group["rules"]]
        self.assertGreater(len(rules), 15)
        self.assertEqual([r for r in rules if r["health"] != "ok"], [])
        firing = {r["name"] for r in rules if r["type"] == "alerting" and r["state"] == "firing"}
        self.assertEqual(firing, {"SubakBypassAttempts"})
        for rule in rules:
            if rule["type"] == "recording" and not rule["name"].endswith("_1h"):
                self.assertTrue(self.prometheus.now(rule["name"]), rule["name"])


if __name__ == "__main__":
    if shutil.which("prometheus") is None:
        print("no prometheus")
        sys.exit(77)
    unittest.main()
