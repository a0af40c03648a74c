#!/usr/bin/env python3
"""Notices of the real service to played receivers, which hang, fail, redirect, are away and come back, while the service
is killed and another process takes over.

Usage: notices_test.py PATH_TO_SUBAKD PATH_TO_SUBAK
SUBAK_NOTICE_AWAY_S: for how many seconds a receiver is away (5).
"""

import hashlib
import hmac
import http.server
import json
import os
import signal
import ssl
import subprocess
import tempfile
import threading
import time
import unittest

from pg_replica import SUBAKD, OnPostgres, Process
from pg_server import DEADLINE_S
from ports import free_ports

AWAY_S = int(os.environ.get("SUBAK_NOTICE_AWAY_S", "5"))
OPERATE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "operate-monitoring.md")
SECRET = "0123456789abcdef0123456789abcdef"


class Receiver:
    """Takes notices on a port. `answers`: what it does with the next requests: a status, with headers, or "hang"; then 204."""

    def __init__(self, *answers, port=0, certificate=None):
        self.answers = list(answers)
        self.got = []  # (path, headers, body) of each request
        self.taken = []  # the body of each request that it answered with 204, as JSON
        self.free = threading.Event()
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                answer = outer.answers.pop(0) if outer.answers else (204, {})
                outer.got.append((self.path, dict(self.headers), body))
                if answer == "hang":
                    outer.free.wait(DEADLINE_S)
                    return
                status, headers = answer
                if status == 204:
                    outer.taken.append(json.loads(body))
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", "0")
                self.end_headers()

            do_GET = do_POST

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.server.daemon_threads = True
        self.server.handle_error = lambda *_: None  # a client that breaks off is no failure of the test
        self.scheme = "http"
        if certificate:
            self.scheme = "https"
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*certificate)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def url(self, path="/hook"):
        return f"{self.scheme}://127.0.0.1:{self.port}{path}"

    def ids(self):
        """The ids of all notices that it took, also of those in summaries."""
        return [one for body in self.taken for one in body.get("ids", [body["id"]])]

    def close(self):
        self.free.set()
        self.server.shutdown()
        self.server.server_close()


class Cases:
    """The cases, for a class with start()."""

    def receiver(self, *answers, port=0, certificate=None):
        made = Receiver(*answers, port=port, certificate=certificate)
        self.addCleanup(made.close)
        return made

    def write(self, **receivers):
        """Writes the receivers file. Each receiver is a URL, or a map of keys."""
        with open(self.path("secret"), "w", encoding="utf-8") as file:
            file.write(SECRET + "\n")
        with open(self.path("receivers.yaml"), "w", encoding="utf-8") as file:
            file.write("receivers:\n")
            for name, keys in receivers.items():
                keys = keys if isinstance(keys, dict) else {"url": keys}
                keys = {"name": name, "secretFile": self.path("secret"), **keys}
                file.write("- {" + ", ".join(f"{key}: '{value}'" for key, value in keys.items()) + "}\n")

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def ok(self, *words):
        code, out, errors = self.process.call(*words)
        self.assertEqual(code, 0, f"{words}: {errors}")
        return out

    def until(self, condition, what):
        end = time.monotonic() + DEADLINE_S
        while not condition():
            self.assertLess(time.monotonic(), end, what)
            time.sleep(0.02)

    def set_up_fleet(self):
        self.ok("policy", "set", "hold=1h", "--reason", "nothing binds the pods, and their holds should not end")
        self.ok("cluster", "import", "--nodes", "8x8:NVIDIA-H100-80GB-HBM3")
        for account in "ml", "bio":
            self.ok("account", "set", account, "--reason", "test")

    def submit(self, account="ml", count=1):
        for _ in range(count):
            self.ok("job", "submit", "--account", account, "--gpus", "1", "--name", "train <b>")

    def metric(self, name, receiver):
        return self.process.metric(f'{name}{{receiver="{receiver}"}}')


