"""Machines that are network namespaces: each subakd in one of its own, the database and the callers in the test's. A cable can
be pulled, or one direction of it lost: silently, as no process, proxy or kernel says anything to the other side.

Each machine hangs on two switches (bridges), DATA with the database and CALLS with the callers. All is in namespaces of
network and mounts that `enter` makes, so it goes when the test's last process does, however that ends.
"""

import ctypes
import os
import shutil
import socket
import subprocess
import sys
import threading
import time

from pg_server import DEADLINE_S, USER, Server
from stand import DATABASE, Replica, Stand

DATA, CALLS = "data", "calls"
SUBNETS = {DATA: "10.77.0", CALLS: "10.77.1"}
NEITHER, BOTH, OUT, IN = "neither", "both", "out", "in"  # directions that are lost, seen from the machine
OUTSIDE = "SUBAK_TEST_OUTSIDE"  # of the environment: the namespace in which `enter` was called
NAMES = "/run/netns"  # where `ip` keeps the names of namespaces
OURS_FIRST, LOCAL_NEXT = 10, 100  # numbers of routing rules
CLONE_NEWNET = 0x40000000
ARRIVES_S = 0.3  # a datagram that is not there after it was lost: a veth hands on at once
NEEDS = ["ip link add name end0 type veth peer name end1", "ip link add name switch0 type bridge", "ip link set end0 master switch0",
         f"ip rule add pref {OURS_FIRST} from {SUBNETS[DATA]}.2 blackhole", "ip netns add probe"]


def enter():
    """Starts this program again, in namespaces of its own. Returns once it is there: None, or why it cannot be."""
    here = os.readlink("/proc/self/ns/net")
    if os.environ.get(OUTSIDE, here) != here:
        return None
    if shutil.which("ip") is None:
        return "there is no program `ip` (package iproute2)"
    unshare = ["unshare", "--net", "--mount"]
    steps = " && ".join([f"mkdir -p {NAMES}", f"mount -t tmpfs none {NAMES}", *NEEDS])
    tried = subprocess.run([*unshare, "sh", "-c", steps], check=False, capture_output=True, text=True, timeout=DEADLINE_S)
    if tried.returncode != 0:
        return f"no network of its own can be made, which needs root and a kernel with veth and bridges: {tried.stderr.strip()}"
    os.execvpe(unshare[0], [*unshare, sys.executable, *sys.argv], {**os.environ, OUTSIDE: here})


def run(*command):
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=DEADLINE_S)
    assert done.returncode == 0, f"{' '.join(command)}: {done.stderr}"


def hub_address(net):
    return f"{SUBNETS[net]}.1"


class Network:
    """The switches, and a namespace for each machine."""

    def __init__(self, machines):
        self.machines, self.lost = machines, []
        self.names = [f"subak-{os.getpid()}-m{number}" for number in range(machines)]
        run("mount", "-t", "tmpfs", "none", NAMES)
        run("ip", "link", "set", "lo", "up")
        self.route_by_rules([])
        for net in SUBNETS:
            run("ip", "link", "add", "name", net, "type", "bridge")
            run("ip", "address", "add", hub_address(net) + "/24", "dev", net)
            run("ip", "link", "set", "dev", net, "up")
        for number, name in enumerate(self.names):
            run("ip", "netns", "add", name)
            run("ip", "-n", name, "link", "set", "lo", "up")
            self.route_by_rules(self.inside(number))
            for net in SUBNETS:
                run("ip", "link", "add", "name", self.port(number, net), "type", "veth", "peer", "name", net, "netns", name)
                run("ip", "link", "set", "dev", self.port(number, net), "master", net, "up")
                run("ip", "-n", name, "address", "add", self.address(number, net) + "/24", "dev", net)
                run("ip", "-n", name, "link", "set", "dev", net, "up")
        self.prove()

    def route_by_rules(self, inside):
        """Rules of ours are asked before local addresses are, and for each packet."""
        run(*inside, "ip", "rule", "add", "pref", str(LOCAL_NEXT), "lookup", "local")
        run(*inside, "ip", "rule", "delete", "pref", "0")
        run(*inside, "sh", "-c", "echo 0 > /proc/sys/net/ipv4/ip_early_demux")

    def inside(self, number):
        """What goes before a command of that machine."""
        return ["nsenter", f"--net={NAMES}/{self.names[number]}"]

    def address(self, number, net):
        return f"{SUBNETS[net]}.{number + 2}"

    def port(self, number, net):
        return f"{net}{number}"

    def lose(self, number, nets, way):
        for net in nets:
            self.change(number, net, way, True)
            self.lost.append((number, net, way))

    def mend(self):
        while self.lost:
            self.change(*self.lost.pop(), False)

    def change(self, number, net, way, lost):
        """What comes is dropped by its receiver's kernel, which tells nobody; a cable is pulled at the switch."""
        if way == BOTH:
            run("ip", "link", "set", "dev", self.port(number, net), "down" if lost else "up")
            return
        rule = ["pref", str(OURS_FIRST), "from", self.address(number, net) if way == OUT else hub_address(net), "blackhole"]
        run(*(self.inside(number) if way == IN else []), "ip", "rule", "add" if lost else "delete", *rule)

    def prove(self):
        """What is to be lost is lost, the rest arrives, and all is well again afterwards."""
        for number in range(self.machines):
            for net in SUBNETS:
                here = datagrams(None, hub_address(net))
                there = datagrams(f"{NAMES}/{self.names[number]}", self.address(number, net))
                for way in (NEITHER, BOTH, NEITHER, OUT, NEITHER, IN, NEITHER):
                    if way != NEITHER:
                        self.lose(number, [net], way)
                    for sender, receiver, lost in ((there, here, way in (BOTH, OUT)), (here, there, way in (BOTH, IN))):
                        heard = is_heard(sender, receiver) if lost else is_heard_in_time(sender, receiver)
                        assert heard != lost, f"{self.names[number]}, {net}, {way} lost: {sender} {'is' if heard else 'is not'} heard"
                    self.mend()
                here.close()
                there.close()

    def end(self):
        for name in self.names:
            run("ip", "netns", "delete", name)


