#!/usr/bin/env python3
"""A stand-in for kube-apiserver on loopback, for tests without a cluster: objects in memory, lists in
pages, watches in chunks with bookmarks, patches with their tests, and faults on demand. It knows no
schema and runs no admission; what it answers follows kubernetes/apimachinery pkg/apis/meta/v1.

  api_server.py            listens on a free port of 127.0.0.1, prints "port=N", ends with its stdin
    --tls CERT KEY         over TLS, with this certificate
    --client-ca CA         and only for who shows a certificate of this CA; his name is in /standin/seen

Beside the API: POST /standin/fault {"method", "path", "times", "code", "headers", "body", "cut", "hold"}: the next
`times` requests whose path begins so are answered so, cut off, or held; POST /standin/let_go: of each fault one of those that are
held goes on; POST /standin/mend: no faults any more, all go on;
POST /standin/cut: all watches end in the middle of an event; POST /standin/expire: versions until now are too old to watch from;
GET /standin/seen: the requests so far; POST /standin/deny ["patch pods", ...]: what nobody may do, by subjectaccessreviews.
"""

import argparse
import json
import queue
import ssl
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import jsonpatch

BOOKMARK_S = 0.2  # the real one: about a minute
END = None  # in a watcher's queue: the stream ends in order
ALL = 1000  # more than are ever held at once
CUT = "cut"  # in the middle of an event
OWNERS = {"/apis/jobset.x-k8s.io/v1alpha2/jobsets": "JobSet",
          "/apis/leaderworkerset.x-k8s.io/v1/leaderworkersets": "LeaderWorkerSet",
          "/apis/kubeflow.org/v1/pytorchjobs": "PyTorchJob", "/apis/kubeflow.org/v2beta1/mpijobs": "MPIJob",
          "/apis/ray.io/v1/rayclusters": "RayCluster",
          "/apis/scheduling.x-k8s.io/v1alpha1/podgroups": "PodGroup"}  # fmt: skip


def status(code, reason, message):
    return {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "message": message,
            "code": code}


class Refused(Exception):
    def __init__(self, code, reason, message):
        super().__init__(message)
        self.code, self.body = code, status(code, reason, message)


class Store:
    """All objects by the path of their collection and their path; every change has a version."""

    def __init__(self):
        self.lock = threading.Lock()
        self.version = 1
        self.oldest = 1
        self.objects = {}  # collection -> {namespace/name: object}
        self.events = []  # (version, collection, type, object)
        self.watchers = []  # (collection, namespace, queue)

    def tell(self, collection, kind, obj):
        self.version += 1
        obj["metadata"]["resourceVersion"] = str(self.version)
        copy = json.loads(json.dumps(obj))
        self.events.append((self.version, collection, kind, copy))
        for where, namespace, events in self.watchers:
            if where == collection and namespace in ("", copy["metadata"].get("namespace", "")):
                events.put({"type": kind, "object": copy})

    def list(self, collection, namespace):
        rows = self.objects.get(collection, {})
        return [rows[key] for key in sorted(rows) if not namespace or key.startswith(namespace + "/")]

    def find(self, collection, key):
        found = self.objects.get(collection, {}).get(key)
        if found is None:
            raise Refused(404, "NotFound", f'{collection} "{key}" not found')
        return found

    def create(self, collection, namespace, obj):
        meta = obj.setdefault("metadata", {})
        if namespace:
            meta["namespace"] = namespace
        key = f'{meta.get("namespace", "")}/{meta["name"]}'
        if key in self.objects.get(collection, {}):
            raise Refused(409, "AlreadyExists", f"{key} already exists")
        meta["uid"] = f"uid-{self.version}"
        self.objects.setdefault(collection, {})[key] = obj
        self.tell(collection, "ADDED", obj)
        return obj

    def patch(self, collection, key, kind, body):
        old = self.find(collection, key)
        if kind == "application/json-patch+json":
            try:
                new = jsonpatch.apply_patch(old, body)
            except (jsonpatch.JsonPatchException, jsonpatch.JsonPointerException) as e:
                raise Refused(422, "Invalid", f"the patch does not apply: {e}") from e
        else:
            new = merge(json.loads(json.dumps(old)), body)
        if new["metadata"].get("resourceVersion") != old["metadata"]["resourceVersion"]:
            raise Refused(409, "Conflict", "the object has been modified")
        if new["metadata"].get("uid") != old["metadata"]["uid"]:
            raise Refused(422, "Invalid", "metadata.uid: field is immutable")
        self.objects[collection][key] = new
        self.tell(collection, "MODIFIED", new)
        return new

    def delete(self, collection, key):
        gone = self.find(collection, key)
        del self.objects[collection][key]
        self.tell(collection, "DELETED", gone)
        return gone


