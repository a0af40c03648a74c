#!/usr/bin/env python3
"""The service's own edge against a stand-in of an API server: pods are gated, placed, released, watched and ended,
through refusals, cut connections, watches that are too old, and a service that is killed. Where all of it stands:
kube_edge_stand.py.

Usage: kube_edge_test.py PATH_TO_SUBAKD PATH_TO_SUBAK PATH_TO_STANDIN
"""

import calendar
import json
import re
import signal
import time
import unittest

from kube_edge_stand import Edge, GATE, JOBS, WORKER_SETS, now, until


class Enforce(Edge):
    def test_from_gate_to_end(self):
        self.api.make_pod("p")
        self.released("p")
        self.assertEqual(self.api.bind("p"), "n1")
        self.assertIn("n1", self.api.pod("p")["metadata"]["annotations"]["subak.gpu/status"])
        self.api.run("p")
        until(lambda: self.jobs("running") == 1, "running")
        self.api.finish("p")
        until(lambda: self.jobs() == 0, "done")
        self.assertIn("residual", self.subak("usage", "verify"))
        events = until(lambda: self.api.call("GET", "/apis/events.k8s.io/v1/events")["items"], "events")
        self.assertEqual({e["reason"] for e in events}, {"Released"})
        self.assertLessEqual(len(self.api.writes()), 3)

    def test_a_gang_starts_when_it_is_whole(self):
        labels = {"subak.gpu/job": "g", "subak.gpu/gang-size": "2"}
        self.api.make_pod("g0", 8, labels=labels)
        self.api.make_pod("alone", 4)
        self.released("alone")
        self.assertEqual(self.api.gates("g0"), [GATE])
        self.api.make_node("n2")
        self.api.make_node("n3")
        self.api.make_pod("g1", 8, labels=labels)
        self.released("g0", "g1")
        self.assertEqual({self.api.bind("g0"), self.api.bind("g1")}, {"n2", "n3"})

    def test_a_foreign_gate_is_left_alone(self):
        self.api.make_pod("p", gates=(GATE, "example.com/theirs"))
        self.api.make_pod("q")
        self.released("q")
        self.assertEqual(self.api.gates("p"), [GATE, "example.com/theirs"])
        self.api.change("p", {"spec": {"schedulingGates": [{"name": GATE}]}})
        self.released("p")

    def test_what_goes_wrong_with_a_release(self):
        pods = "/api/v1/namespaces/team-a/pods/"
        expired = {"kind": "Status", "status": "Failure", "code": 422, "reason": "Invalid", "message": "test"}
        self.api.fault(method="PATCH", path=pods + "changed", code=422, body=json.dumps(expired))
        self.api.fault(method="PATCH", path=pods + "later", code=429, headers={"Retry-After": "1"}, body="slow down")
        self.api.fault(method="PATCH", path=pods + "broken", code=504, body="")
        self.api.fault(method="PATCH", path=pods + "cut", cut=True)
        for name in ("changed", "later", "broken", "cut", "good"):
            self.api.make_pod(name)
        self.released("good", "changed", "later", "broken", "cut")

    def test_gates_come_before_words(self):
        held, more = 16, 6  # writes at once, and beyond them
        for name in ("n2", "n3"):
            self.api.make_node(name)
        self.api.fault(method="PATCH", path="/api/v1/namespaces/team-a/pods/", hold=True, times=held + more)
        names = [f"p{i}" for i in range(held + more)]
        for name in names:
            self.api.make_pod(name)

        def asked(method):
            return sum(write["method"] == method for write in self.api.writes())

        until(lambda: self.jobs("starting") == held + more, "all of them on their way")
        for patches in range(held, held + more):
            until(lambda: asked("PATCH") == patches, f"{patches} patches")
            self.api.call("POST", "/standin/let_go", {})
        until(lambda: asked("PATCH") == held + more, "the last patch")
        first_word = [write["method"] for write in self.api.writes()].index("POST") if asked("POST") else held + more
        self.assertEqual(first_word, held + more)
        self.api.call("POST", "/standin/mend", {})
        self.released(*names)
        until(lambda: asked("POST") > 0, "words")

    def test_watches_that_end(self):
        self.api.make_pod("before")
        self.released("before")
        self.api.call("POST", "/standin/cut", {})
        self.api.make_pod("after-cut")
        self.released("after-cut")
        self.api.fault(path="/api/v1/pods", code=500, times=3)
        self.api.call("POST", "/standin/cut", {})
        self.api.make_pod("unseen")
        self.api.delete("before")
        self.api.call("POST", "/standin/expire", {})
        self.released("unseen")
        until(lambda: self.jobs() == 2, "the end of the one that vanished")

    def test_an_account_that_drains(self):
        self.subak("account", "drain", "ml", "--reason", "test")
        owner = [{"controller": True, "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "new", "uid": "r"}]
        self.api.make_pod("new", ownerReferences=owner)
        until(lambda: self.jobs("incomplete") == 1, "a job that waits")
        why = self.subak("why", "1-1")
        self.assertIn("account ml is draining", why)
        self.end(signal.SIGKILL)
        self.start()
        until(lambda: self.metric('subak_cluster_synced{cluster="east"}') == 1, "synced")
        self.assertEqual((self.jobs("incomplete"), self.api.gates("new")), (1, [GATE]))
        self.subak("account", "resume", "ml", "--reason", "test")
        self.released("new")

    def test_a_deadline_that_counts_while_it_waits_is_told(self):
        job = self.api.call("POST", JOBS, {"metadata": {"name": "hurry"}, "spec": {
            "parallelism": 1, "completions": 1, "activeDeadlineSeconds": 600}})
        owner = [{"controller": True, "apiVersion": "batch/v1", "kind": "Job", "name": "hurry",
                  "uid": job["metadata"]["uid"]}]
        made = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - 120))
        self.api.make_pod("hurry-1", 16, ownerReferences=owner, creationTimestamp=made)
        words = "Its Job has activeDeadlineSeconds, which counts while it waits"

        def told():
            events = self.api.call("GET", "/apis/events.k8s.io/v1/events")["items"]
            return {e["regarding"]["kind"] for e in events if words in e["note"]} == {"Pod", "Job"}

        until(told, "events on the pod and its Job")
        until(lambda: words in self.api.pod("hurry-1")["metadata"].get("annotations", {}).get("subak.gpu/status", ""),
              "the annotation")

    def test_the_expected_start_is_told(self):
        limit = {"annotations": {"subak.gpu/time-limit": "4h"}}
        self.api.make_pod("runs", 8, **limit)
        self.released("runs")
        self.api.bind("runs")
        self.api.run("runs")
        made = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - 120))
        self.api.make_pod("waits", 8, creationTimestamp=made, **limit)
        start = re.compile(r"It starts (by|about) (\d{4}-\d\d-\d\d )?\d\d:\d\d")

        def status():
            return self.api.pod("waits")["metadata"].get("annotations", {}).get("subak.gpu/status", "")

        until(lambda: start.search(status()), "the start in the annotation")
        events = self.api.call("GET", "/apis/events.k8s.io/v1/events")["items"]
        self.assertTrue([e for e in events if e["regarding"]["name"] == "waits" and start.search(e["note"])])
        (condition,) = [c for c in self.api.pod("waits")["status"]["conditions"] if c["type"] == "subak.gpu/Queued"]
        self.assertRegex(condition["message"], start)

    def test_a_node_that_is_not_fit(self):
        def label(key, value):
            self.api.change("n1", {"metadata": {"labels": {"nvidia.com/" + key: value}}}, "/api/v1/nodes")

        def state(value):
            label("mig.config.state", value)

        def unfit(words):
            until(lambda: words in self.subak("cluster", "nodes", "--output", "wide"), "a node that is not fit: " + words)

        for value in ("failed", "rebooting", "pending"):
            state(value)
            unfit("mig.config.state is " + value)
        self.api.make_pod("p", 8)
        until(lambda: self.jobs("queued") == 1, "a job that waits")
        said = " ".join(self.subak("why", "1-1").split())  # its lines are wrapped
        self.assertIn("1 are not fit (n1: nvidia.com/mig.config.state is pending)", said)
        self.assertEqual(self.api.gates("p"), [GATE])
        label("mig.config", "all-1g.10gb")
        state("success")  # of the configuration before
        unfit("mig.config is all-1g.10gb but the node offers 8 whole GPUs")
        self.assertEqual(self.api.gates("p"), [GATE])
        label("mig.config", "all-disabled")
        self.released("p")

    def test_it_asks_who_it_is(self):
        reviews = [s for s in self.api.call("GET", "/standin/seen") if s["path"].endswith("/selfsubjectreviews")]
        self.assertEqual([(s["method"], json.loads(s["body"])["kind"]) for s in reviews], [("POST", "SelfSubjectReview")])

        def known_as():
            return json.loads(self.subak("status", "--output", "json"))["clusters"][0].get("knownAs", "")

        until(lambda: known_as() == "me", "who it is, in the status")
        self.assertIn("east as me (the manifests must name this user: subak install --as)", self.subak("status"))
        self.end(signal.SIGTERM)
        too_long = json.dumps({"status": {"userInfo": {"username": "u" * 1025}}})
        for i, (body, code) in enumerate((("no", 403), ("{}", 200), (too_long, 200))):
            self.api.fault(path="/apis/authentication.k8s.io/v1/selfsubjectreviews", method="POST", code=code, body=body)
            self.start()
            self.api.make_pod(f"p-{i}")
            self.released(f"p-{i}")  # it follows all the same
            self.assertEqual(known_as(), "")
            self.assertNotIn("follows:", self.subak("status"))
            self.end(signal.SIGTERM)
        with open(self.path("log"), encoding="utf-8") as log:
            self.assertEqual(log.read().count("does not say which user this service is"), 3)
        self.start()
        until(lambda: known_as() == "me", "who it is, in the status")

    def test_a_node_that_contradicts_itself(self):
        counts = {"nvidia.com/gpu": "8", "nvidia.com/mig-4g.40gb": "3", "cpu": "64", "memory": "512Gi", "pods": "110"}
        labels = {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3", "nvidia.com/gpu.count": "10"}
        self.api.call("POST", "/api/v1/nodes", {
            "metadata": {"name": "cut", "labels": labels},
            "status": {"capacity": counts, "allocatable": counts, "conditions": [{"type": "Ready", "status": "True"}]}})

        def spec():
            nodes = json.loads(self.subak("cluster", "nodes", "--output", "json"))["nodes"]
            return next((n["spec"] for n in nodes if n["spec"]["name"] == "cut"), None)

        seen = until(spec, "the node, closed")
        self.assertEqual(seen["gpus"], "10")
        self.assertTrue(seen["contradicts"])
        words = "nvidia.com/gpu 8 and slices 4g.40gb=3 contradicts nvidia.com/gpu.count=10"
        self.assertEqual(seen["unfit"], words)
        self.assertIn("cut takes no new pods:\n  " + words, self.subak("cluster", "nodes"))
        count = 'subak_contradicting_nodes{cluster="east"}'
        until(lambda: self.metric(count) == 1, "the metric")
        counts["nvidia.com/mig-4g.40gb"] = "2"
        self.api.change("cut", {"status": {"capacity": counts, "allocatable": counts}}, "/api/v1/nodes")
        until(lambda: not spec().get("contradicts"), "a node that agrees with itself")
        self.assertEqual(spec()["mig"], [{"profile": "4g.40gb", "count": "2"}])
        until(lambda: self.metric(count) == 0, "the metric, back")

    def test_killed_at_any_point(self):
        labels = {"subak.gpu/job": "g", "subak.gpu/gang-size": "4"}
        self.api.fault(method="PATCH", path="/api/v1/namespaces/team-a/pods/g2", code=500, times=1000)
        for i in range(4):
            self.api.make_pod(f"g{i}", 2, labels=labels)
        self.released("g0", "g1", "g3")
        self.end(signal.SIGKILL)
        self.api.call("POST", "/standin/mend", {})
        self.api.bind("g0")
        self.start()
        self.released("g2")
        for i in range(4):
            if i > 0:
                self.api.bind(f"g{i}")
            self.api.run(f"g{i}")
        until(lambda: self.jobs("running") == 1, "running")

    def test_a_gang_is_taken_back_through_its_job(self):
        jobs = "/apis/batch/v1/namespaces/team-a/jobs"
        job = self.api.call("POST", jobs, {"metadata": {"name": "train"}, "spec": {
            "completionMode": "Indexed", "parallelism": 2, "completions": 2}})
        owner = [{"controller": True, "apiVersion": "batch/v1", "kind": "Job", "name": "train",
                  "uid": job["metadata"]["uid"]}]
        labels = {"subak.gpu/job": "train", "subak.gpu/gang-size": "2"}

        def make(round_):
            for i in range(2):
                self.api.make_pod(f"t{i}-{round_}", 4, labels=labels, ownerReferences=owner)

        make(1)
        self.released("t0-1", "t1-1")
        self.api.bind("t0-1")
        self.api.change("t1-1", {"status": {"conditions": [
            {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes: no"}]}})
        until(lambda: self.api.call("GET", f"{jobs}/train")["spec"].get("suspend"), "suspended")
        self.assertEqual(self.api.call("GET", f"{jobs}/train")["metadata"]["annotations"],
                         {"subak.gpu/suspended": "taken-back"})
        self.api.delete("t0-1")
        self.api.delete("t1-1")
        resumed = until(lambda: not self.api.call("GET", f"{jobs}/train")["spec"]["suspend"] and
                        self.api.call("GET", f"{jobs}/train"), "resumed")
        self.assertNotIn("subak.gpu/suspended", resumed["metadata"].get("annotations", {}))
        (known,) = json.loads(self.subak("job", "list", "--output", "json"))["jobs"]
        self.assertEqual(known["waitsFor"], "Unschedulable")
        for command in (["why", known["id"]], ["queue", "--output", "wide"], ["job", "list", "--output", "wide"]):
            self.assertIn("no way to n1: 0/1 nodes: no", self.subak(*command))
        self.api.make_node("n2")  # the first one is tried again later
        make(2)
        self.released("t0-2", "t1-2")
        (again,) = json.loads(self.subak("job", "list", "--output", "json"))["jobs"]
        self.assertEqual((again["id"], again["submitTime"]), (known["id"], known["submitTime"]))

    def test_a_pod_alone_is_made_anew_and_keeps_its_number(self):
        """What makes it takes no suspension, as a ReplicaSet: it is evicted, and the next one is there at once."""
        owner = [{"controller": True, "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "serve", "uid": "rs-1"}]
        self.api.make_pod("a", 4, ownerReferences=owner)
        self.released("a")
        known = json.loads(self.subak("job", "list", "--output", "json"))["jobs"][0]
        self.api.change("a", {"status": {"conditions": [
            {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "no\u202e volume\n"}]}})
        until(lambda: [w for w in self.api.writes() if "eviction" in w["path"]], "asked to go")
        self.api.make_pod("b", 4, ownerReferences=owner)
        until(lambda: self.jobs("queued") + self.jobs("incomplete") == 1, "waiting again")
        self.assertIn("n1: no volume", " ".join(self.subak("why", known["id"]).split()))
        self.released("b")
        (again,) = json.loads(self.subak("job", "list", "--output", "json"))["jobs"]
        self.assertEqual((again["id"], again["submitTime"]), (known["id"], known["submitTime"]))
        self.assertEqual(again["spec"]["name"], "team-a/b")
        evicted = [w["path"].split("/")[-2] for w in self.api.writes() if "eviction" in w["path"]]
        self.assertEqual(evicted, ["a"])

    def test_leaving_enforce_opens_what_waits(self):
        for i in range(4):
            self.api.make_pod(f"p{i}", 8)
        until(lambda: any(self.api.gates(f"p{i}") == [] for i in range(4)), "one released")
        self.subak("cluster", "mode", "east", "observe", "--reason", "test")
        self.released(*(f"p{i}" for i in range(4)))
        pinned = [i for i in range(4) if "affinity" in self.api.pod(f"p{i}")["spec"]]
        self.assertEqual(len(pinned), 1)

    def test_gone_while_nobody_looked(self):
        self.api.make_pod("p")
        self.released("p")
        self.api.bind("p")
        self.api.run("p")
        until(lambda: self.jobs("running") == 1, "running")
        self.end(signal.SIGKILL)
        killed = time.time()
        self.api.delete("p")
        time.sleep(3)
        self.start()
        until(lambda: self.jobs() == 0, "the end of the one that vanished")
        rows = json.loads(self.subak("usage", "ledger", "--output", "json"))["rows"]
        ends = [calendar.timegm(time.strptime(row["to"][:19], "%Y-%m-%dT%H:%M:%S")) for row in rows]
        self.assertLessEqual(max(ends, default=0), killed)

    def test_another_cluster_is_not_taken_for_ours(self):
        self.api.call("POST", "/api/v1/namespaces", {"metadata": {"name": "kube-system"}})
        self.end(signal.SIGTERM)
        self.start()
        until(lambda: self.metric('subak_cluster_synced{cluster="east"}') == 1, "synced")
        self.api.make_pod("p")
        self.released("p")
        self.end(signal.SIGTERM)
        self.api.call("DELETE", "/api/v1/namespaces/kube-system")
        self.api.call("POST", "/api/v1/namespaces", {"metadata": {"name": "kube-system"}})
        self.api.delete("p")
        self.start()
        until(lambda: "another cluster has this name" in self.subak("status"), "said")
        self.assertEqual(self.metric('subak_cluster_synced{cluster="east"}'), 0)
        self.assertEqual(self.jobs(), 1)

    def test_a_namespace_names_its_account(self):
        def name(namespace, account):
            self.api.call("POST", "/api/v1/namespaces", {"metadata": {
                "name": namespace, "labels": {"subak.gpu/account": account}}})

        name("team-b", "ml")
        name("team-c", "later")
        self.api.make_pod("b", namespace="team-b")
        until(lambda: self.api.pod("b", "team-b")["spec"].get("schedulingGates") == [], "b released")
        self.api.make_pod("c", namespace="team-c")
        until(lambda: self.jobs("incomplete") == 1, "c waits for its account")
        self.subak("account", "set", "later", "--reason", "test")
        until(lambda: self.api.pod("c", "team-c")["spec"].get("schedulingGates") == [], "c released")

    def make_half_a_gang(self, name):
        container = {"name": "c", "resources": {kind: {"nvidia.com/gpu": "1"} for kind in ("limits", "requests")}}
        made = self.api.call("POST", JOBS, {"metadata": {"name": name}, "spec": {
            "parallelism": 2, "completions": 2, "completionMode": "Indexed",
            "template": {"spec": {"containers": [container]}}}})
        owner = {"apiVersion": "batch/v1", "kind": "Job", "name": name, "uid": made["metadata"]["uid"],
                 "controller": True}
        self.api.make_pod(name + "-0", ownerReferences=[owner], labels={"batch.kubernetes.io/job-name": name},
                          annotations={"batch.kubernetes.io/job-completion-index": "0"})
        until(lambda: self.jobs("incomplete") == 1, "a gang of which one is there")

    def test_the_end_of_a_job_ends_its_gang(self):
        self.make_half_a_gang("j")
        self.api.delete("j-0")
        time.sleep(1)
        self.assertEqual(self.jobs("incomplete"), 1)
        self.api.call("DELETE", JOBS + "/j")
        until(lambda: self.jobs() == 0, "its end")
        self.make_half_a_gang("k")
        self.api.call("DELETE", JOBS + "/k")
        self.api.change("k-0", {"metadata": {"deletionTimestamp": now()}})
        until(lambda: self.jobs() == 0, "the end of one whose Job went first")
        self.api.delete("k-0")

    def test_groups_of_a_leader_worker_set(self):
        prefix = "leaderworkerset.sigs.k8s.io/"
        self.api.call("POST", WORKER_SETS, {"metadata": {"name": "llm"}, "spec": {
            "replicas": 2, "leaderWorkerTemplate": {"size": 2, "workerTemplate": {"spec": {"containers": [
                {"name": "c", "resources": {"limits": {"nvidia.com/gpu": "1"}}}]}}}}})
        owner = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "llm", "uid": "s", "controller": True}
        for group in range(2):
            self.api.make_pod(f"llm-{group}", ownerReferences=[owner], annotations={prefix + "size": "2"}, labels={
                prefix + "name": "llm", prefix + "group-index": str(group), prefix + "worker-index": "0"})
        until(lambda: self.jobs("incomplete") == 2, "two gangs, each with one of two")
        self.api.delete("llm-1")
        time.sleep(1)
        self.assertEqual(self.jobs("incomplete"), 2)
        self.api.change("llm", {"spec": {"replicas": 1}}, WORKER_SETS)
        until(lambda: self.jobs() == 1, "the end of a group that is not made anew")
        self.api.call("DELETE", WORKER_SETS + "/llm")
        self.api.delete("llm-0")
        until(lambda: self.jobs() == 0, "the end of the other")

    def test_a_leader_before_its_workers(self):
        prefix = "leaderworkerset.sigs.k8s.io/"
        workers = {"spec": {"containers": [{"name": "c", "resources": {"limits": {"nvidia.com/gpu": "8"}}}]}}
        self.api.call("POST", WORKER_SETS, {"metadata": {"name": "llm"}, "spec": {
            "replicas": 1, "startupPolicy": "LeaderReady",
            "leaderWorkerTemplate": {"size": 2, "workerTemplate": workers}}})

        def make(index):
            labels = {"name": "llm", "group-index": "0", "worker-index": str(index)}
            self.api.make_pod(f"llm-0-{index}", gpus=8, annotations={prefix + "size": "2"},
                              labels={prefix + key: value for key, value in labels.items()})

        self.api.make_node("n9")
        make(0)
        self.released("llm-0-0")
        self.api.bind("llm-0-0")
        self.api.run("llm-0-0")
        self.api.make_pod("rival", gpus=8)
        until(lambda: self.jobs("queued") == 1, "the rival waits")
        make(1)
        self.released("llm-0-1")
        self.assertEqual(self.api.gates("rival"), [GATE])

    def test_it_is_the_only_edge(self):
        said = self.subak("job", "submit", "--account", "ml", "--gpus", "1", code=1)
        self.assertIn("create the pods themselves", said)


class Observe(Edge):
    mode = "observe"

    def test_not_one_write(self):
        self.api.make_pod("p", gates=())
        self.api.change("p", {"spec": {"nodeName": "n1"}, "status": {"phase": "Running"}})
        until(lambda: self.metric('subak_gpus{cluster="east",product="H100",state="allocated"}') == 1 or
              self.jobs("running") == 1, "seen")
        self.api.make_pod("stuck", gates=())
        self.api.change("stuck", {"status": {"conditions": [
            {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes: no"}]}})
        time.sleep(12)  # after 10 a pod that we had opened would be given up
        self.assertEqual(self.api.writes(), [])

    def would(self):
        rows = json.loads(self.subak("queue", "--would", "--output", "json")).get("rows", [])
        return [(row["job"]["spec"]["name"], row.get("wouldStart", False)) for row in rows]

    def test_what_enforce_would_do(self):
        self.assertIn("nothing would wait", self.subak("queue", "--would"))
        self.api.make_pod("a", 6, gates=())
        until(lambda: self.would() == [("team-a/a", True)], "the first")
        self.api.make_pod("b", 6, gates=())
        until(lambda: self.would() == [("team-a/a", True), ("team-a/b", False)], "the second behind it")
        table = self.subak("queue", "--would")
        self.assertRegex(table, r"1 +- +team-a/a +ml +1x6 +6 +\S+ +would start on n1\n")
        self.assertRegex(table, r"2 +- +team-a/b +ml +1x6 +6 +\S+ +WaitingForCapacity gpu\n")
        self.assertIn("nothing waits", self.subak("queue"))
        self.api.change("a", {"spec": {"nodeName": "n1"}, "status": {"phase": "Running"}})
        until(lambda: self.would() == [("team-a/b", False)], "a bound pod off the list")
        self.api.delete("b")
        until(lambda: self.would() == [], "a deleted pod off the list")
        self.assertEqual(self.api.writes(), [])

    def test_our_gate_is_opened_where_we_do_not_manage(self):
        self.api.make_pod("p", 8)
        self.api.make_pod("q", 8)
        self.released("p", "q")
        self.assertNotIn("affinity", self.api.pod("q")["spec"])
        until(lambda: self.metric('subak_edge_opened_outside_total{cluster="east"}') == 2, "counted")
        self.assertEqual({w["method"] for w in self.api.writes()}, {"PATCH"})


class Pages(Edge):
    def before_start(self):
        refused = {"kind": "Status", "status": "Failure", "code": 422, "reason": "Invalid",
                   "message": "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled"}
        for kind in ("pods", "nodes"):
            self.api.fault(path=f"/api/v1/{kind}?watch=1&allowWatchBookmarks=true&sendInitialEvents", code=422, times=99,
                           body=json.dumps(refused))
        for i in range(600):
            self.api.make_pod(f"old-{i}", gates=(), namespace="team-b")
        self.api.make_pod("p")

    def test_a_list_in_pages(self):
        self.released("p")
        self.api.make_pod("q")
        self.released("q")
        self.api.call("POST", "/standin/cut", {})
        self.api.call("POST", "/standin/expire", {})
        self.api.delete("p")
        until(lambda: self.jobs() == 1, "the end of the one that vanished")
        asked = [s["path"] for s in self.api.call("GET", "/standin/seen") if s["path"].startswith("/api/v1/pods?limit")]
        self.assertTrue(any("continue" in path for path in asked), asked)


if __name__ == "__main__":
    unittest.main()
