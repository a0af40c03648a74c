"""A subakd for the tests of the gateway for browsers, and what they send to it. The first two arguments of the
program: PATH_TO_SUBAKD PATH_TO_SUBAK."""

import http.client
import json
import os
import re
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
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