def merge(old, new):
    for key, value in new.items():
        if value is None:
            old.pop(key, None)
        elif isinstance(value, dict) and isinstance(old.get(key), dict):
            merge(old[key], value)
        else:
            old[key] = value
    return old


def place(path):
    """'/api/v1/namespaces/a/pods/p/eviction' -> ('/api/v1', 'pods', 'a', 'p', 'eviction')."""
    parts = path.strip("/").split("/")
    root, rest = parts[: 2 if parts[0] == "api" else 3], parts[2 if parts[0] == "api" else 3:]
    namespace = ""
    if rest[:1] == ["namespaces"] and len(rest) > 2:
        namespace, rest = rest[1], rest[2:]
    name, sub = (rest + ["", ""])[1:3]
    return "/" + "/".join(root), rest[0], namespace, name, sub


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    store, faults, seen, denied = Store(), [], [], []

    def log_message(self, *_):
        pass

    def answer(self, code, body, headers=()):
        data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        self.send_response(code)
        self.send_header("Content-Type", "text/plain" if isinstance(body, str) else "application/json")
        self.send_header("Content-Length", str(len(data)))
        for name, value in dict(headers).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def peer(self):
        """The common name of the certificate that the client has shown."""
        shown = self.connection.getpeercert() if isinstance(self.connection, ssl.SSLSocket) else None
        return dict(pair for rdn in (shown or {}).get("subject", ()) for pair in rdn).get("commonName", "")

    def fault(self):
        with self.store.lock:
            for f in self.faults:
                right = f.get("method", self.command) == self.command and self.path.startswith(f["path"])
                if right and f["times"] > 0:
                    f["times"] -= 1
                    return f
        return None

    def handle_request(self):
        length = int(self.headers.get("Content-Length") or 0)
        text = self.rfile.read(length).decode()
        if self.path.startswith("/standin/"):
            return self.standin(text)
        self.seen.append({"method": self.command, "path": self.path, "body": text,
                          "type": self.headers.get("Content-Type", ""),
                          "authorization": self.headers.get("Authorization", ""),
                          "agent": self.headers.get("User-Agent", ""), "peer": self.peer()})
        fault = self.fault()
        if fault and fault.get("cut"):
            self.close_connection = True
            return self.connection.close()
        if fault and fault.get("hold"):
            fault["go"].acquire()
        elif fault:
            return self.answer(fault["code"], fault.get("body", ""), fault.get("headers", {}))
        try:
            return self.api(json.loads(text) if text else None)
        except Refused as e:
            return self.answer(e.code, e.body)

    do_GET = do_POST = do_PATCH = do_DELETE = do_PUT = handle_request

    def standin(self, text):
        if self.path == "/standin/seen":
            return self.answer(200, self.seen)
        with self.store.lock:
            if self.path == "/standin/fault":
                self.faults.append({**json.loads(text), "go": threading.Semaphore(0)})
            if self.path == "/standin/mend":
                for f in self.faults:
                    f["go"].release(ALL)
                self.faults.clear()
            if self.path == "/standin/let_go":
                for f in self.faults:
                    f["go"].release()
            if self.path == "/standin/cut":
                for _, _, events in self.store.watchers:
                    events.put(CUT)
            if self.path == "/standin/expire":
                self.store.oldest = self.store.version + 1
            if self.path == "/standin/deny":
                self.denied[:] = json.loads(text)
        return self.answer(200, {})

    def api(self, body):
        url = urlsplit(self.path)
        if url.path == "/version":
            return self.answer(200, {"major": "1", "minor": "36"})
        if url.path == "/apis":
            groups = {c.split("/")[2] for c in self.store.objects if c.startswith("/apis/")}
            return self.answer(200, {"kind": "APIGroupList", "groups": [{"name": g} for g in sorted(groups)]})
        if url.path.startswith("/apis/") and url.path.count("/") == 3:
            return self.resources(url.path)
        if url.path.endswith("/selfsubjectreviews"):
            return self.answer(201, {**body, "status": {"userInfo": {"username": "me"}}})
        if url.path.endswith("subjectaccessreviews"):
            asked = body["spec"]["resourceAttributes"]
            what = asked["resource"] + ("/" + asked["subresource"] if asked.get("subresource") else "")
            allowed = f'{asked["verb"]} {what}' not in self.denied
            return self.answer(201, {**body, "status": {"allowed": allowed}})
        query = {k: v[0] for k, v in parse_qs(url.query).items()}
        root, resource, namespace, name, sub = place(url.path)
        collection, key = f"{root}/{resource}", f"{namespace}/{name}"
        if self.command == "GET" and not name:
            return self.watch(collection, namespace, query) if "watch" in query else self.list(collection, namespace, query)
        with self.store.lock:
            if self.command == "GET":
                done = self.store.find(collection, key)
            elif self.command == "PATCH":
                done = self.store.patch(collection, key, self.headers.get("Content-Type"), body)
            elif self.command == "DELETE" or sub == "eviction":
                done = self.store.delete(collection, key)
            else:
                done = self.store.create(collection, namespace, body)
            done = json.loads(json.dumps(done))
        return self.answer(201 if self.command == "POST" else 200, done)

    def resources(self, version):
        """The kinds of a version of a group, as discovery says them."""
        kinds = {c: k for c, k in OWNERS.items() if c.startswith(f"{version}/")}
        if not kinds:
            return self.answer(404, status(404, "NotFound", "the server could not find the requested resource"))
        return self.answer(200, {"kind": "APIResourceList", "groupVersion": version[len("/apis/"):], "resources": [
            {"name": c.rsplit("/", 1)[1], "kind": k, "namespaced": True, "verbs": ["get", "list", "watch", "patch"]}
            for c, k in kinds.items()]})  # fmt: skip

    def list(self, collection, namespace, query):
        with self.store.lock:
            items = json.loads(json.dumps(self.store.list(collection, namespace)))
            meta = {"resourceVersion": str(self.store.version)}
        begin, limit = int(query.get("continue", 0)), int(query.get("limit", 0)) or len(items)
        if begin + limit < len(items):
            meta["continue"] = str(begin + limit)
        return self.answer(200, {"kind": "List", "metadata": meta, "items": items[begin:begin + limit]})

    def watch(self, collection, namespace, query):
        events = queue.Queue()
        with self.store.lock:
            since = int(query.get("resourceVersion") or 0)
            if since and since < self.store.oldest:
                return self.answer(410, status(410, "Expired", f"too old resource version: {since}"))
            initial = query.get("sendInitialEvents") == "true"
            if initial or not since:
                for obj in self.store.list(collection, namespace):
                    events.put({"type": "ADDED", "object": json.loads(json.dumps(obj))})
            else:
                for version, where, kind, obj in self.store.events:
                    mine = where == collection and namespace in ("", obj["metadata"].get("namespace", ""))
                    if version > since and mine:
                        events.put({"type": kind, "object": obj})
            if initial:
                events.put(self.bookmark({"annotations": {"k8s.io/initial-events-end": "true"}}))
            watcher = (collection, namespace, events)
            self.store.watchers.append(watcher)
        try:
            self.stream(events, "allowWatchBookmarks" in query)
        finally:
            with self.store.lock:
                self.store.watchers.remove(watcher)
        return None

    def bookmark(self, more):
        meta = {"resourceVersion": str(self.store.version), **more}
        return {"type": "BOOKMARK", "object": {"kind": "Bookmark", "metadata": meta}}

    def stream(self, events, bookmarks):
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.close_connection = True
        while True:
            try:
                event = events.get(timeout=BOOKMARK_S)
            except queue.Empty:
                if not bookmarks:
                    continue
                event = self.bookmark({})
            data = b'{"type":"ADDED","obj' if event == CUT else b"" if event is END else json.dumps(event).encode() + b"\n"
            try:
                half = len(data) // 2
                for part in (data[:half], data[half:]):  # a border of a chunk means nothing
                    if part:
                        self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
                if event is END:
                    self.wfile.write(b"0\r\n\r\n")
                self.wfile.flush()
            except OSError:
                return
            if event in (END, CUT):
                return


class Server(ThreadingHTTPServer):
    daemon_threads = True
    tls = None

    def finish_request(self, request, client_address):
        # In the connection's own thread: who does not finish his handshake holds up nobody.
        if self.tls:
            try:
                request = self.tls.wrap_socket(request, server_side=True)
            except OSError:  # refused by one of the two
                return
        super().finish_request(request, client_address)

    def handle_error(self, *_):  # who asked is gone
        pass


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tls", nargs=2, metavar=("CERT", "KEY"))
    parser.add_argument("--client-ca")
    args = parser.parse_args()
    server = Server(("127.0.0.1", 0), Handler)
    if args.tls:
        server.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        server.tls.load_cert_chain(*args.tls)
    if args.client_ca:
        server.tls.verify_mode = ssl.CERT_REQUIRED
        server.tls.load_verify_locations(args.client_ca)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(f"port={server.server_port}", flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
