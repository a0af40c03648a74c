#!/usr/bin/env python3
"""The real subak against the real subakd: exit codes and what each command says. account_commands_test.py has accounts.

Usage: subak_test.py PATH_TO_SUBAK PATH_TO_SUBAKD
"""

import csv
import io
import json
import os
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree

from service_case import DATA, DEADLINE_S, SUBAK, Service


class Commands(Service):
    def test_status_and_version(self):
        self.cluster()
        out = self.ok("status")
        self.assertIn("serving, leader", out)
        self.assertIn("NVIDIA-H100", out)
        self.assertEqual(self.json("status")["state"], "serving")
        self.assertIn("state: serving", self.ok("status", "--output", "yaml"))
        self.assertRegex(self.ok("version"), r"^subak \d+\.\d+\.\d+\n$")

    def test_refusals(self):
        name = self.account()
        self.fails(4, "account", "get", "nobody")
        self.fails(1, "account", "set", name, "--shares", "2", "--reason", "x", "--revision", "77")
        self.assertIn("path", self.fails(1, "account", "set", "Bad Name", "--reason", "x"))
        self.fails(2, "account", "set", name, "--shares", "2")
        self.fails(4, "job", "get", "1-999999")
        self.fails(4, "job", "watch", "1-999999")
        self.fails(2, "whatif")
        self.assertEqual(self.run_subak("--server", "127.0.0.1:1", "status").returncode, 3)

    def test_jobs(self):
        cluster, team = self.cluster(), self.account()
        ask = ("--gpus", "16", "--user", "ana", "--name", "train")
        first = self.submit(cluster, team, *ask, "--request-id", "r1-" + cluster)
        self.assertEqual(self.submit(cluster, team, *ask, "--request-id", "r1-" + cluster), first)
        second = self.submit(cluster, team, "--gpus", "8", "--time-limit", "2h")
        self.assertIn("would queue 1x1", self.ok("job", "submit", "--cluster", cluster, "--account", team,
                                                 "--gpus", "1", "--dry-run"))  # fmt: skip
        job = self.json("job", "get", first)
        self.assertEqual(job["state"], "JOB_STATE_STARTING")
        self.assertEqual(len(job["pods"]), 2)
        self.assertIn("0-7", self.ok("job", "get", first))
        self.assertIn("train", self.ok("job", "list", "--account", team))
        queue = self.ok_with(second, "queue", "--account", team)
        self.assertIn("1x8", queue)
        rows = list(csv.DictReader(io.StringIO(self.ok("queue", "--account", team, "--output", "csv"))))
        self.assertEqual([(row["JOB"], row["ACCOUNT"]) for row in rows], [(second, team)])
        why = self.ok("why", second)
        self.assertIn("position ", why)
        self.assertIn("it waits because of", why)
        self.assertIn(team, why)
        self.assertGreaterEqual(len(self.json("why", second)["reasons"]), 1)
        self.assertIn("free by", self.ok("job", "get", first))  # a guess: it has no limit
        self.assertIn("no time limit given", self.ok("why", first))
        self.ok("account", "set", team, "--time-limits", "enforced", "--reason", "fair to all")
        self.ok_with("time limit: 2h, enforced", "job", "get", second)
        self.ok("job", "hold", second)
        self.assertIn("paused", self.ok("job", "get", second))
        self.ok("job", "release", second)
        self.ok("job", "cancel", second, "--reason", "enough")
        self.assertIn("cancelled", self.ok("job", "watch", second))
        self.assertIn(second, self.ok("job", "list", "--state", "done"))
        past = self.ok("job", "history", second)
        self.assertRegex(past, rf"created by loopback with 1 pod, queued; account {team}\n")
        self.assertRegex(past, r"paused until a person releases it by loopback\n(.*\n)*.* queued by loopback\n")
        self.assertRegex(past, r"ended while it waited by loopback: cancelled: enough\n$")
        self.assertRegex(self.ok("job", "history", first), r"(?m)^attempt 1\n  .* started: GPUs held for 2 pods until ")
        events = self.json("job", "history", second)["events"]
        self.assertEqual(events[0]["kind"], "JOB_EVENT_KIND_CREATED")
        self.assertEqual(len(self.json("job", "history", second, "--limit", "2")["events"]), 2)
        self.assertEqual(len(self.ok("job", "history", second, "--output", "csv").splitlines()), 1 + len(events))
        self.fails(4, "job", "submit", "--cluster", cluster, "--account", "nobody", "--gpus", "1")
        share = {row["account"] + row["user"]: row for row in self.json("share", team)["rows"]}
        self.assertEqual(share[team]["heldMilligpu"], "16000")
        self.assertIn("ana", self.ok("share", team))
        self.assertIn("RawShares", self.ok("share", team, "--output", "wide"))

    def test_limits_that_are_not_counted_on(self):
        cluster, team = self.cluster(), self.account()
        late = self.submit(cluster, team, "--gpus", "1", "--time-limit", "1s", "--name", "prep-1")
        self.ok_with("overruns: ", "job", "get", late)
        self.assertIn("1s; the job ran beyond its time limit, so Subak does not trust this limit", self.ok("job", "get", late))
        self.assertIn("\nthe job ran beyond its time limit, so Subak does not trust this limit\n", self.ok("why", late))
        like_it = self.submit(cluster, team, "--gpus", "1", "--time-limit", "2h", "--name", "prep-2")
        said = "similar jobs ran longer lately, so Subak does not trust this limit"
        self.ok_with("2h; " + said, "job", "get", like_it)
        self.assertIn("\n" + said + "\n", self.ok("why", like_it))
        other = self.submit(cluster, team, "--gpus", "1", "--time-limit", "2h", "--name", "eval-2")
        self.assertNotIn("does not trust", self.ok_with("free by", "job", "get", other))
        self.ok("account", "set", team, "--time-limits", "enforced", "--reason", "fair to all")
        self.assertNotIn("counted on", self.ok_with("2h, enforced", "job", "get", like_it))

    def rows(self, *arguments):
        return list(csv.DictReader(io.StringIO(self.ok(*arguments, "--output", "csv"))))

    def test_job_list_says_where_why_and_whose(self):
        cluster, team = self.cluster(), self.account()
        first = self.submit(cluster, team, "--gpus", "16", "--user", "ana")
        second = self.submit(cluster, team, "--gpus", "H100=8", "--user", "ben")
        rows = {row["JOB"]: row for row in self.rows("job", "list", "--account", team)}
        self.assertRegex(rows[first]["NODE"], r"^\S+,\S+$")
        self.assertRegex(rows[first]["REASON"], r"^until \d\d:\d\d:\d\d$")
        self.assertRegex(rows[first]["SUBMITTED"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
        self.assertEqual((rows[second]["NODE"], rows[second]["REASON"]), ("", "WaitingForCapacity"))
        self.assertTrue(rows[second]["ELAPSED"].isdigit())
        out = self.ok("job", "list", "--account", team)
        self.assertRegex(out, r"JOB +NAME +ACCOUNT +SHAPE +GPUS +STATE +ELAPSED +NODE +REASON")
        self.assertRegex(out, r"\+1")
        self.assertRegex(self.ok("job", "list", "--output", "wide"), r"SUBMITTED \(CET\)")
        self.assertEqual([row["JOB"] for row in self.rows("job", "list", "--account", team, "--user", "ben")], [second])
        self.environment["SUBAK_USER"] = "ana"
        self.assertEqual([row["JOB"] for row in self.rows("job", "list", "--me", "--account", team)], [first])
        self.environment["SUBAK_USER"] = "nobody-here"
        self.assertIn("no jobs of user nobody-here", self.ok("job", "list", "--me"))
        del self.environment["SUBAK_USER"]
        self.assertRegex(self.ok("job", "get", first), r"held: +until \d{4}-\d\d-\d\d \d\d:\d\d:\d\d CET")
        self.assertRegex(self.ok("why", first), r"held until \d{4}-")

    def test_the_queue_as_it_would_be(self):
        cluster, team = self.cluster(), self.account()
        self.assertIn("nothing would wait", self.ok("queue", "--would", "--account", team))
        self.submit(cluster, team, "--gpus", "16", "--gpus-per-pod", "8", "--name", "first")
        second = self.submit(cluster, team, "--gpus", "8", "--name", "second")
        out = self.ok_with(second, "queue", "--would", "--account", team)
        self.assertRegex(out, r"POS +JOB +NAME +ACCOUNT +SHAPE +GPUS +WAIT +NEXT PASS\n")
        self.assertRegex(out, rf"\d+ +{second} +second +{team} +1x8 +8 +\S+ +WaitingForCapacity")
        row = self.json("queue", "--would", "--account", team)["rows"][0]
        self.assertEqual((row["job"]["id"], row.get("pending"), row.get("wouldStart")), (second, False, False))
        self.fails(4, "queue", "--would", "--account", "nobody")

    def test_the_fleet_by_time(self):
        cluster, team = self.cluster(), self.account()
        first = self.submit(cluster, team, "--gpus", "16", "--time-limit", "2h", "--name", "a<b&c")
        second = self.submit(cluster, team, "--gpus", "8", "--time-limit", "1h", "--name", "next")
        out = self.ok_with(second, "plan", "--cluster", cluster)
        self.assertRegex(out, r"^\dh from \d{4}-\d\d-\d\d \d\d:\d\d:\d\d CET, a column is \S+; state \d+, forecast")
        self.assertRegex(out, rf"runs {first} a<b&c +█+")
        self.assertRegex(out, rf"starts {second} next +[▁-█]+")
        about = r"~(\d\d-\d\d )?\d\d:\d\d"  # of another day, as late in the evening
        self.assertRegex(out, rf"{second} +next +{team} +8 +forecast +{about} +{about}")
        plan = self.json("plan", "--cluster", cluster, "--until", "5h")
        for row in plan["rows"]:
            for i, free in enumerate(row["freeMilligpu"]):
                used = sum(int(lane["milligpu"][i]) for lane in row["lanes"])
                self.assertEqual(used + int(free) + int(row["closedMilligpu"][i]), int(row["installedMilligpu"]))
        path = os.path.join(self.folder.name, "plan.svg")
        self.assertEqual(self.ok("plan", "--cluster", cluster, "--output", "svg", "--file", path), "")
        texts = [node.text for node in xml.etree.ElementTree.parse(path).iter() if node.text]
        self.assertIn(f"{first} a<b&c", texts)
        self.assertIn("<svg", self.run_subak("plan", "--output", "svg").stdout)
        self.assertEqual(self.rows("plan", "--cluster", cluster)[0]["JOB"], first)
        node = plan["rows"][0]["name"]
        self.assertIn(node, self.ok("plan", "--cluster", cluster, "--domain", node))
        self.fails(4, "plan", "--cluster", cluster, "--domain", "nowhere")
        self.fails(1, "plan", "--until", "40d")
        self.fails(2, "queue", "--output", "svg")

    def test_short_product_names(self):
        cluster, team = self.cluster(), self.account()
        job = self.json("job", "get", self.submit(cluster, team, "--gpus", "h100=8"))
        self.assertEqual(job["spec"]["request"]["groups"][0]["shape"]["products"], ["NVIDIA-H100-80GB-HBM3"])
        self.ok("account", "set", team, "--quota", "H100=16", "--reason", "x")
        self.assertEqual(self.json("account", "get", team)["quota"][0]["product"], "NVIDIA-H100-80GB-HBM3")
        done = self.run_subak("account", "set", team, "--limit", "X900=16", "--reason", "on order")
        self.assertEqual(done.returncode, 0)
        self.assertIn("warning: limit: no node has the product X900", done.stderr)

    def test_what_a_pod_asks_of_its_node(self):
        cluster, team = self.cluster(), self.account()
        job = self.json("job", "get", self.submit(
            cluster, team, "--gpus", "1", "--selector", "zone=a", "--toleration", "gpu:NoSchedule,team=ml",
            "--affinity", "gen in (a,b)", "--resource", "rdma/hca=1", "--host-port", "80/UDP"))  # fmt: skip
        shape = job["spec"]["request"]["groups"][0]["shape"]
        self.assertEqual(len(shape["tolerations"]), 2)
        self.assertEqual(shape["affinity"][0]["requirements"][0]["values"], ["a", "b"])
        path = os.path.join(self.folder.name, "job.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(job["spec"], file)
        again = self.submit(cluster, team, "--file", path)
        self.assertEqual(self.json("job", "get", again)["spec"]["request"], job["spec"]["request"])

    def test_import_shows_what_changes(self):
        name = self.cluster()
        out = self.ok("cluster", "import", "--cluster", name, "--nodes", "3x4:NVIDIA-H100-80GB-HBM3", "--dry-run")
        self.assertIn("gpus 8 -> 4", out)
        self.assertIn("1 added, 2 changed, 0 removed", out)
        self.assertEqual(len(self.json("cluster", "nodes", "--cluster", name)["nodes"]), 2)
        out = self.ok("cluster", "import", "--cluster", name, "--nodes", "1x8:NVIDIA-H100-80GB-HBM3")
        self.assertIn("0 added, 0 changed, 1 removed", out)
        self.assertRegex(out, r"(?m)^- node \S+: 8 x NVIDIA-H100-80GB-HBM3$")

    def test_completion_knows_names(self):
        cluster, team = self.cluster(), self.account()
        job = self.submit(cluster, team, "--gpus", "1")

        def completed(*words):
            script = 'source <("$1" completion bash); shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); ' \
                '_subak; printf "%s\\n" "${COMPREPLY[@]}"'
            done = subprocess.run(["bash", "-c", script, "bash", SUBAK, SUBAK, *words], capture_output=True, text=True,
                                  timeout=DEADLINE_S, env=self.environment, check=True)  # fmt: skip
            self.assertEqual(done.stderr, "")
            return done.stdout.split()

        self.assertEqual(completed("account", "get", team), [team])
        self.assertIn(job, completed("why", ""))
        # bash cuts words at colons
        self.assertEqual(completed("--server", "host", ":", "1", "account", "get", team), [team])
        self.assertIn(cluster, completed("job", "submit", "--cluster", ""))
        self.assertIn(team, completed("job", "submit", "--gpus", "1", "--account", ""))
        self.assertEqual(completed("cluster", "mode", cluster, "e"), ["enforce"])
        self.assertEqual(completed("job", "list", "--state", "st"), ["starting"])
        self.assertEqual(completed("job", "su"), ["submit"])
        self.assertIn("--toleration", completed("job", "submit", "--tol"))
        self.assertEqual(completed("usage", "report", "--by", "pro"), ["product"])
        self.environment["SUBAK_SERVER"], address = "127.0.0.1:1", self.environment["SUBAK_SERVER"]
        try:
            self.assertEqual(completed("account", "get", ""), [], "quietly nothing")
        finally:
            self.environment["SUBAK_SERVER"] = address

    def test_audit_in_words(self):
        cluster, team = self.cluster(), self.account()
        self.ok("account", "set", team, "--quota", "gpu=4", "--reason", "grow")
        job = self.submit(cluster, team, "--gpus", "1", "--held")
        self.ok("job", "release", job, "--reason", "go")
        self.ok("job", "cancel", job, "--reason", "enough")
        self.fails(1, "account", "set", team, "--shares", "2", "--reason", "x", "--revision", "77")
        rows = self.rows("audit", "--subject", team)
        self.assertEqual([row["WHAT"] for row in rows], ["refused: set account", "changed account", "made account"])
        self.assertIn("quota default -> gpu=4", rows[1]["CHANGE"])
        rows = self.rows("audit", "--subject", job)
        self.assertEqual([row["WHAT"] for row in rows], ["cancelled job", "released job"])
        self.assertEqual(rows[1]["CHANGE"], "state paused -> queued")
        self.assertTrue(all(row["BEFORE"] for row in rows))
        node = self.json("cluster", "nodes", "--cluster", cluster)["nodes"][0]["spec"]["name"]
        self.ok("cluster", "drain", node, "--cluster", cluster, "--reason", "driver")
        row = self.rows("audit", "--limit", "1")[0]
        self.assertEqual((row["WHAT"], row["CHANGE"]), ("drained node", "drained false -> true"))

    def test_kubernetes_nodes(self):
        nodes = os.path.join(DATA, "fleet.json")
        self.assertIn("8 nodes", self.ok("cluster", "import", "--cluster", "k8s", "-f", nodes, "--dry-run"))
        self.assertIn("8 nodes with 42 GPUs", self.ok("cluster", "import", "--cluster", "k8s", "-f", nodes))
        with open(nodes, encoding="utf-8") as file:
            text = file.read()
        self.ok("cluster", "import", "--cluster", "k8s", "-f", "-", stdin=text)
        out = self.ok("cluster", "nodes", "--cluster", "k8s")
        for part in ("shared x5", "cordoned", "not ready"):
            self.assertIn(part, out)
        self.assertIn("clique", self.ok("cluster", "domains", "--cluster", "k8s"))
        out = self.ok("cluster", "mig", "--cluster", "k8s")
        self.assertRegex(out, r"mig-mixed\s+1g\.10gb\s+14\s+0\s+14\n")
        self.assertRegex(out, r"PROFILE\s+SLICES\s+USED\s+FREE\s+WAITING\s+COULD BE\n")
        self.assertNotIn("advice", out)
        self.ok("account", "set", "cut", "--shares", "1", "--reason", "x")
        job = self.submit("k8s", "cut", "--mig", "2g.20gb")
        out = " ".join(self.ok("cluster", "mig", "--cluster", "k8s").split())  # its lines are wrapped
        self.assertRegex(out, r"advice: nvidia\.com/mig\.config=all-2g\.20gb on \S+ would serve more of the waiting jobs: "
                              r"1 of 2g\.20gb \(0\.25 GPUs\)")  # fmt: skip
        self.ok("job", "cancel", job)
        self.ok("cluster", "drain", "mig-mixed", "--cluster", "k8s", "--reason", "driver")
        self.assertIn("drained", self.ok("cluster", "nodes", "--cluster", "k8s"))
        self.ok("cluster", "undrain", "mig-mixed", "--cluster", "k8s", "--reason", "done")
        self.fails(4, "cluster", "drain", "nowhere", "--cluster", "k8s", "--reason", "x")
        self.ok("cluster", "mode", "k8s", "warn", "--namespace", "a=enforce,b=observe", "--reason", "try")
        self.assertIn("a=enforce,b=observe", self.ok("cluster", "list"))
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            file.write('{"items":[')
            file.flush()
            self.fails(2, "cluster", "import", "-f", file.name)

    def test_a_node_that_contradicts_itself_takes_nothing_new(self):
        def node(name, count, clique):
            labels = {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3", "nvidia.com/gpu.count": count}
            if clique:
                labels["nvidia.com/gpu.clique"] = clique
            return {"kind": "Node", "metadata": {"name": name, "labels": labels},
                    "status": {"allocatable": {"nvidia.com/gpu": "8"}}}

        zeros = "00000000-0000-0000-0000-000000000000.0"
        text = "\n".join(json.dumps(n) for n in (node("good", "8", ""), node("odd", "1", zeros)))
        done = self.run_subak("cluster", "import", "--cluster", "odd", "-f", "-", stdin=text)
        self.assertEqual(done.returncode, 0, done.stderr)
        both = "nvidia.com/gpu 8 contradicts nvidia.com/gpu.count=1"
        self.assertIn(f"warning: node odd takes no new pods: {both}", done.stderr)
        self.assertIn("2 nodes with 9 GPUs", done.stdout)
        out = self.ok("cluster", "nodes", "--cluster", "odd")
        self.assertIn(f"odd takes no new pods:\n  {both}\n", out)
        self.assertIn(f"  nvidia.com/gpu.clique={zeros} has a ClusterUUID of zeros\n", out)
        self.assertNotIn("good takes", out)
        nodes = {n["spec"]["name"]: n["spec"] for n in self.json("cluster", "nodes", "--cluster", "odd")["nodes"]}
        self.assertTrue(nodes["odd"]["contradicts"])
        self.assertFalse(nodes["good"].get("contradicts"))

    def test_usage(self):
        out = self.ok("usage", "report", "--by", "user,day,state,product", "--from", "7d")
        self.assertIn("TOTAL", out)
        self.assertRegex(out, r"from \d{4}-\d\d-\d\d \d\d:\d\d:\d\d CET to now \(\S+ \S+ CET\); \w")
        self.assertIn("UTC days", out)
        self.assertIn("RUNNING NOW", out)
        out = self.ok("usage", "history", "--step", "4h")
        self.assertRegex(out, r"FROM \(CET\) +USED HOURS +HELD HOURS +PLATFORM +QUOTA HOURS +AVERAGE GPUS")
        self.assertIn(len(self.json("usage", "history", "--step", "4h")["steps"]), (6, 7))
        self.assertIn("FACT", self.ok("usage", "ledger", "--limit", "5"))
        self.assertIn("every balance is the sum of its rows", self.ok("usage", "verify"))
        self.assertEqual(self.json("usage", "verify")["drift"]["gpuSeconds"], "0")

    def test_every_list_in_every_form(self):
        for command in (["status"], ["account", "tree"], ["share"], ["queue"], ["queue", "--would"], ["claims"], ["plan"], ["job", "list"],
                        ["cluster", "list"], ["audit"], ["usage", "report"], ["usage", "history"], ["usage", "ledger"]):  # fmt: skip
            self.json(*command)
            for form in ("table", "wide", "yaml", "csv"):
                self.ok(*command, "--output", form)


class Claims(Service):
    arguments = ("--reclaim", "on", "--reclaim-min-run", "3s")

    def test_a_job_within_quota_gets_what_another_team_borrows(self):
        cluster, owner, borrower = self.cluster(), self.account(), self.account()
        self.assertIn("no job claims GPUs", self.ok("claims"))
        self.fails(4, "claims", "--account", "nobody")
        self.ok("account", "set", owner, "--quota", "gpu=8", "--reason", "agreed")
        victims = [self.submit(cluster, borrower, "--gpus", "8") for _ in range(2)]
        self.ok_with("starting", "job", "get", victims[1])
        claimant = self.submit(cluster, owner, "--gpus", "8")
        out = self.ok_with(claimant, "claims")
        gets = rf"{claimant} +{owner} +NVIDIA-H100-80GB-HBM3=8 +\S+ +\S+"
        self.assertRegex(out, gets + rf" +({'|'.join(victims)}) +{borrower} +8 +(asked in [123]s|asked now|ends within \S+)")
        claim = self.json("claims", "--account", owner)["claims"][0]
        self.assertEqual((claim["jobId"], claim["victimCount"], claim["nodeCount"]), (claimant, 1, 1))
        self.assertEqual(self.json("claims", "--account", borrower)["claims"], [])
        why = self.ok("why", claimant)
        self.assertIn("WaitingForPreemptedWorkloads", why)
        self.assertIn(claim["victims"][0]["jobId"] + " of " + borrower, why)
        self.ok_with("starting", "job", "get", claimant)
        self.ok_with("no job claims GPUs", "claims")
        victim = claim["victims"][0]["jobId"]
        got = self.ok_with("queued", "job", "get", victim)
        self.assertRegex(got, rf"preempted: +for {claimant} of {owner} at [^;]+; its submit time stays")
        self.assertIn(f"preempted for {claimant} of {owner}", self.ok("why", victim))
        other = next(job for job in victims if job != victim)
        self.assertRegex(self.ok("job", "get", other), r"borrowed: +8 GPUs, may be preempted from \S+")
        listed = self.ok("job", "list", "--output", "wide")
        self.assertIn("BORROWED", listed)
        self.assertIn("PREEMPTIBLE FROM", listed)
        self.assertRegex(self.ok("account", "get", borrower), r"now: +8 used, 8 borrowed, 0 lent")
        self.ok_with("no job would claim GPUs", "claims", "--would", "--account", borrower)


if __name__ == "__main__":
    unittest.main()
