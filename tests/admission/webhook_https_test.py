"""Sends the reviews in data/ over HTTPS as kube-apiserver does and applies the answers with jsonpatch.

usage: webhook_https_test.py SERVER_BINARY DATA_DIR
Checks for each data/NAME.json against data/NAME.expect.json:
  {"path", "allowed", "patched", "code", "message", "warning"} as far as they are given.
Every patch must apply, touch only what is Subak's, and be the last one: the patched object gets no other.
Exit 77 (skipped) where python3-jsonpatch is not installed.
"""
import base64
import copy
import http.client
import json
import pathlib
import ssl
import subprocess
import sys
import tempfile

try:
    import jsonpatch
except ImportError:
    print("skipped: python3-jsonpatch is not installed")
    sys.exit(77)

GATE = "subak.gpu/queue"
failures = []


def check(ok, name, what):
    if not ok:
        failures.append(f"{name}: {what}")
        print(f"FAILED {name}: {what}")


class Api:
    def __init__(self, port, ca):
        context = ssl.create_default_context(cafile=ca)
        self.connection = http.client.HTTPSConnection("localhost", port, context=context, timeout=30)

    def post(self, path, body):
        self.connection.request("POST", path, body=body, headers={"Content-Type": "application/json"})
        answer = self.connection.getresponse()
        return answer.status, answer.read()

    def review(self, path, review):
        status, body = self.post(path, json.dumps(review, separators=(",", ":")).encode())
        assert status == 200, (status, body)
        answer = json.loads(body)
        assert answer["apiVersion"] == "admission.k8s.io/v1" and answer["kind"] == "AdmissionReview"
        assert answer["response"]["uid"] == review["request"]["uid"]
        return answer["response"]


def without_ours(value):
    """The object as it would be if Subak had never seen it."""
    if isinstance(value, list):
        return [without_ours(v) for v in value]
    if not isinstance(value, dict):
        return value
    out = {}
    for key, part in value.items():
        if key.startswith("subak.gpu/") or key == "suspend":
            continue
        if key == "schedulingGates":
            part = [g for g in part or [] if g["name"] != GATE]
        part = without_ours(part)
        if part in ({}, [], None):
            continue
        out[key] = part
    return out


def check_patch(api, name, path, review, response):
    check(response.get("patchType") == "JSONPatch", name, "no patchType")
    patch = json.loads(base64.b64decode(response["patch"]))
    before = review["request"]["object"]
    after = jsonpatch.apply_patch(copy.deepcopy(before), patch)
    check(without_ours(after) == without_ours(before), name, "the patch changes what is not ours")
    if review["request"]["kind"]["kind"] == "Pod":
        gates = [g["name"] for g in after["spec"]["schedulingGates"]]
        check(gates.count(GATE) == 1, name, f"gates are {gates}")
        for key in ("subak.gpu/account", "subak.gpu/job"):
            check(key in after["metadata"]["labels"], name, f"label {key} is missing")
    again = copy.deepcopy(review)
    again["request"]["object"] = after
    second = api.review(path, again)
    check(second["allowed"] and "patch" not in second, name, "the same object again gets a patch")
    if review["request"]["kind"]["kind"] == "Pod":
        final = api.review(path.replace("mutate", "validate"), again)
        check(final["allowed"], name, "refused by /validate after the patch")


def run_file(api, file):
    name = file.name[: -len(".json")]
    review = json.loads(file.read_text())
    expect = json.loads(file.with_name(name + ".expect.json").read_text())
    path = expect.get("path", "/mutate/c1") + "?timeout=5s"
    response = api.review(path, review)
    check(response["allowed"] == expect["allowed"], name, f"answer is {response}")
    check(("patch" in response) == expect.get("patched", False), name, f"patch: {response}")
    if "code" in expect:
        check(response["status"]["code"] == expect["code"], name, f"status is {response['status']}")
    if "message" in expect:
        check(expect["message"] in response["status"]["message"], name, str(response["status"]))
    warnings = " | ".join(response.get("warnings", []))
    if "warning" in expect:
        check(expect["warning"] in warnings, name, f"warnings are: {warnings}")
    else:
        check(not warnings, name, f"unexpected warnings: {warnings}")
    if "patch" in response:
        check_patch(api, name, path, review, response)
    dry = copy.deepcopy(review)
    dry["request"]["dryRun"] = True
    check(api.review(path, dry) == response, name, "a dry run is answered otherwise")


def run_bad_requests(api, good):
    whole = json.dumps(good).encode()
    bad = {
        "empty": b"",
        "not json": b"hello",
        "truncated": whole[: len(whole) // 2],
        "wrong version": whole.replace(b"admission.k8s.io/v1", b"admission.k8s.io/v2"),
        "wrong kind": whole.replace(b"AdmissionReview", b"AdmissionPreview"),
        "no uid": json.dumps({**good, "request": {k: v for k, v in good["request"].items() if k != "uid"}}).encode(),
        "no request": json.dumps({k: v for k, v in good.items() if k != "request"}).encode(),
        "over 3 MiB": b'{"x":"' + b"a" * (3 << 20) + b'"}',
        "deep": b"[" * 100000,
    }
    before = id(api.connection.sock)
    for name, body in bad.items():
        status, text = api.post("/mutate/c1?timeout=5s", body)
        check(status == 400 and len(text) > 3, name, f"HTTP {status} {text[:80]}")
        status, _ = api.post("/mutate/c1?timeout=5s", whole)
        check(status == 200, name, f"the next good request gets HTTP {status}")
    check(id(api.connection.sock) == before, "bad requests", "the connection was closed")


def main():
    server, data = sys.argv[1], pathlib.Path(sys.argv[2])
    with tempfile.TemporaryDirectory() as tmp:
        process = subprocess.Popen([server, tmp], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            port = int(process.stdout.readline().split()[1])
            api = Api(port, tmp + "/ca.crt")
            files = [f for f in sorted(data.glob("*.json")) if not f.name.endswith(".expect.json")]
            check(len(files) >= 10, "data", f"only {len(files)} reviews")
            for file in files:
                run_file(api, file)
            run_bad_requests(api, json.loads((data / "job_pod.json").read_text()))
            curl = subprocess.run(
                ["curl", "-sS", "--cacert", tmp + "/ca.crt", "-H", "Content-Type: application/json",
                 "--data-binary", f"@{data / 'job_pod.json'}", f"https://127.0.0.1:{port}/mutate"],
                capture_output=True, text=True, timeout=60, check=False)
            check('"allowed":true' in curl.stdout, "curl", curl.stdout + curl.stderr)
        finally:
            process.stdin.close()
            code = process.wait(timeout=60)
        check(code == 0, "server", f"exit code {code}")
    print(f"{len(files)} reviews, {len(failures)} failures")
    sys.exit(1 if failures else 0)


main()
