#!/usr/bin/env python3
"""What people do with accounts and the policy: edits, limits, files, undo, and the end of an account.

Usage: account_commands_test.py PATH_TO_SUBAK PATH_TO_SUBAKD
"""

import json
import os
import re
import subprocess
import time
import unittest

from service_case import SUBAK, Service


def yaml_of(paths):
    return "accounts:\n" + "".join(f"- path: {path}\n" for path in paths)


class Accounts(Service):
    def test_limits_on_jobs(self):
        cluster, name = self.cluster(), self.account()
        limits = ("--limit", "gpu=16,time=2h,jobs=1", "--user-limit", "gpu=2")
        out = self.ok("account", "set", name, *limits, "--reason", "small jobs")
        self.assertIn("- limit: none\n+ limit: gpu=16,jobs=1,time=2h\n", out)
        self.assertIn("- user-limit: none\n+ user-limit: gpu=2\n", out)
        account = self.json("account", "get", name)
        self.assertEqual(account["limit"], [{"product": "gpu", "milligpu": "16000"}])
        self.assertEqual(account["jobLimits"], "jobs=1,time=2h")
        self.assertEqual(account["userLimits"], "gpu=2")
        job = ("job", "submit", "--cluster", cluster, "--account", name, "--gpus", "1")
        done = self.fails(1, *job)
        self.assertIn("time_limit", done)
        self.assertIn(f"account {name} allows time limits of at most 2h", done)
        done = self.fails(1, *job[:-1], "4", "--user", "ana", "--time-limit", "1h")
        self.assertIn(f"account {name} allows each user at most 2 GPUs at once", done)
        self.assertIn("time=2", self.fails(1, "account", "set", name, "--user-limit", "jobs=2,cores=4,time=2", "--reason", "x"))
        self.ok("account", "set", name, "--limit", "none", "--reason", "no limits")
        self.assertIn("limit:       none", self.ok("account", "get", name))

    def test_account_edits_show_a_diff(self):
        name = self.account()
        out = self.ok("account", "set", name, "--quota", "gpu=16", "--reason", "grow", "--dry-run")
        self.assertIn("would change", out)
        self.assertIn("- quota: none\n+ quota: gpu=16\n", out)
        self.assertIn("quota:       none", self.ok("account", "get", name))
        out = self.ok("account", "set", name, "--quota", "gpu=16", "--lend", "none", "--reason", "grow")
        self.assertIn("- lend: unlimited\n+ lend: 0\n", out)
        self.assertIn("already has these values", self.ok("account", "set", name, "--quota", "gpu=16", "--reason", "again"))
        out = self.ok("account", "set", name, "--time-limits", "enforced", "--reason", "fair to all")
        self.assertIn("- time-limits: inherit\n+ time-limits: enforced\n", out)
        account = self.json("account", "get", name)
        self.assertEqual(account["timeLimits"], "TIME_LIMITS_ENFORCED")
        self.ok("account", "set", name, "--time-limits", "inherit", "--reason", "as all others")
        self.assertEqual(account["quota"], [{"product": "gpu", "milligpu": "16000"}])
        self.assertEqual(account["shares"], "3")
        self.assertIn("gpu=16", self.ok("account", "tree"))
        self.ok("account", "hold", name, "--reason", "audit")
        self.assertIn("held", self.ok("account", "tree", name))
        self.ok("account", "resume", name, "--reason", "done")
        self.ok("account", "drain", name, "--reason", "leaving")
        history = self.ok("account", "history", name)
        self.assertIn("new team", history)
        self.assertIn("leaving", history)
        self.ok("account", "delete", name, "--reason", "left")
        self.assertIn("deleted", self.ok("account", "history", name))
        self.assertIn(name, self.ok("audit", "--subject", name))

    def test_budgets_follow_their_time_zone(self):
        name = self.account()
        wrong = self.fails(1, "policy", "set", "budgetZone=Europe/Atlantis", "--reason", "x")
        self.assertIn("Europe/Atlantis", wrong)
        self.ok("policy", "set", "budgetZone=Pacific/Kiritimati", "--reason", "as the accounting does")
        self.addCleanup(self.ok, "policy", "set", "budgetZone=UTC", "--reason", "as before")
        self.ok("account", "set", name, "--budget", "10h/day,5h/12h", "--reason", "grant")
        answer = self.json("budget", "list", name)
        self.assertEqual(answer["zone"], "Pacific/Kiritimati")
        ends = {row["budget"]: row["to"][11:] for row in answer["rows"]}
        self.assertEqual(ends["10h/day"], "10:00:00Z")  # 14 hours before UTC
        self.assertIn(ends["5h/12h"], ("00:00:00Z", "12:00:00Z"))
        self.assertIn(" 11:00", self.ok("budget", "list", name))  # local time
        self.assertIn("T10:00:00.000Z", self.ok("budget", "list", name, "--output", "csv"))

    def test_default_time_limit_of_an_account(self):
        name = self.account()
        out = self.ok("account", "set", name, "--default-time-limit", "4h", "--reason", "short jobs")
        self.assertIn("- default-time-limit: inherit\n+ default-time-limit: 4h\n", out)
        self.assertEqual(self.json("account", "get", name)["defaultTimeLimit"], "14400s")
        self.assertIn("default-time-limit: 4h", self.ok("account", "get", name))
        self.ok("account", "set", name, "--shares", "2", "--reason", "other")
        self.assertIn("default-time-limit: 4h", self.ok("account", "get", name))
        self.ok("account", "set", name, "--default-time-limit", "inherit", "--reason", "as all others")
        self.assertNotIn("defaultTimeLimit", self.json("account", "get", name))

    def test_account_file(self):
        name = self.account()
        text = f"accounts:\n- path: {name}\n  shares: 5\n- path: {name}.a\n  quota: gpu=4\n"
        path = os.path.join(self.folder.name, "accounts.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        done = self.run_subak("account", "diff", "-f", path)
        self.assertEqual((done.returncode, done.stderr), (1, ""))
        self.assertIn("+ quota: gpu=4", done.stdout)
        self.assertIn("2 accounts would change", self.ok("account", "apply", "-f", path, "--reason", "x", "--dry-run"))
        self.assertIn("2 accounts changed", self.ok("account", "apply", "-f", path, "--reason", "x"))
        self.assertEqual(self.ok("account", "diff", "-f", path), "")
        self.ok("account", "apply", "-f", "-", "--reason", "x", stdin=text)
        done = self.run_subak("account", "diff", "-f", path, "--prune")
        others = [line for line in done.stdout.splitlines() if line.startswith("apply would")]
        self.assertTrue(all("delete" in line for line in others), others)
        self.assertFalse(any(line.endswith((name, f"{name}.a")) for line in others), others)
        self.ok("account", "delete", f"{name}.a", "--reason", "x")

    def test_one_edit_of_a_file_is_undone(self):
        name = self.account()
        self.ok("account", "set", name, "--quota", "8", "--reason", "x")
        before = self.json("account", "get", name)["quota"]
        text = f"- {{path: {name}, quota: 4}}\n- {{path: {name}.a, quota: 3}}\n- {{path: {name}.b, quota: 1}}\n"
        apply = "account", "apply", "-f", "-", "--reason", "split"
        told = self.ok(*apply, stdin=text)
        revision = re.search(r"3 accounts changed, revision (\d+)", told).group(1)
        wrong = text.replace("quota: 3", "quota: 5")
        self.assertIn(f"{name}.a: quota", self.run_subak(*apply, stdin=wrong).stderr)
        self.assertIn("revision", self.run_subak(*apply, "--revision", "1", stdin=text).stderr)
        undo = "account", "undo", revision, "--reason", "a mistake"
        self.assertIn(f"would delete account {name}.b", self.ok(*undo, "--dry-run"))
        self.assertIn("3 accounts changed", self.ok(*undo))
        self.assertEqual(self.json("account", "get", name)["quota"], before)
        self.assertIn(f"{name}.b", self.fails(4, *undo))

    def test_an_account_moves_with_its_usage_and_back(self):
        name, other = self.account(), self.account()
        self.ok("account", "set", f"{name}.a", "--quota", "2", "--reason", "x")
        self.ok("account", "set", f"{name}.a/ana", "--shares", "3", "--reason", "x")
        move = "account", "move", f"{name}.a", f"{other}.b", "--reason", "a new department"
        told = self.ok(*move, "--dry-run")
        self.assertIn(f"would move account {other}.b", told)
        self.assertIn(f"- path: {name}.a", told)
        self.assertIn("1 account or user below it would move along", told)
        revision = re.search(r"1 account changed, revision (\d+)", self.ok(*move)).group(1)
        self.assertEqual(self.json("account", "get", f"{other}.b/ana")["shares"], "3")
        self.fails(4, "account", "get", f"{name}.a")
        self.assertIn(f"moved from {name}.a to {other}.b", self.ok("account", "history", f"{other}.b"))
        self.assertIn("want a path that no account has", self.fails(1, "account", "move", name, other, "--reason", "x"))
        self.assertIn("not below the account itself", self.fails(1, "account", "move", name, f"{name}.c", "--reason", "x"))
        self.assertIn(f"would move account {name}.a", self.ok("account", "undo", revision, "--reason", "x", "--dry-run"))
        self.ok("account", "undo", revision, "--reason", "x")
        self.assertEqual(self.json("account", "get", f"{name}.a/ana")["shares"], "3")

    def test_a_managed_account_needs_an_override(self):
        name = self.account()
        self.ok("account", "set", name, "--managed-by", "pipeline", "--reason", "x")
        self.assertIn("managed-by:  pipeline", self.ok("account", "get", name))
        edit = "account", "set", f"{name}.a", "--shares", "2", "--reason", "by hand"
        self.assertIn("managed by pipeline", self.fails(1, *edit))
        self.assertIn("managed by pipeline", self.fails(1, "account", "delete", name, "--reason", "x"))
        text = f"- {{path: {name}, managed-by: none}}\n"
        apply = "account", "apply", "-f", "-", "--reason", "x"
        self.assertIn("managed by pipeline", self.run_subak(*apply, stdin=text).stderr)
        self.ok(*edit, "--override")
        self.assertIn("override of managed-by pipeline", self.ok("account", "history", f"{name}.a"))
        self.ok(*apply, "--override", stdin=text)
        self.ok("account", "set", f"{name}.a", "--shares", "3", "--reason", "x")

    def test_policy(self):
        self.assertIn("patience", self.ok("policy", "get"))
        before = self.ok("policy", "get", "patience").strip()
        set_it = "policy", "set", "patience=3h", "keepWhole=2", "--reason", "gangs wait too long"
        self.assertIn(f"patience: {before} -> 3h", self.ok(*set_it, "--dry-run"))
        self.assertEqual(self.ok("policy", "get", "patience").strip(), before)
        self.assertIn("keepWhole: 0 -> 2", self.ok(*set_it))
        self.assertEqual(self.ok("policy", "get", "patience").strip(), "3h")
        self.assertIn("nothing changed", self.ok(*set_it))
        self.assertIn("gangs wait too long", self.ok("audit", "--subject", "policy"))
        self.fails(4, "policy", "get", "nothing")
        self.fails(2, "policy", "set", "patience", "--reason", "x")
        for change, wanted in (
            ("patience=soon", "patience"), ("hold=0s", "hold"), ("order=usage-tick", "order"), ("reserveJobs=-1", "reserveJobs"),
            ("monthOpenDays=0", "from 1 to 28"), ("monthOpenDays=29", "from 1 to 28"), ("monthOpenDays=3d", "from 1 to 28")
        ):
            self.assertIn(wanted, self.fails(1, "policy", "set", change, "--reason", "x"))
        self.fails(4, "policy", "set", "nothing=1", "--reason", "x")
        self.assertIn("each key once", self.fails(1, "policy", "set", "hold=2m", "hold=3m", "--reason", "x"))
        self.ok("policy", "set", f"patience={before}", "keepWhole=0", "--reason", "back")

    def test_policy_shows_the_order_first(self):
        cluster = self.cluster()
        few, many = self.account(), self.account()
        held = [self.submit(cluster, many, "--gpus", "8") for _ in range(2)]  # all GPUs
        first = self.submit(cluster, many, "--gpus", "1")
        second = self.submit(cluster, few, "--gpus", "1")
        set_it = "policy", "set", "order=fifo", "--reason", "x"
        out = self.ok(*set_it, "--dry-run")
        self.assertRegex(out, rf"{second} +{few} +1 +2\n")
        self.assertRegex(out, rf"{first} +{many} +2 +1\n")
        self.assertIn("order: target-share -> fifo\ndry run: nothing was changed", out)
        answer = json.loads(self.ok(*set_it, "--output", "json"))
        self.assertEqual([(place["job"], place["before"], place["after"]) for place in answer["order"]],
                         [(second, 1, 2), (first, 2, 1)])
        self.assertIn("the order of the first 2 waiting jobs does not change", self.ok("policy", "set", "hold=2m", "--reason", "x"))
        self.ok("policy", "set", "order=target-share", "targetShareGain=8", "--reason", "back")
        self.assertEqual(self.ok("policy", "get", "targetShareGain").strip(), "8")
        self.assertIn("from 0.001", self.fails(1, "policy", "set", "targetShareFloor=0", "--reason", "x"))
        for job in (*held, first, second):
            self.ok("job", "cancel", job)

    def test_retroactive_shares_show_the_order_first(self):
        cluster = self.cluster()
        one, other = self.account(), self.account()
        held = [self.submit(cluster, name, "--gpus", "8") for name in (one, other)]  # all GPUs
        time.sleep(1.1)  # both have past usage, and the first account has a bit more
        first, second = (self.submit(cluster, name, "--gpus", "1") for name in (one, other))
        set_it = "account", "set", one, "--shares", "12", "--retroactive", "--reason", "was wrong"
        dry = self.ok(*set_it, "--dry-run")
        self.assertRegex(dry, rf"{second} +{other} +1 +2\n")
        self.assertRegex(dry, rf"{first} +{one} +2 +1\n")
        self.assertIn("would change", dry)
        self.assertEqual(self.json("account", "get", one)["shares"], "3")
        self.assertIn("want it with --shares", self.fails(2, "account", "set", one, "--retroactive", "--reason", "x"))
        refused = self.fails(1, "account", "set", "a-new-one", "--shares", "2", "--retroactive", "--reason", "x")
        self.assertIn("want an account that exists", refused)
        answer = json.loads(self.ok(*set_it, "--output", "json"))
        places = {place["job"]: (place["before"], place["after"]) for place in answer["order"]}
        self.assertEqual(places, {second: (1, 2), first: (2, 1)})
        self.assertLess(self.surplus(one) / self.surplus(other), 2, "no adjustment is added")
        edit = self.json("account", "history", one)["edits"][0]
        self.assertEqual(edit["reason"], "retroactive shares: was wrong")
        self.assertIn("shares: 3", self.ok("account", "undo", edit["sequence"], "--reason", "back"))
        self.assertEqual(self.json("account", "history", one)["edits"][0]["reason"], "retroactive shares: back")
        self.assertGreater(self.surplus(one) / self.surplus(other), 0.5, "the undo is retroactive too")
        text = f"accounts:\n- {{path: {one}, shares: 12}}\n"
        out = self.run_subak("account", "apply", "-f", "-", "--retroactive", "--reason", "x", stdin=text)
        self.assertEqual(out.returncode, 0, out.stderr)
        self.assertRegex(out.stdout, rf"{first} +{one} +2 +1\n")
        self.assertLess(self.surplus(one) / self.surplus(other), 2)
        for job in (*held, first, second):
            self.ok("job", "cancel", job)

    def surplus(self, path):
        """The surplus of an account in the order, with its adjustment, in GPU-seconds."""
        return next(row["surplusGpuSeconds"] for row in self.json("share", path)["rows"] if row["account"] == path)

    def test_delete_waits_for_the_jobs_of_a_drained_account(self):
        cluster, name = self.cluster(), self.account()
        self.ok("account", "set", name + ".a", "--reason", "x")
        job = self.submit(cluster, name + ".a", "--gpus", "1", "--user", "ana", "--held")
        command = [SUBAK, "account", "delete", name, "--drain", "--reason", "x"]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        with subprocess.Popen(command, **pipes, text=True, env=self.environment) as waits:
            self.assertIn(job, waits.stderr.readline())
            self.assertIn(name, self.paths())
            self.ok("job", "cancel", job)
            out = waits.communicate(timeout=60)[0]
        self.assertEqual(waits.returncode, 0)
        self.assertIn(f"account {name} deleted with 2 below it", out)
        self.assertNotIn(name, self.paths())

    def test_prune_does_what_its_dry_run_said(self):
        cluster, keep, gone = self.cluster(), self.account(), self.account()
        job = self.submit(cluster, gone, "--gpus", "1", "--user", "ana", "--held")
        text = yaml_of(path for path in self.paths() if path.split(".")[0] != gone and "/" not in path)
        dry = ("account", "apply", "-f", "-", "--prune", "--reason", "x", "--dry-run")
        refused = self.run_subak(*dry, stdin=text)
        self.assertEqual((refused.returncode, refused.stdout), (1, ""), "a dry run says it as well")
        self.assertIn(job, refused.stderr)
        self.ok("job", "cancel", job)
        told = self.ok(*dry, stdin=text)
        self.assertRegex(told, rf"would delete account {gone}/ana\n(.*\n)*would delete account {gone}\n")
        self.assertNotIn(f"account {keep}\n", told)
        done = self.ok(*dry[:-1], stdin=text)
        told = told.replace("would change", "changed").replace("would delete", "delete")
        self.assertEqual(told, re.sub(r", revision \d+$", "", done, flags=re.M))
        self.assertNotIn(gone, self.paths())

    def paths(self):
        return [account["path"] for account in self.json("account", "tree", "--users")["accounts"] if account["path"]]


if __name__ == "__main__":
    unittest.main()
