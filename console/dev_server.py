#!/usr/bin/env python3
"""A small server for work on the console: serves a bundle, and forwards reads to a running service.

  console/dev_server.py [--bundle build/console] [--grpc 127.0.0.1:9444] [--listen 127.0.0.1:9450] [--protos proto]

It answers what the service's own HTTP port answers: the bundle, POST /subak.v1.SERVICE/METHOD with
proto3 JSON (a Connect unary call), GET /live with server-sent events, and /licenses. It is a
development tool: it has no sign-in, listens on loopback only, and is never installed. Needs protoc
and Debian's python3-grpcio and python3-protobuf (tools/setup).
"""

import argparse
import http.server
import json
import os
import socketserver
import subprocess
import sys
import tempfile
import time

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory

# The reads that a browser may call. Nothing here changes anything.
READS = {
    "JobService": ("GetJob", "ListJobs", "ListQueue", "ListClaims", "ExplainJob", "GetJobHistory"),
    "AccountService": ("GetAccount", "ListAccounts", "GetAccountHistory", "ListShares", "ListBudgets"),
    "ClusterService": ("ListClusters", "ListNodes", "GetFleetMap", "ListDomains", "ListMigSlices", "GetPlan"),
    "UsageService": ("ReportUsage", "ListLedger", "VerifyUsage", "GetUsageHistory"),
    "AdminService": ("GetStatus", "ListAudit", "GetPolicy"),
}
MAX_BODY = 64 * 1024
CALL_SECONDS = 30
LIVE_SECONDS = 1.0
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
# The HTTP status of each gRPC code, as in Connect's protocol.
HTTP_STATUS = {
    "cancelled": 499, "invalid_argument": 400, "deadline_exceeded": 504, "not_found": 404,
    "already_exists": 409, "permission_denied": 403, "resource_exhausted": 429, "failed_precondition": 400,
    "aborted": 409, "out_of_range": 400, "unimplemented": 501, "unavailable": 503, "unauthenticated": 401,
}  # fmt: skip
TYPES = {
    ".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml", ".txt": "text/plain; charset=utf-8",
}  # fmt: skip


class Api:
    """The service, reached over gRPC. Requests and answers are JSON texts."""

    def __init__(self, address, protos):
        self.channel = grpc.insecure_channel(address, [("grpc.max_receive_message_length", 64 << 20)])
        self.pool = descriptor_pool.DescriptorPool()
        with tempfile.NamedTemporaryFile(suffix=".pb") as out:
            files = [f"subak/v1/{name}" for name in sorted(os.listdir(os.path.join(protos, "subak/v1")))]
            command = ["protoc", f"-I{protos}", "--include_imports", f"--descriptor_set_out={out.name}", *files]
            subprocess.run(command, check=True)
            for file in descriptor_pb2.FileDescriptorSet.FromString(out.read()).file:
                self.pool.Add(file)
        self.factory = message_factory.MessageFactory(self.pool)

    def call(self, service, method, body, at=None):
        """Returns (HTTP status, headers, JSON bytes). `at`: the earlier moment to show; None: the present."""
        if method not in READS.get(service, ()):
            return problem("unimplemented", f"/subak.v1.{service}/{method} is not a read that browsers may call")
        found = self.pool.FindServiceByName(f"subak.v1.{service}").methods_by_name.get(method)
        if found is None:
            return problem("unimplemented", f"subak.v1.{service} has no method {method}")
        request = self.factory.GetPrototype(found.input_type)()
        try:
            json_format.Parse(body, request, descriptor_pool=self.pool)
        except json_format.ParseError as error:
            return problem("invalid_argument", str(error))
        answer_of = self.factory.GetPrototype(found.output_type).FromString
        run = self.channel.unary_unary(
            f"/subak.v1.{service}/{method}", request_serializer=lambda m: m.SerializeToString(), response_deserializer=answer_of
        )
        try:
            answer, call = run.with_call(request, timeout=CALL_SECONDS, metadata=[("subak-at", at)] if at else None)
        except grpc.RpcError as error:
            return problem(error.code().name.lower(), error.details())
        headers = {key: value for key, value in call.trailing_metadata() if key in ("subak-sequence", "subak-time")}
        text = json_format.MessageToJson(answer, indent=None, descriptor_pool=self.pool)
        return 200, headers, text.encode()


def problem(code, message):
    text = json.dumps({"code": code, "message": message})
    return HTTP_STATUS.get(code, 500), {}, text.encode()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    api = None
    bundle = ""

    def log_message(self, *_):
        pass

    def answer(self, status, headers, body):
        self.send_response(status)
        for key, value in headers.items():
            self.send_header(key, value)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-cache")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        length = int(self.headers.get("Content-Length") or 0)
        parts = self.path.split("/")
        if length > MAX_BODY or len(parts) != 3 or not parts[1].startswith("subak.v1."):
            self.close_connection = True
            self.answer(404, {"Content-Type": "text/plain"}, b"no such call\n")
            return
        body = self.rfile.read(length)
        status, headers, text = self.api.call(parts[1].removeprefix("subak.v1."), parts[2], body, self.headers.get("Subak-At"))
        self.answer(status, {"Content-Type": "application/json", **headers}, text)

    def do_GET(self):
        path = self.path.split("?")[0]
        if path == "/live":
            self.live()
            return
        name = os.path.basename(path)
        if path == "/licenses":
            name = "licenses.txt"
        elif "." not in name:  # a view
            name = "index.html"
        elif path != "/" + name:
            name = ""
        kind = TYPES.get(os.path.splitext(name)[1])
        file = os.path.join(self.bundle, name)
        if kind is None or not os.path.isfile(file):
            self.answer(404, {"Content-Type": "text/plain"}, b"not found\n")
            return
        with open(file, "rb") as content:
            self.answer(200, {"Content-Type": kind, "Content-Security-Policy": POLICY}, content.read())

    def live(self):
        """Sends an event for each new last fact, at most one a second."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.close_connection = True
        last = self.headers.get("Last-Event-ID")
        try:
            while True:
                status, _, text = self.api.call("AdminService", "GetStatus", b"{}")
                sequence = json.loads(text).get("followerSequence", "0") if status == 200 else None
                if sequence is None:
                    return
                if sequence != last:
                    self.wfile.write(f'event: sequence\nid: {sequence}\ndata: {{"sequence":"{sequence}"}}\n\n'.encode())
                    self.wfile.flush()
                    last = sequence
                time.sleep(LIVE_SECONDS)
        except OSError:
            return


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    tree = os.path.dirname(here)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bundle", default=os.path.join(tree, "build", "console"))
    parser.add_argument("--protos", default=os.path.join(tree, "proto"))
    parser.add_argument("--grpc", default="127.0.0.1:9444")
    parser.add_argument("--listen", default="127.0.0.1:9450")
    args = parser.parse_args()
    host, port = args.listen.rsplit(":", 1)
    if host not in ("127.0.0.1", "localhost"):
        parser.error(f"--listen: {args.listen} is not loopback")
    Handler.api = Api(args.grpc, args.protos)
    Handler.bundle = args.bundle
    server = Server((host, int(port)), Handler)
    print(f"http://{host}:{server.server_port}/", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        return 0


if __name__ == "__main__":
    sys.exit(main())
