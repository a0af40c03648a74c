"""A PostgreSQL server of a test's own: a new cluster in a temporary folder, reached by a socket there. As root it runs as
the user postgres."""

import glob
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
import urllib.parse

DEADLINE_S = 120  # generous: other work may share the machine
BIN = sorted(glob.glob("/usr/lib/postgresql/*/bin"))[-1]
USER = pwd.getpwnam("postgres") if os.geteuid() == 0 else None  # it does not run as root


# Before a command: it is killed when the thread that started it ends, whatever becomes of that. (What Popen does itself
# before a program, it does after a fork, for which gRPC's threads would have to stand still.)
MORTAL = ["setpriv", "--pdeathsig", "KILL"]
AS_SERVER = MORTAL + [f"--reuid={USER.pw_uid}", f"--regid={USER.pw_gid}", "--clear-groups"] if USER else MORTAL


def as_server(command):
    return subprocess.Popen([*AS_SERVER, *command], cwd="/", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def address_by(folder, database="postgres", role="subak"):
    """Of a database by the socket in a folder."""
    return f"postgres://{role}@{urllib.parse.quote(folder, safe='')}/{database}"


class Server:
    def __init__(self, copy_of=None, folder=None):
        """`copy_of`: a server that runs; this one is its standby, named "standby" there. `folder`: where its own is made;
        in memory, unless it is said."""
        memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self.folder = tempfile.mkdtemp(prefix="subak_pg_", dir=folder or memory)
        if USER:
            os.chown(self.folder, USER.pw_uid, USER.pw_gid)
        self.data = os.path.join(self.folder, "data")
        self.settings = ["listen_addresses="]  # of each start
        make = [f"{BIN}/initdb", "-D", self.data, "-U", "subak", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"]
        if copy_of:
            make = [f"{BIN}/pg_basebackup", "-D", self.data, "-R", "-c", "fast", "--no-sync",
                    "-d", f"host={copy_of.folder} user=subak application_name=standby"]
        if as_server(make).wait(DEADLINE_S) != 0:
            raise RuntimeError(f"{os.path.basename(make[0])} failed")
        self.start()

    def start(self):
        settings = [word for setting in self.settings for word in ("-c", setting)]
        command = [f"{BIN}/postgres", "-D", self.data, "-k", self.folder, *settings,
                   "-c", "dynamic_shared_memory_type=mmap"]
        self.child = as_server(command)
        end = time.monotonic() + DEADLINE_S
        while time.monotonic() < end:
            if self.child.poll() is not None:  # the last one's memory was not free yet
                time.sleep(0.2)
                self.child = as_server(command)
            ready = [f"{BIN}/pg_isready", "-q", "-h", self.folder, "-U", "subak", "-d", "postgres"]
            if subprocess.run(ready, check=False).returncode == 0:
                return
            time.sleep(0.02)
        raise RuntimeError("PostgreSQL does not start")

    def kill(self):
        """All its processes, at once."""
        self.child.send_signal(signal.SIGSTOP)
        pid = self.child.pid
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            children = [int(child) for child in file.read().split()]
        for process in [*children, pid]:
            os.kill(process, signal.SIGKILL)
        self.child.wait(DEADLINE_S)

    def keep_copy(self):
        """The cluster's folder as it is now: what a copy of the database that falls behind has."""
        self.kill()
        subprocess.run(["cp", "-a", self.data, self.data + ".old"], check=True, timeout=DEADLINE_S)
        self.start()

    def fall_back(self):
        """The machine is lost, and the copy of keep_copy() takes its place."""
        self.kill()
        shutil.rmtree(self.data)
        os.rename(self.data + ".old", self.data)
        self.start()

    def restart(self):
        """As an operator does it: sessions are ended, what is done is kept."""
        self.child.send_signal(signal.SIGINT)
        self.child.wait(DEADLINE_S)
        self.start()

    def end(self):
        self.kill()
        shutil.rmtree(self.folder)

    def psql_command(self, statement, database, role="subak"):
        return [f"{BIN}/psql", "-qAtX", "-F", "\t", "-v", "ON_ERROR_STOP=1", "-h", self.folder, "-U", role, "-d", database,
                "-c", statement]

    def psql(self, statement, database="postgres", role="subak"):
        """The rows that it prints: a line each, columns apart by tabs."""
        done = subprocess.run(self.psql_command(statement, database, role), check=True, timeout=DEADLINE_S,
                              stdout=subprocess.PIPE, text=True)
        return done.stdout.splitlines()

    def run_file(self, path, database, role, **variables):
        """A file as psql runs it for a person."""
        said = [word for name, value in variables.items() for word in ("-v", f"{name}={value}")]
        command = [f"{BIN}/psql", "-qX", "-h", self.folder, "-U", role, "-d", database, *said, "-f", path]
        subprocess.run(command, check=True, timeout=DEADLINE_S)

    def set(self, name, value):
        """A setting of the server, from now on."""
        self.psql(f"ALTER SYSTEM SET {name} = '{value}'")
        self.psql("SELECT pg_reload_conf()")
        while self.psql(f"SHOW {name}") != [value]:  # the server reads it in its own time
            time.sleep(0.01)

    def make_database(self, name):
        self.psql(f"CREATE DATABASE {name}")
        return self.address(name)

    def address(self, database="postgres", role="subak"):
        return address_by(self.folder, database, role)