def datagrams(namespace, address):
    """A socket of that namespace; None: the test's own. (A thread changes its namespace for itself alone.)"""
    made = []

    def make():
        if namespace:
            with open(namespace, "rb") as file:
                assert ctypes.CDLL(None, use_errno=True).setns(file.fileno(), CLONE_NEWNET) == 0, os.strerror(ctypes.get_errno())
        made.append(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        made[0].bind((address, 0))
        made[0].settimeout(ARRIVES_S)

    thread = threading.Thread(target=make)
    thread.start()
    thread.join(DEADLINE_S)
    return made[0]


def is_heard(sender, receiver):
    """This one datagram: earlier ones may wait for an address and come now."""
    one = os.urandom(8)
    sender.sendto(one, receiver.getsockname())
    try:
        while receiver.recv(len(one)) != one:
            pass
    except TimeoutError:
        return False
    return True


def is_heard_in_time(sender, receiver):
    """A link that was just plugged in takes a moment, and so does the first look for an address."""
    end = time.monotonic() + DEADLINE_S
    while time.monotonic() < end:
        if is_heard(sender, receiver):
            return True
    return False


class Machine(Replica):
    """A subakd in its own namespace. It has no proxy: what is lost is lost by the network."""

    def __init__(self, binary, folder, network, number, keys, more=()):
        calls = network.address(number, CALLS)
        database = f"postgres://subak@{hub_address(DATA)}/{DATABASE}?sslmode=verify-full&sslrootcert={keys.certificate}"
        flags = ["--state", database, "--listen-grpc", f"{calls}:9444", "--tls-cert", keys.certificate, "--tls-key", keys.key,
                 "--tokens", keys.tokens, "--listen-webhook", "127.0.0.1:9443", "--listen-http", "127.0.0.1:9445", *more]
        super().__init__(binary, folder, flags, grpc=f"{calls}:9444", http=None, inside=network.inside(number))


class Keys:
    """A certificate for all addresses, which vouches for itself, and a token."""

    TOKEN = "0123456789abcdef0123456789abcdef"

    def __init__(self, folder, addresses):
        self.certificate, self.key, self.tokens = (os.path.join(folder, name) for name in ("tls.crt", "tls.key", "tokens"))
        names = ",".join(f"IP:{address}" for address in addresses)
        run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
            "-subj", "/CN=takeover", "-addext", f"subjectAltName={names}", "-keyout", self.key, "-out", self.certificate)
        with open(os.open(self.tokens, os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="ascii") as file:
            file.write(f"{self.TOKEN} admin test\n")


class MachineStand(Stand):
    """Its database has a synchronous standby all the while, and is reached by TLS over the network."""

    def __init__(self, binaries, replicas, flags=()):
        self.network = Network(replicas)
        super().__init__(binaries, replicas, flags)

    def prepare(self):
        addresses = [self.network.address(number, CALLS) for number in range(self.network.machines)]
        self.keys = Keys(self.folder, [hub_address(DATA), *addresses])
        self.token, self.ca = Keys.TOKEN, self.keys.certificate
        listen_for(self.server, self.keys)
        self.add_standby()

    def make_replica(self, number):
        return Machine(self.binaries["subakd"], os.path.join(self.folder, f"r{number}"), self.network, number, self.keys,
                       self.flags)

    def end(self):
        super().end()
        self.network.end()


def listen_for(server: Server, keys):
    """The server takes callers from the machines, by TLS alone."""
    key = os.path.join(server.folder, "tls.key")
    shutil.copy(keys.key, key)
    os.chown(key, USER.pw_uid, USER.pw_gid)
    certificate = os.path.join(server.folder, "tls.crt")
    shutil.copy(keys.certificate, certificate)
    with open(os.path.join(server.data, "pg_hba.conf"), "a", encoding="ascii") as file:
        file.write(f"hostssl all all {hub_address(DATA)}/24 trust\n")
    server.settings = [f"listen_addresses={hub_address(DATA)}", "ssl=on", f"ssl_cert_file={certificate}", f"ssl_key_file={key}"]
    server.restart()
