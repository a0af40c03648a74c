#!/usr/bin/env python3
"""The real binary from outside: start line, ports, health, webhook over TLS, signals, exit codes, full disks.

Usage: subakd_test.py PATH_TO_SUBAKD PATH_TO_SUBAK
"""

import contextlib
import json
import os
import re
import resource
import shutil
import signal
import socket
import sqlite3
import ssl
import stat
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.request

SUBAKD, SUBAK = (os.path.abspath(path) for path in (sys.argv.pop(1), sys.argv.pop(1)))
DEADLINE_S = 120  # generous: other work may share the machine
PORTS = ("--listen-webhook", "127.0.0.1:0", "--listen-grpc", "127.0.0.1:0", "--listen-http", "127.0.0.1:0")


def run(*flags, **options):
    done = subprocess.run(
        [SUBAKD, *flags], capture_output=True, text=True, timeout=DEADLINE_S, check=False, **options
    )
    return done.returncode, done.stdout, done.stderr


class Process:
    """A running subakd; `ports` is what it said on its first line."""

    def __init__(self, state, *flags, ports=PORTS, **options):
        command = [SUBAKD, "--state", state, *ports, *flags]
        self.child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)
        self.line = self.child.stdout.readline()
        self.ports = dict(re.findall(r"(\w+)=([\d.]+:\d+)", self.line))

    def end(self, how):
        self.child.send_signal(how)
        self.errors = self.child.communicate(timeout=DEADLINE_S)[1]
        return self.child.returncode

    def get(self, path):
        try:
            with urllib.request.urlopen(f"http://{self.ports['http']}{path}", timeout=DEADLINE_S) as reply:
                return reply.status, reply.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def review(self, path, body, ca):
        request = urllib.request.Request(f"https://{self.ports['webhook']}{path}", json.dumps(body).encode())
        context = ssl.create_default_context(cafile=ca)
        with urllib.request.urlopen(request, timeout=DEADLINE_S, context=context) as reply:
            return json.load(reply)


def gpu_pod():
    limits = {"nvidia.com/gpu": "1"}
    container = {"name": "c", "image": "i", "resources": {"limits": limits, "requests": limits}}
    return {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": "u1",
            "kind": {"group": "", "version": "v1", "kind": "Pod"},
            "resource": {"group": "", "version": "v1", "resource": "pods"},
            "operation": "CREATE",
            "namespace": "team-a",
            "userInfo": {"username": "ana"},
            "object": {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": "p", "namespace": "team-a"},
                "spec": {"containers": [container]},
            },
        },
    }


class Start(unittest.TestCase):
    def test_refusals(self):
        code, _, errors = run("--mode", "on")
        self.assertEqual((code, errors), (1, 'subakd: --mode: was "on", want observe, warn or enforce\n'))
        self.assertEqual(run("--state", "postgres://ana:secret@x/y")[0], 1)
        self.assertEqual(run("--kubeconfig", "x")[0], 1)
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write("apiVersion: subak.gpu/v1\nkind: Configuration\nhold: long\n")
            file.flush()
            code, _, errors = run("--config", file.name, "--check-config")
            self.assertEqual(code, 1)
            self.assertIn(f'{file.name}:3: hold: was "long", want', errors)

    def test_check_config_starts_nothing(self):
        with tempfile.TemporaryDirectory() as folder:
            state = os.path.join(folder, "s.db")
            self.assertEqual(run("--state", state, "--check-config")[0], 0)
            self.assertFalse(os.path.exists(state))
        self.assertEqual(run("--version")[0], 0)

    def test_the_example_configuration_is_good(self):
        here = os.path.dirname(os.path.abspath(__file__))
        example = os.path.join(here, "..", "..", "deploy", "systemd", "subak.yaml")
        self.assertEqual(run("--config", example, "--check-config")[0], 0)


