"""A real control plane on loopback: etcd, kube-apiserver, kube-controller-manager, kube-scheduler, from empty.

    plane = ControlPlane(binaries, folder); plane.start(); plane.api("admin"); plane.stop()

All files are in `folder`: pki/, kubeconfig/, log/, etcd/, audit.log. Ports are free ones. Needs openssl.
"""

import http.client
import json
import os
import signal
import subprocess
import sys
import time

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "server"))
from kube_api import Api, ApiError  # noqa: E402
from ports import free_ports  # noqa: E402

START_S = 120
STOP_S = 30
# How soon a node that says nothing is given up, and its pods with it. Real clusters: 50 s and 300 s.
NODE_GRACE_S = 16
EVICTION_S = 3

SUBAK_USER = "system:serviceaccount:subak-system:subak"
USERS = {  # name: subject
    "admin": "/O=system:masters/CN=e2e-admin",
    "controllers": "/CN=system:kube-controller-manager",
    "scheduler": "/CN=system:kube-scheduler",
    "kubelet": "/O=system:masters/CN=e2e-kubelet",
    "operators": "/O=system:masters/CN=system:serviceaccount:e2e-operators:manager",
    "ana": "/O=ml/CN=ana",
    "bob": "/O=ml/CN=bob",
    "breakglass": "/O=subak:break-glass/CN=carol",
    "subak": f"/O=system:serviceaccounts/O=system:serviceaccounts:subak-system/CN={SUBAK_USER}",
}
AUDIT_POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [
        {"level": "None", "users": ["e2e-kubelet", "system:serviceaccount:e2e-operators:manager", "system:apiserver"]},
        {"level": "Metadata", "verbs": ["create", "update", "patch", "delete", "deletecollection"]},
        {"level": "None"},
    ],
}
KUBECONFIG = """apiVersion: v1
kind: Config
clusters:
- name: e2e
  cluster:
    server: https://127.0.0.1:{port}
    certificate-authority: {pki}/ca.crt
users:
- name: {user}
  user:
    client-certificate: {pki}/{user}.crt
    client-key: {pki}/{user}.key
contexts:
- name: e2e
  context:
    cluster: e2e
    user: {user}
current-context: e2e
"""
SERVER_NAMES = (
    "extendedKeyUsage=serverAuth\nsubjectAltName=DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc,"
    "DNS:localhost,IP:127.0.0.1,IP:10.0.0.1"
)
ALWAYS_ALLOWED = "--authorization-always-allow-paths=/healthz,/readyz,/livez,/metrics"


def openssl(*args, **keywords):
    subprocess.run(["openssl", *args], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, **keywords)


def resource_of(entry):
    """The "resource/subresource" of an entry of the audit log."""
    ref = entry.get("objectRef", {})
    return "/".join(part for part in (ref.get("resource", ""), ref.get("subresource", "")) if part)


class Pki:
    """A CA and what it signs. ECDSA, one week."""

    def __init__(self, folder):
        self.folder = folder
        os.makedirs(folder, exist_ok=True)

    def at(self, name):
        return os.path.join(self.folder, name)

    def key(self, name):
        openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", self.at(name))

    def make(self):
        self.key("ca.key")
        openssl("req", "-x509", "-new", "-key", self.at("ca.key"), "-sha256", "-days", "7", "-subj", "/CN=e2e-ca",
                "-out", self.at("ca.crt"), "-addext", "basicConstraints=critical,CA:TRUE",
                "-addext", "keyUsage=critical,keyCertSign,cRLSign")  # fmt: skip
        self.sign("apiserver", "/CN=kube-apiserver", SERVER_NAMES)
        for name, subject in USERS.items():
            self.sign(name, subject, "extendedKeyUsage=clientAuth")
        self.key("sa.key")
        openssl("ec", "-in", self.at("sa.key"), "-pubout", "-out", self.at("sa.pub"))

    def sign(self, name, subject, extensions):
        self.key(f"{name}.key")
        openssl("req", "-new", "-key", self.at(f"{name}.key"), "-subj", subject, "-out", self.at(f"{name}.csr"))
        with open(self.at(f"{name}.ext"), "w", encoding="utf-8") as file:
            file.write(extensions + "\n")
        openssl("x509", "-req", "-in", self.at(f"{name}.csr"), "-CA", self.at("ca.crt"), "-CAkey", self.at("ca.key"),
                "-CAcreateserial", "-days", "7", "-sha256", "-extfile", self.at(f"{name}.ext"),
                "-out", self.at(f"{name}.crt"))  # fmt: skip


