#!/usr/bin/env python3
"""subak whatif: of the service, of a live store and of its backup; its file and its refusals.

Usage: whatif_test.py PATH_TO_SUBAK PATH_TO_SUBAKD
"""

import os
import time
import unittest

from service_case import Service


class WhatIf(Service):
    def file(self, text):
        path = os.path.join(self.folder.name, f"change{time.monotonic_ns()}.yaml")
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)
        return path

    def history(self):
        """A job that held all 16 GPUs of a cluster, and one that waits for it."""
        cluster, team = self.cluster(), self.account()
        first = self.submit(cluster, team, "--gpus", "16")
        self.ok_with("starting", "job", "get", first)
        second = self.submit(cluster, team, "--gpus", "8")
        self.ok_with(second, "queue", "--account", team)
        return cluster, team, first, second

    def test_nodes_would_end_a_wait(self):
        cluster, team, first, second = self.history()
        node = self.json("cluster", "nodes", "--cluster", cluster)["nodes"][0]["spec"]["name"]
        change = self.file(f"nodes:\n  - {{cluster: {cluster}, like: {node}, count: +1}}\n")
        report = self.json("whatif", "-f", change)
        account = {row["account"]: row for row in report["accounts"]}[team]
        self.assertEqual(int(account["jobs"]), 2)
        self.assertEqual(report["nearness"]["withinMinute"], 1)
        moved = {row["jobId"]: row for row in report["present"]["starts"]}
        self.assertIn(second, moved)
        self.assertEqual(moved[second]["after"], report["to"])
        self.assertGreater(report["changed"]["installedGpus"], report["unchanged"]["installedGpus"])
        text = self.ok("whatif", "-f", change)
        self.assertIn("WITH THE CHANGE", text)
        self.assertIn("jobs that move the most", text)
        self.assertRegex(text, rf"{second} .* {team} ")
        self.ok("job", "cancel", second)
        self.ok("job", "cancel", first)

    def test_a_store_gives_the_answer_of_the_service(self):
        _, team, first, second = self.history()
        self.ok("job", "cancel", second)
        self.ok("job", "cancel", first)
        change = self.file(f"accounts:\n  - path: {team}\n    shares: 7\npolicy:\n  halfLife: 3d\n")
        backup = os.path.join(self.folder.name, "backup.db")
        self.ok("admin", "backup", backup)
        served = self.json("whatif", "-f", change)
        stored = self.json("whatif", "-f", change, "--state", backup)
        live = self.json("whatif", "-f", change, "--state", os.path.join(self.folder.name, "subak.db"))
        self.assertEqual(stored, served)
        self.assertEqual(live, served)

    def test_no_change_gives_equal_replays(self):
        self.history()
        report = self.json("whatif", "-f", self.file(""))
        self.assertEqual(report["unchanged"], report["changed"])
        self.assertEqual(report["present"].get("starts", []), [])
        for account in report["accounts"]:
            for values in (account["waitMeanSeconds"], account["gpuHours"]):
                self.assertEqual(values.get("unchanged"), values.get("changed"))

    def test_refusals(self):
        _, team, _, _ = self.history()
        file = self.file
        for text, wanted in (
            ("nodes: [{like: n}]\n", "change"),
            ("shares: 3\n", "shares: unknown key, want accounts"),
            ("nodes: [{like: n, count: some}]\n", 'count: was "some"'),
            ("load: [{like: ml, times: -1}]\n", 'times: was "-1"'),
            (f"accounts: [{{path: {team}, sharez: 3}}]\n", "sharez: not a field"),
        ):
            self.assertIn(wanted, self.fails(2, "whatif", "-f", file(text)))
        self.assertIn("accounts[0].path", self.fails(4, "whatif", "-f", file("accounts: [{path: nobody, shares: 3}]\n")))
        self.assertIn("nodes[0].remove", self.fails(4, "whatif", "-f", file("nodes: [{remove: nowhere}]\n")))
        self.assertIn("policy.half_life", self.fails(4, "whatif", "-f", file("policy: {half_life: 3d}\n")))
        self.assertIn("halfLife", self.fails(1, "whatif", "-f", file("policy: {halfLife: soon}\n")))
        self.assertIn("--from", self.fails(2, "whatif", "-f", file(""), "--from", "soon"))
        self.assertIn("want a time before the last fact", self.fails(1, "whatif", "-f", file(""), "--from", "2999-01-01"))
        self.assertIn("no such file", self.fails(4, "whatif", "-f", file(""), "--state", "/nowhere/subak.db"))
        self.fails(4, "whatif", "-f", "/nowhere/change.yaml")


if __name__ == "__main__":
    unittest.main()
