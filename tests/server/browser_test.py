"""The gateway for browsers on a real service: calls, events, sign-ins, and who gets none.

  browser_test.py PATH_TO_SUBAKD PATH_TO_SUBAK
"""

import datetime
import http.client
import json
import os
import re
import resource
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import unittest

SUBAKD, SUBAK = (os.path.abspath(path) for path in (sys.argv.pop(1), sys.argv.pop(1)))
DEADLINE_S = 120  # generous: other work may share the machine
TOKENS = {"admin": "admin-secret-0123456", "viewer": "viewer-secret-012345"}
PREFIX = "/subak.v1."


def own_address():
    """An address of this machine that is not on loopback; None: there is none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # sends nothing
        except OSError:
            return None
        address = probe.getsockname()[0]
    return None if address.startswith("127.") else address


class Reply:
    def __init__(self, answer):
        self.status = answer.status
        self.headers = answer.headers
        self.body = answer.read()

    def json(self):
        return json.loads(self.body)


class Stream:
    """An event stream; events() reads what comes within the time."""

    def __init__(self, address, path, headers=None):
        host, port = address.rsplit(":", 1)
        self.socket = socket.create_connection((host, int(port)), timeout=DEADLINE_S)
        lines = [f"GET {path} HTTP/1.1", f"Host: {address}", *(f"{k}: {v}" for k, v in (headers or {}).items())]
        self.socket.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        self.text = ""
        while "\r\n\r\n" not in self.text:
            part = self.socket.recv(65536)
            if not part:
                break
            self.text += part.decode()
        self.head, _, self.text = self.text.partition("\r\n\r\n")

    def status(self):
        return int(self.head.split(" ")[1])

    def event(self, wanted=None):
        """The next event: (name, id, data). None: the stream ended."""
        while True:
            while "\n\n" not in self.text:
                part = self.socket.recv(65536)
                if not part:
                    return None
                self.text += part.decode()
            one, _, self.text = self.text.partition("\n\n")
            fields = dict(line.split(": ", 1) for line in one.splitlines() if ": " in line)
            if "event" in fields and wanted in (None, fields["event"]):
                return fields["event"], int(fields.get("id", 0)), json.loads(fields["data"])

    def is_open(self):
        self.socket.setblocking(False)
        try:
            while self.socket.recv(65536):
                pass
            return False
        except BlockingIOError:
            return True
        except OSError:
            return False

    def close(self):
        self.socket.close()


class Service(unittest.TestCase):
    flags = ()
    with_tokens = False
    beyond = False

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.host = "127.0.0.1"
        flags = list(cls.flags)
        if cls.with_tokens:
            cls.tokens = os.path.join(cls.folder.name, "tokens")
            cls.write_tokens("admin", "viewer")
            flags += ["--tokens", cls.tokens]
        if cls.beyond:
            cls.host = own_address()
            if cls.host is None:
                cls.folder.cleanup()
                raise unittest.SkipTest("this machine has no address beyond loopback")
            cls.cert, cls.key = (os.path.join(cls.folder.name, name) for name in ("cert.pem", "key.pem"))
            subprocess.run(
                ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days",
                 "2", "-subj", "/CN=subak test", "-addext", f"subjectAltName=IP:{cls.host},IP:127.0.0.1",
                 "-keyout", cls.key, "-out", cls.cert],
                check=True, capture_output=True)  # fmt: skip
            flags += ["--tls-cert", cls.cert, "--tls-key", cls.key]
        cls.server = subprocess.Popen(
            [SUBAKD, "--state", os.path.join(cls.folder.name, "subak.db"), "--listen-webhook", "127.0.0.1:0",
             "--listen-grpc", "127.0.0.1:0", "--listen-http", "0.0.0.0:0" if cls.beyond else "127.0.0.1:0", *flags],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)  # fmt: skip
        ports = dict(re.findall(r"(\w+)=([\d.]+:\d+)", cls.server.stdout.readline()))
        cls.port = int(ports["http"].rsplit(":", 1)[1])
        cls.http = f"{cls.host}:{cls.port}"
        cls.local = f"127.0.0.1:{cls.port}"
        cls.environment = {**os.environ, "SUBAK_SERVER": ports["grpc"], "TZ": "UTC"}

    @classmethod
    def tearDownClass(cls):
        cls.server.send_signal(signal.SIGTERM)
        cls.server.communicate(timeout=DEADLINE_S)
        cls.folder.cleanup()

    @classmethod
    def write_tokens(cls, *names):
        with open(cls.tokens, "w", encoding="utf-8") as file:
            os.chmod(cls.tokens, 0o600)
            file.writelines(f"{TOKENS[name]} {name} {name}\n" for name in names)

    def subak(self, *arguments):
        done = subprocess.run([SUBAK, *arguments], capture_output=True, text=True, timeout=DEADLINE_S,
                              env=self.environment, check=False)  # fmt: skip
        self.assertEqual(done.returncode, 0, f"{arguments}: {done.stderr}")
        return done.stdout

    def send(self, method, path, body=None, headers=None, secure=False, address=None):
        address = address or self.http
        if secure:
            context = ssl.create_default_context(cafile=self.cert)
            connection = http.client.HTTPSConnection(address, timeout=DEADLINE_S, context=context)
        else:
            connection = http.client.HTTPConnection(address, timeout=DEADLINE_S)
        try:
            connection.request(method, path, body=body, headers=headers or {})
            return Reply(connection.getresponse())
        finally:
            connection.close()

    def call(self, method, message=None, headers=None, **more):
        return self.send("POST", PREFIX + method, json.dumps({} if message is None else message),
                         {"Content-Type": "application/json", **(headers or {})}, **more)  # fmt: skip

    def refused(self, reply, status, code, *words):
        self.assertEqual(reply.status, status, reply.body)
        self.assertEqual(reply.headers["Content-Type"], "application/json")
        error = reply.json()
        self.assertEqual(error["code"], code)
        for word in words:
            self.assertIn(word, error["message"])
        return error


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
        for _ in range(1200):
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


class WithTokens(Service):
    with_tokens = True

    def sign_in(self, name, **more):
        reply = self.send("POST", "/login", json.dumps({"token": TOKENS[name]}), {"Content-Type": "application/json"}, **more)
        self.assertEqual(reply.status, 200, reply.body)
        cookie = reply.headers["Set-Cookie"]
        self.assertRegex(cookie, r"^__Host-subak=[0-9a-f]{64}; Path=/; Max-Age=43200; Secure; HttpOnly; SameSite=Strict$")
        return reply, {"Cookie": cookie.split(";")[0]}

    def test_who_may_call(self):
        self.refused(self.call("JobService/ListQueue"), 401, "unauthenticated")
        for wrong in ("Bearer wrong-secret-0123456", "Basic eDp5", "Session " + "0" * 64, "Bearer "):
            with self.subTest(wrong=wrong):
                self.refused(self.call("JobService/ListQueue", headers={"Authorization": wrong}), 401, "unauthenticated")
        for forged in ("__Host-subak=" + "0" * 64, "__Host-subak=x", "__Host-subak", ";;=;"):
            with self.subTest(forged=forged):
                self.refused(self.call("JobService/ListQueue", headers={"Cookie": forged}), 401, "unauthenticated")
                self.assertEqual(self.send("GET", "/live?topics=queue", headers={"Cookie": forged}).status, 401)
        bearer = {"Authorization": f"Bearer {TOKENS['viewer']}"}
        self.assertEqual(self.call("JobService/ListQueue", headers=bearer).status, 200)

    def test_a_session_is_its_token(self):
        reply, viewer = self.sign_in("viewer")
        self.assertEqual(reply.json(), {"actor": "token:viewer", "role": "viewer"})
        self.assertEqual(self.call("JobService/ListQueue", headers=viewer).status, 200)
        # A header wins over a cookie, so a script is not another person by chance.
        self.refused(self.call("JobService/ListQueue", headers={**viewer, "Authorization": "Bearer wrong-secret-0123456"}),
                     401, "unauthenticated")  # fmt: skip
        out = self.send("POST", "/logout", headers=viewer)
        self.assertEqual(out.status, 303)
        self.assertIn("Max-Age=0", out.headers["Set-Cookie"])
        self.refused(self.call("JobService/ListQueue", headers=viewer), 401, "unauthenticated")

    def test_a_session_goes_with_its_token(self):
        _, viewer = self.sign_in("viewer")
        _, admin = self.sign_in("admin")
        stream = Stream(self.http, "/live?topics=queue", viewer)
        self.addCleanup(stream.close)
        self.assertEqual(stream.event()[0], "queue")
        self.write_tokens("admin")
        self.addCleanup(self.give_back)
        self.server.send_signal(signal.SIGHUP)
        for _ in range(300):
            if self.call("JobService/ListQueue", headers=viewer).status == 401:
                break
            time.sleep(0.1)
        self.refused(self.call("JobService/ListQueue", headers=viewer), 401, "unauthenticated")
        self.assertEqual(self.call("JobService/ListQueue", headers=admin).status, 200)
        self.assertIsNone(stream.event("none"), "the stream of the session ends too")

    def give_back(self):
        self.write_tokens("admin", "viewer")
        self.server.send_signal(signal.SIGHUP)
        for _ in range(300):
            if self.call("JobService/ListQueue", headers={"Authorization": f"Bearer {TOKENS['viewer']}"}).status == 200:
                return
            time.sleep(0.1)

    def test_z_many_sign_ins(self):
        body, headers = '{"token":"wrong-secret-0123456"}', {"Content-Type": "application/json"}
        answers = [self.send("POST", "/login", body, headers).status for _ in range(60)]
        self.assertEqual(set(answers), {401, 429})
        self.assertLessEqual(answers.count(401), 30)
        self.assertEqual(self.send("GET", "/readyz").status, 200)

    def test_the_form(self):
        page = self.send("GET", "/login?to=/queue%22%3E%3Cscript%3E")
        self.assertEqual(page.status, 200)
        self.assertNotIn(b"<script>", page.body)
        self.assertIn("default-src 'none'", page.headers["Content-Security-Policy"])
        form = {"Content-Type": "application/x-www-form-urlencoded", "Origin": f"http://{self.http}"}
        done = self.send("POST", "/login", f"token={TOKENS['viewer']}&to=%2Fqueue%3Fa%3Dml", form)
        self.assertEqual((done.status, done.headers["Location"]), (303, "/queue?a=ml"))
        for to in ("//evil.example.com", "https://evil.example.com", "/%0d%0aX-Evil: 1", "/\\evil.example.com"):
            done = self.send("POST", "/login", f"token={TOKENS['viewer']}&to={to}", form)
            self.assertEqual((done.status, done.headers["Location"]), (303, "/"), to)
            self.assertIsNone(done.headers["X-Evil"])
        wrong = self.send("POST", "/login", "token=wrong-secret-0123456", form)
        self.assertEqual(wrong.status, 401)
        self.assertIn(b"not known", wrong.body)
        self.assertEqual(self.send("POST", "/login", "token=x", {**form, "Origin": "https://evil.example.com"}).status, 403)
        self.assertEqual(self.send("POST", "/login", "x", {"Content-Type": "text/plain"}).status, 400)


class Beyond(WithTokens):
    """On an address that is not on loopback, with TLS and tokens."""

    beyond = True

    def send(self, method, path, body=None, headers=None, secure=True, address=None):
        headers = dict(headers or {})
        if "Origin" in headers:
            headers["Origin"] = headers["Origin"].replace("http://", "https://")
        return super().send(method, path, body, headers, secure, address)

    def test_a_session_goes_with_its_token(self):
        pass  # its stream is plain; the case is that of WithTokens

    def test_plain_beyond_this_machine(self):
        bearer = {"Authorization": f"Bearer {TOKENS['admin']}"}
        self.refused(self.call("JobService/ListQueue", headers=bearer, secure=False), 403, "permission_denied", "want https")
        for path in ("/", "/queue", "/login", "/live?topics=queue"):
            with self.subTest(path=path):
                self.assertEqual(self.send("GET", path, headers=bearer, secure=False).status, 403)
        for path in ("/metrics", "/healthz", "/readyz"):
            with self.subTest(path=path):
                self.assertEqual(self.send("GET", path, secure=False).status, 200)
                self.assertEqual(self.send("GET", path).status, 200)

    def test_pages_need_a_session(self):
        reply = self.send("GET", "/")
        self.assertEqual((reply.status, reply.headers["Location"]), (303, "/login?to=/"))
        self.assertEqual(self.send("GET", "/queue").status, 303)
        mailed = self.send("GET", "/queue", headers={"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"})
        self.assertEqual((mailed.status, mailed.headers["Refresh"]), (200, "0; url=/queue"))
        _, viewer = self.sign_in("viewer")
        self.assertEqual(self.send("GET", "/", headers=viewer).status, 200)
        self.assertEqual(self.send("GET", "/queue", headers=viewer).status, 200)
        self.assertEqual(self.call("JobService/ListQueue", headers=viewer).status, 200)

    def test_live_over_tls(self):
        _, viewer = self.sign_in("viewer")
        context = ssl.create_default_context(cafile=self.cert)
        with socket.create_connection((self.host, self.port), timeout=DEADLINE_S) as plain, context.wrap_socket(
            plain, server_hostname=self.host
        ) as tls:
            tls.sendall(f"GET /live?topics=queue HTTP/1.1\r\nHost: {self.http}\r\nCookie: {viewer['Cookie']}\r\n\r\n".encode())
            text = b""
            while b"event: queue" not in text:
                part = tls.recv(65536)
                self.assertTrue(part, text)
                text += part

    def test_this_machine_needs_no_tls(self):
        bearer = {"Authorization": f"Bearer {TOKENS['viewer']}"}
        reply = self.call("JobService/ListQueue", headers=bearer, secure=False, address=self.local)
        self.assertEqual(reply.status, 200)


if __name__ == "__main__":
    unittest.main()
