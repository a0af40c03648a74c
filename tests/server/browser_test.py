"""The gateway for browsers on a real service: calls and events, without a token file.

  browser_test.py PATH_TO_SUBAKD PATH_TO_SUBAK
"""

import datetime
import json
import re
import resource
import socket
import time
import unittest

from browser_stand import DEADLINE_S, PREFIX, Service, Stream


class OnLoopback(Service):
    """Without a token file, as the gRPC API is on loopback."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        test = cls()
        test.subak("cluster", "import", "--cluster", "east", "--nodes", "2x8:NVIDIA-H100-80GB-HBM3")
        test.subak("cluster", "mode", "east", "enforce", "--reason", "test")
        test.subak("account", "set", "ml", "--shares", "3", "--reason", "a <script> team")
        submit = ("job", "submit", "--cluster", "east", "--account", "ml", "--output", "json")
        cls.jobs = [json.loads(test.subak(*submit, "--gpus-per-pod", "8", "--name", f"j{i}"))["jobId"] for i in range(4)]
        for _ in range(10 * DEADLINE_S):  # the order is made again at most once a second
            if json.loads(test.subak("queue", "--output", "json"))["rows"]:
                break
            time.sleep(0.1)

    def runTest(self):
        pass

    def test_each_read_equals_what_the_command_prints(self):
        job = self.jobs[-1]
        reads = {
            ("queue",): ("JobService/ListQueue", {}),
            ("job", "get", job): ("JobService/GetJob", {"jobId": job}),
            ("why", job): ("JobService/ExplainJob", {"jobId": job}),
            ("job", "list"): ("JobService/ListJobs", {}),
            ("account", "tree"): ("AccountService/ListAccounts", {}),
            ("account", "get", "ml"): ("AccountService/GetAccount", {"path": "ml"}),
            ("share",): ("AccountService/ListShares", {}),
            ("cluster", "list"): ("ClusterService/ListClusters", {}),
            ("cluster", "nodes"): ("ClusterService/ListNodes", {}),
            ("cluster", "map"): ("ClusterService/GetFleetMap", {}),
            ("plan",): ("ClusterService/GetPlan", {}),
            ("claims",): ("JobService/ListClaims", {}),
            ("budget", "list"): ("AccountService/ListBudgets", {}),
            ("audit",): ("AdminService/ListAudit", {}),
            ("usage", "report"): ("UsageService/ReportUsage", {}),
            ("cluster", "domains"): ("ClusterService/ListDomains", {}),
            ("cluster", "pools"): ("ClusterService/ListNodePools", {}),
            ("cluster", "mig"): ("ClusterService/ListMigSlices", {}),
            ("status",): ("AdminService/GetStatus", {}),
            ("policy", "get"): ("AdminService/GetPolicy", {}),
            ("usage", "ledger"): ("UsageService/ListLedger", {}),
        }
        for command, (method, message) in reads.items():
            with self.subTest(command=command):
                printed = json.loads(self.subak(*command, "--output", "json"))
                reply = self.call(method, message)
                self.assertEqual(reply.status, 200, reply.body)
                answer = reply.json()
                if command == ("plan",):  # its columns begin at the moment of the call
                    answer, printed = (sorted(plan) for plan in (answer, printed))
                self.assertEqual(steady(answer), steady(printed))
                self.assertGreater(int(reply.headers["Subak-Sequence"]), 0)
                self.assertEqual(reply.headers["Trailer-Subak-Sequence"], reply.headers["Subak-Sequence"])

    def test_numbers_of_64_bits_are_texts(self):
        self.assertIsInstance(self.call("AdminService/GetStatus").json()["durableSequence"], str)

    def test_a_name_is_text(self):
        rows = self.call("AdminService/ListAudit", {"subject": "ml"}).body
        self.assertIn(b"a \\u003cscript\\u003e team", rows)

    def test_the_sequence_that_a_caller_requires(self):
        self.assertEqual(self.call("JobService/ListQueue", headers={"Subak-Min-Sequence": "1"}).status, 200)
        error = self.refused(self.call("JobService/ListQueue", headers={"Subak-Min-Sequence": "99999999"}),
                             503, "unavailable", "99999999")  # fmt: skip
        self.assertEqual(error["details"][1]["debug"]["reason"], "BEHIND")
        self.refused(self.call("JobService/ListQueue", headers={"Subak-Min-Sequence": "x"}), 400, "invalid_argument")

    def test_a_read_of_an_earlier_moment(self):
        """The header subak-at has the fact or the time, as the option --at of the commands."""
        first = self.jobs[0]
        now = self.call("JobService/ListJobs")
        self.assertIn(first, [job["id"] for job in now.json()["jobs"]])
        self.assertNotIn("Subak-Time", now.headers)
        self.assertNotIn("Subak-Leads", now.headers, "one process has the store")
        early = self.call("JobService/ListJobs", headers={"Subak-At": "3"})
        self.assertEqual(early.status, 200, early.body)
        self.assertEqual(early.json()["jobs"], [])
        self.assertEqual(early.headers["Subak-Sequence"], "3")
        ms = int(early.headers["Subak-Time"])
        moment = datetime.datetime.fromtimestamp((ms + 1) / 1000, datetime.timezone.utc).isoformat(timespec="milliseconds")
        again = self.call("JobService/ListJobs", headers={"Subak-At": moment.replace("+00:00", "Z")})
        self.assertEqual(again.status, 200, again.body)
        self.assertEqual(int(again.headers["Subak-Time"]), ms + 1)
        self.assertGreaterEqual(int(again.headers["Subak-Sequence"]), 3)
        for value in ("yesterday", "0", "99999999", "2999-01-01T00:00:00Z"):
            with self.subTest(value=value):
                error = self.refused(self.call("JobService/ListJobs", headers={"Subak-At": value}), 400, "invalid_argument")
                self.assertIn("subak-at", error["message"])
        self.refused(self.call("UsageService/ReportUsage", headers={"Subak-At": "3"}), 400, "invalid_argument",
                     "this call only shows the present")  # fmt: skip

    def test_nothing_that_changes_is_on_the_list(self):
        for method in ("JobService/CreateJob", "JobService/CancelJob", "AccountService/UpdateAccount", "AdminService/Backup",
                       "AdminService/SetPolicy", "ClusterService/Observe", "JobService/WatchJobs",
                       "ClusterService/ImportNodes", "JobService/Nothing", "Nothing/ListQueue"):  # fmt: skip
            with self.subTest(method=method):
                self.refused(self.call(method), 501, "unimplemented", method, "want a read of the API")

    def test_requests_that_are_no_call(self):
        path = PREFIX + "JobService/GetJob"
        json_type = {"Content-Type": "application/json"}
        reply = self.send("GET", path)
        self.refused(reply, 405, "unimplemented", "GET", "want POST")
        self.assertEqual(reply.headers["Allow"], "POST")
        self.refused(self.send("OPTIONS", path), 405, "unimplemented")
        self.refused(self.send("POST", path, "{}", {"Content-Type": "text/plain"}), 415, "invalid_argument", "text/plain",
                     "want application/json")  # fmt: skip
        self.refused(self.send("POST", path, "{}", {**json_type, "Content-Encoding": "gzip"}), 501, "unimplemented", "gzip")
        for body in ("", "[]", "null", '{"jobId":', '{"jobb":1}', '{"jobId":{}}', "{" * 500, '"x"'):
            with self.subTest(body=body):
                self.refused(self.send("POST", path, body, json_type), 400, "invalid_argument", "body", "GetJobRequest")
        for size in (65537, 300_000, 5_000_000):
            self.refused(self.send("POST", path, b" " * size, json_type), 429, "resource_exhausted", "body", "65536 bytes")
        self.assertEqual(self.send("POST", path, json.dumps({"jobId": self.jobs[0]}).ljust(65536), json_type).status, 200)

    def test_errors_of_the_service_keep_code_and_details(self):
        error = self.refused(self.call("JobService/GetJob", {"jobId": "1-99999"}), 404, "not_found", "1-99999")
        self.assertEqual(error["details"][0]["type"], "google.rpc.ErrorInfo")
        self.assertEqual(error["details"][0]["debug"]["metadata"]["got"], "1-99999")
        self.refused(self.call("JobService/GetJob", {"jobId": "x"}), 400, "invalid_argument", "job")

    def test_a_deadline_of_the_caller(self):
        self.refused(self.call("JobService/ListQueue", headers={"Connect-Timeout-Ms": "0"}), 400, "invalid_argument",
                     "Connect-Timeout-Ms")  # fmt: skip
        headers = {"Connect-Timeout-Ms": "100", "Subak-Min-Sequence": "99999999"}
        self.refused(self.call("JobService/ListQueue", headers=headers), 504, "deadline_exceeded")

    def test_other_origins_and_names(self):
        for headers in ({"Origin": "https://evil.example.com"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"},
                        {"Origin": f"http://localhost:{self.port}"}):  # fmt: skip
            with self.subTest(headers=headers):
                self.refused(self.call("JobService/ListQueue", headers=headers), 403, "permission_denied", "Origin")
                self.assertEqual(self.send("GET", "/live?topics=queue", headers=headers).status, 403)
        self.assertEqual(self.call("JobService/ListQueue", headers={"Origin": f"http://{self.http}"}).status, 200)
        reply = self.call("JobService/ListQueue", headers={"Host": "evil.example.com"})  # DNS rebinding
        self.assertEqual(reply.status, 421)

    def test_live(self):
        stream = Stream(self.http, "/live?topics=sequence,queue,status")
        self.addCleanup(stream.close)
        self.assertEqual(stream.status(), 200)
        self.assertIn("Content-Type: text/event-stream", stream.head)
        first = [stream.event() for _ in range(3)]
        self.assertEqual([name for name, _, _ in first], ["sequence", "status", "queue"])
        queue = first[2][2]
        self.assertEqual(len(queue["rows"]), len(self.call("JobService/ListQueue").json()["rows"]))
        begun = time.monotonic()
        self.subak("account", "set", "ml", "--shares", "4", "--reason", "a change")
        name, last, data = stream.event("sequence")
        self.assertLess(time.monotonic() - begun, 60)
        self.assertEqual(int(data["sequence"]), last)
        self.assertGreater(last, first[0][1])

        # Who returns at once gets what may have changed; who returns from long ago begins anew.
        again = Stream(self.http, "/live?topics=sequence", {"Last-Event-ID": str(last)})
        self.addCleanup(again.close)
        self.assertEqual(again.event()[0], "sequence")
        old = Stream(self.http, "/live?topics=queue", {"Last-Event-ID": "1"})
        self.addCleanup(old.close)
        self.assertEqual([old.event()[0], old.event()[0]], ["reset", "queue"])

    def test_live_tells_only_changes(self):
        stream = Stream(self.http, "/live?topics=policy")
        self.assertEqual(stream.status(), 400)
        stream.close()
        stream = Stream(self.http, "/live?topics=shares,sequence")
        self.addCleanup(stream.close)
        names = [stream.event()[0], stream.event()[0]]
        self.assertEqual(names, ["sequence", "shares"])
        stream.socket.settimeout(4)
        with self.assertRaises(TimeoutError):
            stream.event("sequence")

    def test_topics_are_refused_by_name(self):
        self.refused(self.send("GET", "/live?topics=queue,jobs"), 400, "invalid_argument", "topics", "jobs", "want one of")
        self.refused(self.send("GET", "/live"), 400, "invalid_argument", "topics")

    def test_many_streams_and_readers_that_read_nothing(self):
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(8192, hard), hard))
        streams = []
        for _ in range(2000):
            streams.append(Stream(self.http, "/live?topics=queue,status,shares,plan"))
            self.addCleanup(streams[-1].close)
        self.assertEqual({stream.status() for stream in streams}, {200, 429})
        time.sleep(3)
        # One address may have 1,024 connections: the oldest streams went for the last ones.
        open_ones = sum(stream.status() == 200 and stream.is_open() for stream in streams)
        self.assertLessEqual(open_ones, 1000)
        self.assertGreater(open_ones, 500)
        begun = time.monotonic()
        self.assertEqual(self.send("GET", "/readyz").status, 200)
        self.assertEqual(self.call("JobService/ListQueue").status, 200)
        self.assertLess(time.monotonic() - begun, 30)

    def test_the_page_as_before(self):
        self.assertEqual(self.send("GET", "/").status, 200)
        self.assertEqual(self.send("GET", "/nothing.txt").status, 404)
        self.assertEqual(self.send("GET", "/metrics").status, 200)
        reply = self.send("GET", "/")
        self.assertEqual(reply.headers["X-Frame-Options"], "DENY")
        self.assertEqual(reply.headers["Cross-Origin-Resource-Policy"], "same-origin")
        self.refused(self.send("POST", "/login", '{"token":"x"}', {"Content-Type": "application/json"}),
                     400, "failed_precondition", "token file")  # fmt: skip


def steady(message, key=""):
    """With a word in place of what changes from moment to moment: times, decayed figures, GPU time of what runs."""
    if isinstance(message, dict):
        return {k: steady(v, k) for k, v in message.items()}
    if isinstance(message, list):
        return [steady(each, key) for each in message]
    if isinstance(message, float) or key in MOVING:
        return "a figure"
    if isinstance(message, str) and re.fullmatch(r"[\d.]+s|\d{4}-\d\d-\d\dT.*Z", message):
        return "a time"
    return message


# Figures that may be whole numbers by chance, and counts of a running service.
MOVING = {"gpuSeconds", "restMilligpuMs", "normUsage", "effectiveUsage", "usageGpuSeconds", "surplusGpuSeconds",
          "mailboxDepth", "targetShare", "target"}  # fmt: skip


if __name__ == "__main__":
    unittest.main()