class Process:
    """A program with its log; started again with the same words."""

    def __init__(self, name, command, log):
        self.name, self.command, self.log = name, command, log
        self.child = None

    def start(self):
        with open(self.log, "a", encoding="utf-8") as log:
            self.child = subprocess.Popen(self.command, stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                                          start_new_session=True)  # fmt: skip
        return self

    def alive(self):
        return self.child is not None and self.child.poll() is None

    def stop(self, how=signal.SIGTERM):
        if self.child is None:
            return
        if self.alive():
            self.child.send_signal(how)
            try:
                self.child.wait(timeout=STOP_S)
            except subprocess.TimeoutExpired:
                self.child.kill()
        self.child.wait()
        self.child = None

    def tail(self, lines=15):
        with open(self.log, encoding="utf-8", errors="replace") as file:
            return "".join(file.readlines()[-lines:])


class ControlPlane:
    def __init__(self, binaries, folder):
        self.binaries, self.folder = binaries, os.path.abspath(folder)
        for part in ("log", "kubeconfig"):
            os.makedirs(os.path.join(self.folder, part), exist_ok=True)
        self.pki = Pki(os.path.join(self.folder, "pki"))
        self.etcd_port, self.peer_port, self.port, self.controllers_port, self.scheduler_port = free_ports(5)
        self.audit_log = os.path.join(self.folder, "audit.log")
        self.processes = {}
        self.node_grace_s = NODE_GRACE_S

    def at(self, *names):
        return os.path.join(self.folder, *names)

    def kubeconfig(self, user):
        return self.at("kubeconfig", user)

    def api(self, user):
        return Api(self.port, self.pki.at("ca.crt"), self.pki.at(f"{user}.crt"), self.pki.at(f"{user}.key"))

    def kubectl(self, user, *args, text_in=None):
        """(exit code, stdout + stderr)"""
        command = [os.path.join(self.binaries, "kubectl"), "--kubeconfig", self.kubeconfig(user), *args]
        environment = {**os.environ, "HOME": self.folder}
        done = subprocess.run(command, input=text_in, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=120, check=False, env=environment)  # fmt: skip
        return done.returncode, done.stdout

    def start(self):
        self.pki.make()
        for user in USERS:
            self.write_kubeconfig(user, self.port)
        with open(self.at("audit.json"), "w", encoding="utf-8") as file:
            json.dump(AUDIT_POLICY, file)
        self.run("etcd", self.etcd_words())
        self.wait_http("etcd", self.etcd_port, "/health")
        self.run("kube-apiserver", self.apiserver_words())
        self.wait_ready()
        self.run("kube-controller-manager", self.controllers_words())
        self.run("kube-scheduler", self.scheduler_words())
        self.wait_for("the default account", lambda: self.has_default_account())
        return self

    def write_kubeconfig(self, user, port):
        with open(self.kubeconfig(user), "w", encoding="utf-8") as file:
            file.write(KUBECONFIG.format(port=port, pki=self.pki.folder, user=user))

    def run(self, name, words, program=None):
        """`program`: its path below the folder of the programs, if that is not its name."""
        command = [os.path.join(self.binaries, program or name), *words]
        self.processes[name] = Process(name, command, self.at("log", f"{name}.log")).start()

    def etcd_words(self):
        here, peers = f"http://127.0.0.1:{self.etcd_port}", f"http://127.0.0.1:{self.peer_port}"
        return ["--name=e2e", f"--data-dir={self.at('etcd')}", f"--listen-client-urls={here}",
                f"--advertise-client-urls={here}", f"--listen-peer-urls={peers}",
                f"--initial-advertise-peer-urls={peers}", f"--initial-cluster=e2e={peers}",
                "--unsafe-no-fsync=true", "--log-level=warn"]  # fmt: skip

    def apiserver_words(self):
        pki = self.pki.at
        return [f"--etcd-servers=http://127.0.0.1:{self.etcd_port}", "--bind-address=127.0.0.1",
                f"--secure-port={self.port}", "--advertise-address=127.0.0.1", "--endpoint-reconciler-type=none",
                f"--tls-cert-file={pki('apiserver.crt')}", f"--tls-private-key-file={pki('apiserver.key')}",
                f"--client-ca-file={pki('ca.crt')}", "--authorization-mode=RBAC",
                "--service-cluster-ip-range=10.0.0.0/24", "--allow-privileged=true",
                "--service-account-issuer=https://kubernetes.default.svc",
                f"--service-account-key-file={pki('sa.pub')}", f"--service-account-signing-key-file={pki('sa.key')}",
                f"--default-not-ready-toleration-seconds={EVICTION_S}",
                f"--default-unreachable-toleration-seconds={EVICTION_S}",
                f"--audit-policy-file={self.at('audit.json')}", f"--audit-log-path={self.audit_log}",
                "--audit-log-maxsize=100000"]  # fmt: skip  MB: it stays one file

    def controllers_words(self):
        pki = self.pki.at
        return [f"--kubeconfig={self.kubeconfig('controllers')}", "--bind-address=127.0.0.1",
                f"--secure-port={self.controllers_port}", ALWAYS_ALLOWED, "--leader-elect=false",
                "--use-service-account-credentials=true", f"--root-ca-file={pki('ca.crt')}",
                f"--service-account-private-key-file={pki('sa.key')}", "--kube-api-qps=200", "--kube-api-burst=400",
                "--node-monitor-period=1s", f"--node-monitor-grace-period={self.node_grace_s}s"]  # fmt: skip

    def scheduler_words(self):
        return [f"--kubeconfig={self.kubeconfig('scheduler')}", "--bind-address=127.0.0.1",
                f"--secure-port={self.scheduler_port}", ALWAYS_ALLOWED, "--leader-elect=false",
                "--kube-api-qps=1000", "--kube-api-burst=2000"]  # fmt: skip

    def has_default_account(self):
        try:
            self.api("admin").call("GET", "/api/v1/namespaces/default/serviceaccounts/default")
            return True
        except ApiError:
            return False

    def wait_for(self, what, happened):
        end = time.monotonic() + START_S
        while not happened():
            dead = [p for p in self.processes.values() if not p.alive()]
            if dead:
                raise AssertionError(f"{dead[0].name} ended: {dead[0].tail()}")
            if time.monotonic() > end:
                raise AssertionError(f"no {what} within {START_S} s; logs in {self.at('log')}")
            time.sleep(0.1)

    def wait_http(self, name, port, path):
        def answers():
            try:
                connection = http.client.HTTPConnection("127.0.0.1", port, timeout=2)
                connection.request("GET", path)
                return connection.getresponse().status == 200
            except (OSError, http.client.HTTPException):
                return False

        self.wait_for(f"answer of {name}", answers)

    def wait_ready(self):
        def ready():
            try:
                self.api("admin").call("GET", "/readyz")
                return True
            except ApiError:
                return False

        self.wait_for("ready kube-apiserver", ready)

    def restart_apiserver(self, how=signal.SIGTERM, away_s=0.0):
        self.processes["kube-apiserver"].stop(how)
        time.sleep(away_s)
        self.processes["kube-apiserver"].start()
        self.wait_ready()

    def entries_of(self, user, verbs=("create", "update", "patch", "delete", "deletecollection")):
        """The audit log's entries of a user's writes."""
        if not os.path.exists(self.audit_log):
            return
        with open(self.audit_log, encoding="utf-8") as file:
            for line in file:
                if not line.endswith("\n"):
                    return  # just being written
                entry = json.loads(line)
                if entry["user"]["username"] == user and entry["verb"] in verbs:
                    yield entry

    def writes_of(self, user):
        """(verb, resource/subresource, namespace, name, code) of each."""
        found = []
        for entry in self.entries_of(user):
            ref = entry.get("objectRef", {})
            found.append((entry["verb"], resource_of(entry), ref.get("namespace", ""), ref.get("name", ""),
                          entry.get("responseStatus", {}).get("code", 0)))  # fmt: skip
        return found

    def stop(self):
        """What was started last stops first: the API server outlives its clients."""
        for process in reversed(self.processes.values()):
            process.stop()
