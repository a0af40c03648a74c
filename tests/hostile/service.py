"""The service under test from outside: the process, its ports, calls over gRPC and HTTPS."""

import atexit
import contextlib
import http.client
import os
import re
import resource
import shutil
import signal
import ssl
import subprocess
import sys
import tempfile

import grpc

DEADLINE_S = 120  # of what must happen at all: other work may share the machine
FILES = (1024, 4096)  # soft and hard limit of the service's open files: a usual shell's
BIG = [("grpc.max_send_message_length", -1), ("grpc.max_receive_message_length", -1)]


def folder_of_this_process(prefix):
    """A folder that goes with the process, also where that is asked to end or fails."""
    folder = tempfile.mkdtemp(prefix=prefix)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    return folder


def compile_protos(root):
    """Python modules of proto/, in a folder that lives as long as the process, on sys.path."""
    folder = folder_of_this_process("subak-hostile-proto-")
    source = os.path.join(root, "proto")
    files = [
        os.path.relpath(os.path.join(at, name), source)
        for part in ("subak/v1", "subak/fact/v1", "google")
        for at, _, names in os.walk(os.path.join(source, part))
        for name in names
        if name.endswith(".proto")
    ]
    subprocess.run(["protoc", f"-I{source}", f"--python_out={folder}", *files], check=True)
    sys.path.insert(0, folder)
    return folder


class Api:
    """Calls by name: api("JobService", "GetJob", request, Answer). One channel of its own. `ca`: a file of who vouches for the
    service's certificate; None: no TLS."""

    def __init__(self, address, token, options=(), ca=None):
        own = [("grpc.use_local_subchannel_pool", 1), *BIG, *options]
        if ca is None:
            self.channel = grpc.insecure_channel(address, own)
        else:
            with open(ca, "rb") as file:
                self.channel = grpc.secure_channel(address, grpc.ssl_channel_credentials(file.read()), own)
        self.metadata = [("authorization", f"Bearer {token}")] if token else []

    def call(self, service, method, request, answer, timeout_s=30):
        data = request if isinstance(request, bytes) else request.SerializeToString()
        stub = self.channel.unary_unary(f"/subak.v1.{service}/{method}")
        return answer.FromString(stub(data, timeout=timeout_s, metadata=self.metadata))

    def stream(self, service, method, request, answer, timeout_s=None):
        stub = self.channel.unary_stream(
            f"/subak.v1.{service}/{method}", response_deserializer=answer.FromString
        )
        return stub(request.SerializeToString(), timeout=timeout_s, metadata=self.metadata)

    def both_ways(self, service, method, requests, answer, timeout_s=30):
        stub = self.channel.stream_stream(
            f"/subak.v1.{service}/{method}", response_deserializer=answer.FromString
        )
        data = (r if isinstance(r, bytes) else r.SerializeToString() for r in requests)
        return stub(data, timeout=timeout_s, metadata=self.metadata)

    def close(self):
        self.channel.close()


class Webhook:
    """One kept connection, made anew after an error, as a kube-apiserver does."""

    def __init__(self, address, ca, timeout_s=10):
        self.address, self.timeout_s = address, timeout_s
        self.context = ssl.create_default_context(cafile=ca)
        self.connection = None

    def post(self, path, body):
        for attempt in (1, 2):  # a kept connection may have been closed meanwhile
            kept = self.connection is not None
            if not kept:
                self.connection = http.client.HTTPSConnection(
                    self.address, timeout=self.timeout_s, context=self.context
                )
            try:
                self.connection.request("POST", path, body, {"Content-Type": "application/json"})
                reply = self.connection.getresponse()
                return reply.status, reply.read()
            except (OSError, http.client.HTTPException):
                self.close()
                if not kept or attempt == 2:
                    raise
        raise AssertionError("unreachable")

    def close(self):
        if self.connection is not None:
            self.connection.close()
        self.connection = None


def get(address, path, timeout_s, headers=None):
    connection = http.client.HTTPConnection(address, timeout=timeout_s)
    try:
        connection.request("GET", path, headers=headers or {})
        reply = connection.getresponse()
        return reply.status, reply.read().decode()
    finally:
        connection.close()


def faketime_library():
    for where in ("/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu"):
        library = os.path.join(where, "faketime", "libfaketimeMT.so.1")
        if os.path.exists(library):
            return library
    return None


def with_clock(clock_file):
    """An environment in which a program's wall clock is off by what the file says, where libfaketime is installed."""
    environment = dict(os.environ)
    library = faketime_library()
    if library:
        environment.update(
            LD_PRELOAD=library,
            FAKETIME_TIMESTAMP_FILE=clock_file,
            FAKETIME_DONT_FAKE_MONOTONIC="1",
            FAKETIME_CACHE_DURATION="1",
            # A program under AddressSanitizer wants to be asked before others.
            ASAN_OPTIONS=f"{environment.get('ASAN_OPTIONS', '')}:verify_asan_link_order=0",
        )
    return environment


def forget_clock(process):
    """What libfaketime leaves of a process that was killed."""
    for name in (f"faketime_shm_{process}", f"sem.faketime_sem_{process}"):
        with contextlib.suppress(FileNotFoundError):
            os.remove(os.path.join("/dev/shm", name))


class Service:
    """A running subakd on the state in `folder`; its clock can be moved where libfaketime is installed."""

    def __init__(self, binary, folder, flags, files=FILES):
        self.binary, self.folder, self.flags, self.files = binary, folder, flags, files
        self.state = os.path.join(folder, "subak.db")
        self.log = os.path.join(folder, "subakd.log")
        self.clock_file = os.path.join(folder, "clock")
        self.child = None
        self.set_clock("+0")

    def set_clock(self, offset):
        """`offset` as faketime has it: "+0", "+400d"."""
        whole = self.clock_file + ".new"
        with open(whole, "w", encoding="utf-8") as file:
            file.write(offset + "\n")
        os.replace(whole, self.clock_file)

    def faketime(self):
        return faketime_library()

    def start(self):
        environment = with_clock(self.clock_file)
        ports = ("webhook", "grpc", "http")
        command = [self.binary, "--state", self.state, *self.flags]
        for port in ports:
            command += [f"--listen-{port}", "127.0.0.1:0"]
        with open(self.log, "a", encoding="utf-8") as log:
            self.child = subprocess.Popen(
                command,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env=environment,
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, self.files),
            )
        line = self.child.stdout.readline()
        self.ports = dict(re.findall(r"(\w+)=([\d.]+:\d+)", line))
        if set(self.ports) != set(ports):
            raise AssertionError(f"did not start: {line!r}, see {self.log}: {self.tail()}")
        return self

    def tail(self):
        with open(self.log, encoding="utf-8", errors="replace") as file:
            return "".join(file.readlines()[-15:])

    @property
    def ca(self):
        return os.path.join(self.folder, "tls", "ca.crt")

    def resident_mib(self):
        with open(f"/proc/{self.child.pid}/status", encoding="utf-8") as file:
            return int(re.search(r"VmRSS:\s+(\d+)", file.read()).group(1)) / 1024

    def end(self, how=signal.SIGTERM):
        if self.child is None:
            return None
        self.child.send_signal(how)
        try:
            self.child.wait(timeout=DEADLINE_S)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()
        self.child.stdout.close()
        forget_clock(self.child.pid)
        code, self.child = self.child.returncode, None
        return code