class Fixture(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.state = os.path.join(self.folder.name, "var", "subak.db")

    def start(self, *flags, **options):
        process = Process(self.state, *flags, **options)
        self.addCleanup(process.child.communicate)
        self.addCleanup(process.child.kill)
        self.assertRegex(process.line, r"^subakd ready webhook=\S+:\d+ grpc=\S+:\d+ http=\S+:\d+\n$")
        return process


class Life(Fixture):
    def test_serves_and_stops(self):
        process = self.start("--mode", "enforce")
        mode = stat.S_IMODE(os.stat(os.path.dirname(self.state)).st_mode)
        self.assertEqual(mode, 0o700)
        self.assertEqual(process.get("/healthz"), (200, "ok\n"))
        self.assertEqual(process.get("/readyz"), (200, "ok\n"))
        self.assertEqual(process.get("/nothing.txt")[0], 404)
        self.assertEqual(process.get("/queue")[0], 200)  # the console has views, not files
        self.assertIn("<title>Subak</title>", process.get("/")[1])
        ca = os.path.join(os.path.dirname(self.state), "tls", "ca.crt")
        answer = process.review("/mutate", gpu_pod(), ca)
        self.assertEqual(answer["response"]["uid"], "u1")
        metrics = process.get("/metrics")[1]
        self.assertIn('subak_cluster_mode{cluster="default",mode="enforce"} 1\n', metrics)
        self.assertIn("subak_admission_seconds_count 1\n", metrics)
        self.assertIn("subak_bill_residual_gpu_seconds 0\n", metrics)
        self.assertEqual(process.end(signal.SIGTERM), 0)

    def test_a_certificate_of_another_address_is_named(self):
        self.assertEqual(self.start().end(signal.SIGTERM), 0)
        same = self.start()
        self.assertEqual(same.end(signal.SIGTERM), 0)
        self.assertNotIn("not for the address", same.errors)
        other = self.start(ports=(PORTS[0], "127.0.0.2:0", *PORTS[2:]))
        self.assertEqual(other.end(signal.SIGTERM), 0)
        self.assertRegex(other.errors, r"not for the address it listens on.*127\.0\.0\.2")

    def test_the_next_ca_is_announced(self):
        folder = os.path.join(os.path.dirname(self.state), "tls")
        os.makedirs(folder, mode=0o700)
        words = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "100",
                 "-subj", "/CN=old", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", "tls.key", "-out", "tls.crt"]  # fmt: skip
        subprocess.run(words, cwd=folder, check=True, capture_output=True)
        shutil.copy(os.path.join(folder, "tls.crt"), os.path.join(folder, "ca.crt"))
        process = self.start()
        ca = os.path.join(folder, "ca.crt")
        with open(ca, encoding="ascii") as file:
            self.assertEqual(file.read().count("BEGIN CERTIFICATE"), 2)
        self.assertEqual(process.review("/mutate", gpu_pod(), ca)["response"]["uid"], "u1")
        change = float(re.search(r"(?m)^subak_certificate_change_seconds (.*)$", process.get("/metrics")[1]).group(1))
        self.assertAlmostEqual(change, time.time() + 90 * 86400, delta=3600)
        status = subprocess.run([SUBAK, "--server", process.ports["grpc"], "status"], capture_output=True, text=True, check=True)
        self.assertRegex(status.stdout, r"certificate changes to the next CA in (89|90) days: .*subak install --print --ca")
        self.assertEqual(process.end(signal.SIGTERM), 0)
        self.assertIn("ca.crt now has the next CA of the webhook", process.errors)

    def test_one_process_per_store(self):
        process = self.start()
        code, _, errors = run("--state", self.state, *PORTS)
        self.assertEqual(code, 1)
        self.assertIn("subakd: ", errors)
        self.assertEqual(process.end(signal.SIGINT), 0)

    def test_a_port_in_use_refuses_the_start(self):
        process = self.start()
        other = os.path.join(self.folder.name, "other.db")
        code, _, errors = run("--state", other, *PORTS[:4], "--listen-http", process.ports["http"])
        self.assertEqual(code, 1, errors)
        self.assertEqual(process.end(signal.SIGTERM), 0)

    def test_a_killed_process_comes_back(self):
        self.assertEqual(self.start("--cluster", "east:warn").end(signal.SIGKILL), -signal.SIGKILL)
        process = self.start()
        self.assertIn('subak_cluster_mode{cluster="east",mode="warn"} 1\n', process.get("/metrics")[1])
        self.assertEqual(process.end(signal.SIGTERM), 0)
        process = self.start("--cluster", "east:enforce")
        self.assertIn('subak_cluster_mode{cluster="east",mode="enforce"} 1\n', process.get("/metrics")[1])
        self.assertEqual(process.end(signal.SIGTERM), 0)

    def test_hangup_reads_tokens_again(self):
        tokens = os.path.join(self.folder.name, "tokens")
        with open(tokens, "w", encoding="utf-8") as file:
            file.write("0123456789abcdef0123456789abcdef admin ci\n")
        process = self.start("--tokens", tokens)
        process.child.send_signal(signal.SIGHUP)
        for line in process.child.stderr:
            if "tokens and receivers read again" in line:
                break
        self.assertEqual(process.end(signal.SIGTERM), 0)


def files_at_most(size):
    """For a child: no file may grow beyond it, as on a full disk; needs no rights."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


class Disk(Fixture):
    def set_shares(self, process, shares):
        command = [SUBAK, "account", "set", "ml", "--shares", str(shares), "--reason", "test"]
        environment = {**os.environ, "SUBAK_SERVER": process.ports["grpc"]}
        done = subprocess.run(command, capture_output=True, timeout=DEADLINE_S, env=environment, check=False)
        return done.returncode == 0

    def shares(self, process):
        command = [SUBAK, "account", "get", "ml", "--output", "json"]
        environment = {**os.environ, "SUBAK_SERVER": process.ports["grpc"]}
        done = subprocess.run(command, capture_output=True, timeout=DEADLINE_S, env=environment, check=True)
        return int(json.loads(done.stdout)["shares"])

    def test_a_disk_that_fills_up_ends_the_service_and_loses_nothing(self):
        process = self.start(preexec_fn=files_at_most(300_000))
        acknowledged = 0
        while self.set_shares(process, acknowledged + 1):
            acknowledged += 1
            self.assertLess(acknowledged, 1000)
        self.assertGreater(acknowledged, 0)
        errors = process.child.communicate(timeout=DEADLINE_S)[1]
        self.assertEqual(process.child.returncode, 3, errors)
        lines = [line for line in errors.splitlines() if "level=error" in line]
        self.assertEqual(len(lines), 1, errors)
        self.assertIn(f"store.commit {self.state}", lines[0])
        self.assertIn("free room", lines[0])
        process = self.start()
        self.assertIn(self.shares(process), (acknowledged, acknowledged + 1))
        self.assertTrue(self.set_shares(process, acknowledged + 2))
        self.assertIn("subak_bill_residual_gpu_seconds 0\n", process.get("/metrics")[1])
        self.assertEqual(process.end(signal.SIGTERM), 0)

    def test_a_full_disk_refuses_the_start_in_one_line(self):
        os.makedirs(os.path.dirname(self.state))
        for size in (0, 2000, 10_000, 20_000, 35_000):
            code, out, errors = run("--state", self.state, *PORTS, preexec_fn=files_at_most(size))
            self.assertIn(code, (1, 3), f"{size}: {out}{errors}")
            lines = [line for line in errors.splitlines() if "level=info" not in line]
            self.assertEqual(len(lines), 1, errors)
            self.assertIn(os.path.dirname(self.state), lines[0])
            self.assertRegex(lines[0], "free room|File too large|with room")
            self.assertNotIn("backup", lines[0])
        self.assertEqual(self.start().end(signal.SIGTERM), 0)


def open_files_at_most(count):
    """For a child."""
    return lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (count, count))


class Sockets(Fixture):
    """More connections to a port than there are open files: everything goes on."""

    CROWD = 1030
    PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))

    def setUp(self):
        super().setUp()
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(8192, hard) if hard > 0 else 8192, hard))

    def crowd(self, process, port, words=b""):
        host, number = process.ports[port].rsplit(":", 1)
        crowd = []
        for _ in range(self.CROWD):
            crowd.append(socket.create_connection((host, int(number)), timeout=DEADLINE_S))
            self.addCleanup(crowd[-1].close)
            try:
                crowd[-1].sendall(words)
            except OSError:
                pass  # it was turned away
        return crowd

    def expect_grpc(self, process):
        environment = {**os.environ, "SUBAK_SERVER": process.ports["grpc"]}
        command = [SUBAK, "status"]
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=DEADLINE_S, env=environment, check=False
        )
        self.assertEqual(done.returncode, 0, done.stderr)

    def expect_all_serve(self, process):
        self.assertEqual(process.get("/readyz"), (200, "ok\n"))
        ca = os.path.join(os.path.dirname(self.state), "tls", "ca.crt")
        self.assertEqual(process.review("/mutate", gpu_pod(), ca)["response"]["uid"], "u1")
        self.expect_grpc(process)

    def metric(self, process, name, listener):
        row = f'{name}{{listener="{listener}"}} '
        return [float(x[len(row):]) for x in process.get("/metrics")[1].splitlines() if x.startswith(row)][0]

    def wait_for(self, process, name, listener, least):
        """Accepting has a thread of its own, which may be behind those who connect."""
        end = time.monotonic() + DEADLINE_S
        while (value := self.metric(process, name, listener)) < least:
            self.assertLess(time.monotonic(), end, f"{name} of {listener}: {value}, want {least}")
            time.sleep(0.05)

    def send_away(self, process, port, crowd):
        """Closes them and waits until the service has seen their ends."""
        for one in crowd:
            one.close()
        end = time.monotonic() + DEADLINE_S
        while self.metric(process, "subak_connections", port) > 20:
            self.assertLess(time.monotonic(), end, f"{port} still counts those who have gone")
            time.sleep(0.05)

    def test_a_crowd_at_one_port_shuts_nobody_out(self):
        process = self.start(preexec_fn=open_files_at_most(1024))
        for port in ("webhook", "grpc", "http"):
            crowd = self.crowd(process, port)
            self.expect_all_serve(process)
            self.assertLess(self.metric(process, "subak_connections", port), 400)
            evicted = self.metric(process, "subak_connections_evicted_total", port)
            refused = self.metric(process, "subak_connections_refused_total", port)
            self.assertGreater(evicted, 0)
            self.assertGreater(evicted + refused, 900)
            self.send_away(process, port, crowd)
            self.expect_all_serve(process)
        self.assertEqual(process.end(signal.SIGTERM), 0)
        self.assertIn("there may be fewer connections", process.errors)
        self.assertNotIn("does not answer", process.errors)

    def test_full_is_not_dead(self):
        process = self.start(preexec_fn=open_files_at_most(1024))
        crowd = self.crowd(process, "grpc", self.PREFACE)
        self.wait_for(process, "subak_connections_refused_total", "grpc", 500)
        end = time.monotonic() + 5  # long enough for two questions of the service to itself
        while time.monotonic() < end:
            self.assertEqual(process.get("/readyz"), (200, "ok\n"))
        self.send_away(process, "grpc", crowd)
        self.expect_all_serve(process)
        self.assertEqual(process.end(signal.SIGTERM), 0)

    def test_too_few_open_files_refuse_the_start(self):
        code, _, errors = run("--state", self.state, *PORTS, preexec_fn=open_files_at_most(300))
        self.assertEqual(code, 1)
        self.assertRegex(errors, r'subakd: open files: was "300", want a limit of at least \d+ \(LimitNOFILE')

    def test_other_names_than_its_own_are_not_answered(self):
        process = self.start("--http-host", "subak.example.com")
        for name, status in (("evil.example", 421), ("subak.example.com:9445", 200), ("localhost", 200)):
            request = urllib.request.Request(f"http://{process.ports['http']}/metrics", headers={"Host": name})
            try:
                with urllib.request.urlopen(request, timeout=DEADLINE_S) as reply:
                    self.assertEqual(reply.status, status)
            except urllib.error.HTTPError as error:
                self.assertEqual(error.code, status)
                self.assertIn("--http-host", error.read().decode())
        self.assertEqual(process.end(signal.SIGTERM), 0)


class Damage(Fixture):
    """What no restart mends: exit 1, so that a supervisor does not try again and again."""

    def refusal(self, *flags):
        code, _, errors = run("--state", self.state, *PORTS, *flags)
        self.assertEqual(code, 1, errors)
        lines = [line for line in errors.splitlines() if "level=info" not in line]
        self.assertEqual(len(lines), 1, errors)
        return lines[0]

    def sql(self, statement):
        with contextlib.closing(sqlite3.connect(self.state)) as db, db:
            db.execute(statement)

    def test_an_altered_row_is_named(self):
        self.assertEqual(self.start().end(signal.SIGTERM), 0)
        self.sql("UPDATE facts SET body = body || x'00' WHERE seq = 1")
        said = self.refusal()
        self.assertIn(f'{self.state}: was "row 1 of table facts is not what was written', said)
        self.assertIn("restore a backup with `subak admin restore`", said)
        self.assertEqual(self.refusal("--ignore-checkpoint"), said)

    def test_a_damaged_checkpoint_is_left_out_when_asked(self):
        self.assertEqual(self.start().end(signal.SIGTERM), 0)
        self.sql("UPDATE checkpoint SET body = body || x'00' WHERE ord = 0")
        self.assertIn("start once with --ignore-checkpoint", self.refusal())
        self.assertEqual(self.start("--ignore-checkpoint").end(signal.SIGTERM), 0)
        self.assertTrue(os.path.exists(self.state + ".replaced-1"))
        self.assertEqual(self.start().end(signal.SIGTERM), 0)

    def test_a_broken_log_is_named(self):
        service = self.start()
        for i in range(3):
            done = subprocess.run(
                [SUBAK, "--server", service.ports["grpc"], "account", "set", f"a{i}", "--reason", "r"],
                capture_output=True, text=True, timeout=DEADLINE_S, check=False,
            )  # fmt: skip
            self.assertEqual(done.returncode, 0, done.stderr)
        service.end(signal.SIGKILL)
        with open(self.state + "-wal", "r+b") as log:
            log.seek(32 + 3 * 4120 + 500)
            byte = log.read(1)[0]
            log.seek(-1, os.SEEK_CUR)
            log.write(bytes([byte ^ 4]))
        said = self.refusal()
        self.assertIn(f'{self.state}-wal: was "frame 4 (byte {32 + 3 * 4120}) is not what was written', said)

    def test_a_state_that_is_taken_away_ends_the_service(self):
        service = self.start()
        os.rename(self.state, self.state + ".mine")
        errors = service.child.communicate(timeout=DEADLINE_S)[1]
        self.assertEqual(service.child.returncode, 3, errors)
        self.assertIn("removed or replaced while the service ran", errors)
        self.assertIn(f"the file is empty, but its log {self.state}-wal is not", self.refusal())
        os.rename(self.state + ".mine", self.state)
        self.assertEqual(self.start().end(signal.SIGTERM), 0)


class ReadOnly(Fixture):
    """As a user whom the system refuses something; root is refused nothing, so it becomes nobody."""

    def setUp(self):
        super().setUp()
        self.state = os.path.join(self.folder.name, "subak.db")
        self.options, self.binary = {}, SUBAKD
        if os.geteuid() == 0:
            self.options = {"user": 65534, "group": 65534}
            self.binary = shutil.copy(SUBAKD, self.folder.name)
            os.chmod(self.folder.name, 0o777)
        code, said = self.refused_or_stopped()
        self.assertEqual((code, said.count("\n")), (0, 1))
        self.assertIn('msg="a new CA and certificate for the webhook"', said)

    def refused_or_stopped(self):
        command = [self.binary, "--state", self.state, *PORTS]
        child = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **self.options
        )
        if child.stdout.readline():
            child.send_signal(signal.SIGTERM)
        errors = child.communicate(timeout=DEADLINE_S)[1]
        return child.returncode, "".join(x for x in errors.splitlines(True) if "level=info" not in x)

    def expect_refusal(self, file, why, advice):
        code, errors = self.refused_or_stopped()
        self.assertEqual(code, 1, errors)
        self.assertRegex(errors, rf'^subakd: [^\n]*{re.escape(file)}: was "{why}[^\n]*", [^\n]*{advice}[^\n]*\n$')

    def test_a_store_that_cannot_be_written_refuses_the_start(self):
        os.chmod(self.state, 0o444)
        self.expect_refusal(self.state, "Permission denied", "can write")
        os.chmod(self.state, 0o000)
        self.expect_refusal(self.state, "Permission denied", "can write")
        os.chmod(self.state, 0o600)
        self.assertEqual(self.refused_or_stopped(), (0, ""))

    def test_a_folder_that_cannot_be_written_refuses_the_start(self):
        os.chmod(self.folder.name, 0o555)
        self.addCleanup(os.chmod, self.folder.name, 0o777)
        self.expect_refusal(self.state, "", "can write")
        os.chmod(self.folder.name, 0o777)
        os.remove(self.state + ".lock")
        os.chmod(self.folder.name, 0o555)
        self.expect_refusal(self.state + ".lock", "Permission denied", "can be written")


if __name__ == "__main__":
    unittest.main()
