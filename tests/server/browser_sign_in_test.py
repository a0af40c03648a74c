"""The gateway for browsers on a real service with tokens: sign-ins, sessions, and who gets none.

  browser_sign_in_test.py PATH_TO_SUBAKD PATH_TO_SUBAK [TEST]

SUBAK_SIGN_INS: how many sign-ins somebody tries at once.
"""

import concurrent.futures
import json
import os
import signal
import socket
import ssl
import sys
import threading
import time
import unittest

from browser_stand import DEADLINE_S, Service, Stream, TOKENS


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
        """Somebody guesses tokens: he is refused, and the calls of others are answered."""
        sign_ins = int(os.environ.get("SUBAK_SIGN_INS", "60"))
        body, headers = '{"token":"wrong-secret-0123456"}', {"Content-Type": "application/json"}
        bearer = {"Authorization": f"Bearer {TOKENS['viewer']}"}
        times_ms, over = [], threading.Event()

        def others():
            while not over.wait(0.02):
                begun = time.monotonic()
                statuses = [self.send("GET", "/readyz").status, self.call("JobService/ListQueue", headers=bearer).status]
                times_ms.append(1000 * (time.monotonic() - begun))
                self.assertEqual(statuses, [200, 200])

        with concurrent.futures.ThreadPoolExecutor(5) as pool:
            calls = pool.submit(others)
            begun = time.monotonic()
            answers = list(pool.map(lambda _: self.send("POST", "/login", body, headers).status, range(sign_ins)))
            seconds = time.monotonic() - begun
            over.set()
            calls.result()
        self.assertEqual(set(answers), {401, 429})
        self.assertLessEqual(answers.count(401), 30 * (1 + seconds / 60))
        times_ms.sort()
        print(f"{sign_ins} sign-ins in {seconds:.1f} s, {answers.count(401)} of them looked up; beside them {len(times_ms)} reads of "
              f"/readyz and the queue: p50 {times_ms[len(times_ms) // 2]:.1f} ms, p99 {times_ms[len(times_ms) * 99 // 100]:.1f} ms, "
              f"longest {times_ms[-1]:.1f} ms", flush=True)  # fmt: skip

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
    if sys.argv[-1] == "--list":
        named = [name for name in sys.argv[1:-1] if hasattr(WithTokens, name.split(".")[-1])]
        print("\n  ".join(["tests", *named]))
        sys.exit(not named)
    unittest.main()