class OnFile(Cases, unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.process = None
        self.addCleanup(lambda: self.process and self.process.end(signal.SIGKILL))

    def start(self):
        self.process = Process(self.path("subak.db"), "--notices", self.path("receivers.yaml"), durability=())

    def test_each_receiver_gets_its_subtree_signed(self):
        team, everyone = self.receiver(), self.receiver()
        self.write(team={"url": team.url(), "account": "ml"}, everyone={"url": everyone.url(), "form": "slack"})
        self.start()
        self.set_up_fleet()
        self.submit("bio")
        self.submit("ml")
        self.until(lambda: len(team.got) == 1 and len(everyone.got) == 2, "notices")
        path, headers, body = team.got[0]
        notice = json.loads(body)
        self.assertEqual(path, "/hook")
        self.assertEqual((notice["kind"], notice["account"], notice["name"]), ("job_started", "ml", "train <b>"))
        self.assertEqual(headers["Subak-Notice"], notice["id"])
        self.assertIn(f"Job {notice['job']} (train <b>) of ml starts: Subak holds 1 GPU for 1 pod.", notice["text"])
        fields = dict(part.split("=") for part in headers["Subak-Signature"].split(","))
        expected = hmac.new(SECRET.encode(), fields["t"].encode() + b"." + body, hashlib.sha256)
        self.assertEqual(fields["v1"], expected.hexdigest())
        self.assertLess(abs(time.time() - int(fields["t"])), DEADLINE_S)
        texts = [json.loads(one[2]) for one in everyone.got]
        self.assertTrue(all(list(one) == ["text"] and "train &lt;b&gt;" in one["text"] for one in texts), texts)
        self.until(lambda: self.metric("subak_notices_sent_total", "everyone") == 2, "the metric")
        self.assertEqual(self.metric("subak_notices_waiting", "team"), 0)

    def test_only_a_receiver_with_a_right_certificate_gets_notices(self):
        certificate = self.path("crt.pem"), self.path("key.pem")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=r",
                        "-addext", "subjectAltName=IP:127.0.0.1", "-out", certificate[0], "-keyout", certificate[1]],
                       check=True, capture_output=True, timeout=DEADLINE_S)
        known, unknown = self.receiver(certificate=certificate), self.receiver(certificate=certificate)
        self.write(known={"url": known.url(), "caFile": certificate[0]}, unknown=unknown.url())
        self.start()
        self.set_up_fleet()
        self.submit()
        self.until(lambda: len(known.taken) == 1, "the notice")
        self.until(lambda: self.metric("subak_notice_failures_total", "unknown") > 1, "failures")
        self.assertEqual(unknown.got, [])
        self.assertRegex(self.ok("status"), "(?i)receiver unknown of notices .*certificate")

    def test_the_example_of_the_page_checks_a_signature(self):
        with open(OPERATE, encoding="utf-8") as file:
            example = [part for part in file.read().split("```") if "openssl dgst" in part][0].removeprefix("sh\n")
        with open(self.path("ml-team.secret"), "w", encoding="utf-8") as file:
            file.write(SECRET + "\n")
        shown = subprocess.run(["sh", "-ec", example], capture_output=True, text=True, check=True, timeout=DEADLINE_S,
                               cwd=self.folder.name).stdout
        expected = hmac.new(SECRET.encode(), b'1767225600.{"id":"12","kind":"job_started"}', hashlib.sha256)
        self.assertIn(expected.hexdigest(), shown)

    def test_bad_answers_lose_nothing_and_delay_nobody(self):
        lure = self.receiver()
        bad = self.receiver((500, {}), (302, {"Location": lure.url()}), (429, {"Retry-After": "2"}), "hang")
        good = self.receiver()
        self.write(bad=bad.url(), good=good.url())
        self.start()
        self.set_up_fleet()
        self.submit(count=2)
        self.until(lambda: len(bad.got) == 4, "the request that hangs")
        begin = time.monotonic()
        self.submit()
        self.until(lambda: len(good.taken) == 3, "the other receiver waits for nobody")
        self.assertLess(time.monotonic() - begin, 8, "a receiver that hangs delays others")
        self.assertIn("the receiver bad of notices does not take them", self.ok("status"))
        self.until(lambda: len(bad.taken) == 3, "all arrives")
        self.assertEqual(bad.ids(), good.ids())
        self.assertEqual([json.loads(one[2])["id"] for one in bad.got[:5]], bad.ids()[:1] * 5)
        self.assertEqual(lure.got, [])
        self.assertEqual(self.metric("subak_notice_failures_total", "bad"), 4)
        self.assertEqual(self.metric("subak_notices_lost_total", "bad"), 0)

    def test_many_become_one(self):
        receiver = self.receiver((500, {}), (429, {"Retry-After": "3"}))
        self.write(one=receiver.url())
        self.start()
        self.set_up_fleet()
        self.submit(count=25)
        self.until(lambda: len(receiver.ids()) == 25, "all arrives")
        self.assertEqual(len(set(receiver.ids())), 25)
        self.assertLessEqual(len(receiver.taken), 20)
        summary = [one for one in receiver.taken if one["kind"] == "summary"][0]
        self.assertEqual(summary["count"], len(summary["ids"]))
        self.assertIn("job_started", summary["text"])

    def test_a_receiver_that_is_away_while_the_service_is_killed(self):
        port = free_ports(1)[0]
        good = self.receiver()
        self.write(away=f"http://127.0.0.1:{port}/hook", good=good.url())
        self.start()
        self.set_up_fleet()
        self.submit(count=3)
        self.until(lambda: len(good.taken) == 3, "notices")
        self.until(lambda: self.metric("subak_notices_waiting", "away") == 3, "notices that wait")
        time.sleep(AWAY_S)
        self.process.end(signal.SIGKILL)
        self.start()
        self.submit(count=2)
        self.until(lambda: len(set(good.ids())) == 5, "notices")
        away = self.receiver(port=port)
        self.until(lambda: len(set(away.ids())) == 5, "all arrives")
        self.assertEqual(sorted(set(away.ids())), sorted(set(good.ids())))
        taken = {}
        for one in away.taken + good.taken:  # the same id is the same notice
            self.assertEqual(taken.setdefault(one["id"], one), one)
        time.sleep(1.5)  # the marks are written
        self.process.end(signal.SIGTERM)
        self.start()
        before = len(away.got), len(good.got)
        self.submit()
        self.until(lambda: (len(away.got), len(good.got)) == (before[0] + 1, before[1] + 1), "only the new one comes")
        self.assertEqual(self.metric("subak_notices_lost_total", "away"), 0)

    def test_hangup_reads_the_receivers_again(self):
        first, second = self.receiver(), self.receiver()
        self.write(one=first.url(), gone=first.url("/gone"))
        self.start()
        self.set_up_fleet()
        self.submit()
        self.until(lambda: len(first.got) == 2, "notices")
        self.hang_up("files not read again", one="http://example.com/")
        self.submit()
        self.until(lambda: len(first.got) == 4, "the receivers stay after a mistake")
        self.hang_up("receivers read again", one=second.url(), new=second.url("/new"))
        self.submit()
        self.until(lambda: len(second.got) == 2, "notices at the new addresses")
        self.assertEqual(sorted(one[0] for one in second.got), ["/hook", "/new"])
        self.assertEqual(len(first.got), 4)

    def hang_up(self, words, **receivers):
        self.write(**receivers)
        self.process.child.send_signal(signal.SIGHUP)
        for line in self.process.child.stderr:
            if words in line:
                return
        self.fail(words)

    def test_a_mistake_refuses_the_start(self):
        self.write(one="http://example.com/")
        done = subprocess.run([SUBAKD, "--state", self.path("s.db"), "--notices", self.path("receivers.yaml"),
                               "--listen-http", "127.0.0.1:0", "--listen-grpc", "127.0.0.1:0",
                               "--listen-webhook", "127.0.0.1:0"], capture_output=True, text=True,
                              timeout=DEADLINE_S, check=False, cwd=self.folder.name)
        self.assertEqual(done.returncode, 1)
        self.assertIn("receivers.yaml:2: url", done.stderr)
        self.assertNotIn("example.com", done.stderr)


class OnDatabase(Cases, OnPostgres):
    def test_the_next_leader_sends_what_the_last_one_did_not(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        port = free_ports(1)[0]
        good = self.receiver()
        self.write(away=f"http://127.0.0.1:{port}/hook", good=good.url())
        flags = "--notices", self.path("receivers.yaml")
        state = self.server.address()
        self.process = Process(state, *flags)
        self.process.until_it_leads()
        standby = Process(state, *flags)
        self.addCleanup(standby.end, signal.SIGKILL)
        self.set_up_fleet()
        self.submit(count=3)
        self.until(lambda: len(good.taken) == 3, "notices")
        time.sleep(2)  # the marks are written
        self.assertEqual(len(good.got), 3, "a standby sends nothing")
        self.process.end(signal.SIGKILL)
        self.process = standby
        standby.until_it_leads()
        away = self.receiver(port=port)
        self.submit()
        self.until(lambda: len(away.ids()) == 4 and len(good.ids()) == 4, "all arrives")
        self.assertEqual(away.ids(), good.ids())
        self.assertEqual(away.taken, good.taken)


if __name__ == "__main__":
    unittest.main()
