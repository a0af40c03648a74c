"""What is tested: a PostgreSQL server, and on its database some subakd, each by a proxy of its own."""

import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

import service as s
from pg_server import DEADLINE_S, MORTAL, Server, address_by
from ports import free_ports

DATABASE = "takeover"


class Proxy:
    def __init__(self, binary, server):
        self.child = subprocess.Popen([binary, server.folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.folder = self.child.stdout.readline().strip()

    def do(self, command, value=""):
        self.child.stdin.write(f"{command} {value}\n")
        self.child.stdin.flush()
        held, keeps = self.child.stdout.readline().split()
        return int(held), keeps == "1"

    def end(self):
        self.child.stdin.close()
        self.child.wait(DEADLINE_S)


class Replica:
    """One subakd, started again and again at the same ports. Its clock can be set."""

    def __init__(self, binary, folder, flags, grpc, http, inside=(), proxy=None):
        """`inside`: what goes before the command; `proxy`: its line to the database, where it has one of its own."""
        self.binary, self.folder, self.flags = binary, folder, flags
        self.grpc, self.http, self.inside, self.proxy = grpc, http, inside, proxy
        os.mkdir(folder)
        self.log_path, self.clock_file = os.path.join(folder, "log"), os.path.join(folder, "clock")
        self.set_clock("+0")
        self.ends = []  # how each run ended
        self.start()

    def set_clock(self, offset):
        with open(self.clock_file + ".new", "w", encoding="utf-8") as file:
            file.write(offset + "\n")
        os.replace(self.clock_file + ".new", self.clock_file)

    def start(self):
        with open(self.log_path, "a", encoding="utf-8") as log:
            self.child = subprocess.Popen([*MORTAL, *self.inside, self.binary, *self.flags], stdout=log, stderr=log, cwd=self.folder,
                                          env=s.with_clock(self.clock_file))

    def send(self, what):
        self.child.send_signal(what)

    def lives(self):
        return self.child.poll() is None

    def is_ready(self):
        """It serves reads, whoever leads."""
        try:
            with urllib.request.urlopen(f"http://{self.http}/readyz", timeout=DEADLINE_S) as answer:
                return answer.status == 200
        except (urllib.error.URLError, OSError):
            return False

    def wait_end(self):
        self.ends.append(self.child.wait(DEADLINE_S))
        s.forget_clock(self.child.pid)

    def start_again_if_ended(self):
        if not self.lives():
            self.wait_end()
            self.start()

    def tail(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as file:
            return "".join(file.readlines()[-10:])

    def end(self, how=signal.SIGTERM):
        self.send(signal.SIGCONT)
        self.send(how)
        self.wait_end()


def by_proxy(binary, folder, proxy, more=()):
    """A subakd on loopback with a proxy of its own. `more`: flags besides."""
    webhook, grpc, http = (f"127.0.0.1:{port}" for port in free_ports(3))
    flags = ["--state", address_by(proxy.folder, DATABASE), "--database-durability", "local",
             "--listen-webhook", webhook, "--listen-grpc", grpc, "--listen-http", http, *more]
    return Replica(binary, folder, flags, grpc, http, proxy=proxy)


class Stand:
    token = ca = None  # that callers need

    def __init__(self, binaries, replicas, flags=()):
        """`flags`: of each replica, besides its own."""
        self.binaries, self.flags = binaries, flags
        self.folder = tempfile.mkdtemp(prefix="subak_takeover_")
        self.server = Server()
        self.standby = None
        self.replicas = []
        try:
            self.server.make_database(DATABASE)
            self.prepare()
            for number in range(replicas):
                self.replicas.append(self.make_replica(number))
                if number == 0:  # it makes the tables
                    self.wait(lambda: "ready" in self.replicas[0].tail(), "the first does not start")
        except BaseException:
            self.end()
            raise

    def prepare(self):
        """The database is there, and no replica yet."""

    def make_replica(self, number):
        folder = os.path.join(self.folder, f"r{number}")
        return by_proxy(self.binaries["subakd"], folder, Proxy(self.binaries["pg_proxy"], self.server), self.flags)

    def wait(self, truth, words, seconds=DEADLINE_S):
        """What truth() says once it says something. Who ends meanwhile starts again, as its unit would see to."""
        end = time.monotonic() + seconds
        while not (found := truth()):
            for replica in self.replicas:
                replica.start_again_if_ended()
            if time.monotonic() > end:
                raise AssertionError(words + "\n" + "\n".join(r.tail() for r in self.replicas))
            time.sleep(0.02)
        return found

    def lead(self):
        """(epoch, process id of who leads or None), as the database has it; None: it does not answer, or not yet."""
        try:
            rows = self.server.psql("SELECT epoch, holder FROM lead", DATABASE)
        except subprocess.CalledProcessError:
            return None
        if not rows:
            return None
        epoch, holder = rows[0].split("\t")
        process = re.search(r" process (\d+) ", holder)
        return int(epoch), int(process[1]) if process else None

    def holder(self):
        """The replica that leads; None: nobody."""
        lead = self.lead()
        found = [r for r in self.replicas if lead and r.child.pid == lead[1]]
        return found[0] if found else None

    def wait_for_another(self, process):
        """Whoever leads once this process does not: another replica, or the same, started again."""
        return self.wait(lambda: (now := self.holder()) and now.child.pid != process and now, "no other leads")

    def last_fact(self):
        return int(self.server.psql("SELECT coalesce(max(seq), 0) FROM facts", DATABASE)[0])

    def counts(self, after, kind):
        """How many facts of a kind come after that one."""
        query = f"SELECT count(*) FROM facts WHERE seq > {after} AND kind = {kind}"
        return int(self.server.psql(query, DATABASE)[0])

    def facts(self):
        """(seq, epoch, time in ms, kind, body) of each fact."""
        query = "COPY (SELECT seq, epoch, time_ms, kind, encode(body, 'hex') FROM facts ORDER BY seq) TO STDOUT"
        with subprocess.Popen(self.server.psql_command(query, DATABASE), stdout=subprocess.PIPE, text=True) as child:
            for line in child.stdout:
                seq, epoch, time_ms, kind, body = line.rstrip("\n").split("\t")
                yield int(seq), int(epoch), int(time_ms), int(kind), bytes.fromhex(body)
        assert child.returncode == 0, "the facts cannot be read"

    def digests(self):
        done = subprocess.run([self.binaries["state_digest"], self.server.address(DATABASE)], check=True, text=True,
                              timeout=10 * DEADLINE_S, stdout=subprocess.PIPE)
        return json.loads(done.stdout)

    def fail_over(self):
        """The database's machine is gone; its synchronous standby, which must be there, takes its place."""
        self.server.kill()
        self.standby.psql("SELECT pg_promote()")
        old, self.server, self.standby = self.server, self.standby, None
        self.server.set("synchronous_standby_names", "")
        for replica in self.replicas:
            replica.proxy.do("lead_to", self.server.folder)
            replica.proxy.do("drop")
        shutil.rmtree(old.folder)

    def roll(self, replica, binary):
        """As an operator upgrades one: it is stopped, the other program is started, and serves."""
        replica.send(signal.SIGTERM)
        replica.wait_end()
        assert replica.ends[-1] == 0, replica.tail()
        replica.binary = self.binaries[binary]
        replica.start()
        self.wait(replica.is_ready, f"{binary} does not start")
        self.wait(self.holder, "nobody leads")

    def add_standby(self):
        self.standby = Server(copy_of=self.server)
        self.server.set("synchronous_standby_names", "standby")
        streams = "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'"
        self.wait(lambda: self.server.psql(streams) == ["1"], "the standby does not follow")

    def end(self):
        for replica in self.replicas:
            if replica.lives():
                replica.end(signal.SIGKILL)
            if replica.proxy:
                replica.proxy.end()
        for server in (self.standby, self.server):
            if server and server.child.poll() is None:
                server.end()
        shutil.rmtree(self.folder)
