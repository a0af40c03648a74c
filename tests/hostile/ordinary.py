"""Those who mean well: an API server with its reviews, people with their calls, a kubelet that asks for /readyz.

Each runs in a process of its own until `stop` is set, and returns what it saw.
"""

import itertools
import json
import time

import grpc

import service as s

REVIEWS_PER_S = 20
ROUNDS_PER_S = 4
READY_PER_S = 2
CANCEL_AFTER = 40  # jobs of ours that wait at the same time
ANSWER_S = 10  # what a kube-apiserver waits by default


def pod(name, namespace, extra=None):
    limits = {"nvidia.com/gpu": "1", "cpu": "8", "memory": "64Gi"}
    container = {"name": "main", "image": "train:1", "resources": {"limits": limits, "requests": limits}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"containers": [container], **(extra or {})},
    }


def review(uid, obj, operation="CREATE", old=None):
    return {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": uid,
            "kind": {"group": "", "version": "v1", "kind": "Pod"},
            "resource": {"group": "", "version": "v1", "resource": "pods"},
            "operation": operation,
            "namespace": obj["metadata"]["namespace"],
            "userInfo": {"username": "ana"},
            "object": obj,
            "oldObject": old,
        },
    }


def paced(stop, per_s):
    """0, 1, 2, ... at most so often."""
    due = time.monotonic()
    for number in itertools.count():
        if stop.is_set():
            return
        yield number
        due = max(due + 1 / per_s, time.monotonic() - 1)
        time.sleep(max(0, due - time.monotonic()))


class Timed:
    """How long each of something took, and what went wrong."""

    def __init__(self, name):
        self.name, self.took_s, self.wrong = name, [], []

    def ask(self, what, call):
        begin = time.monotonic()
        try:
            return call()
        except (OSError, grpc.RpcError, AssertionError, ValueError) as error:
            self.wrong.append(f"{what} after {time.monotonic() - begin:.2f} s: {error!r}"[:400])
            return None
        finally:
            self.took_s.append(time.monotonic() - begin)

    def result(self, **more):
        return {"name": self.name, "took_s": self.took_s, "wrong": self.wrong, **more}


def reviews(world, stop):
    seen = Timed("reviews")
    webhook = s.Webhook(world["webhook"], world["ca"], ANSWER_S)

    def ask(number):
        body = json.dumps(review(f"u{number}", pod(f"p{number}", "team-a"))).encode()
        status, answer = webhook.post("/mutate/east", body)
        assert status == 200, (status, answer[:200])
        response = json.loads(answer)["response"]
        assert response["allowed"] and response["uid"] == f"u{number}" and "patch" in response, answer[:200]

    for number in paced(stop, REVIEWS_PER_S):
        seen.ask("review", lambda: ask(number))
    return seen.result()


def calls(world, stop):
    from subak.v1 import account_service_pb2 as accounts
    from subak.v1 import admin_service_pb2 as admin
    from subak.v1 import job_service_pb2 as jobs

    seen = Timed("calls")
    api = s.Api(world["grpc"], world["token"])
    waiting, kept, cancelled = [], {}, {}
    for number in paced(stop, ROUNDS_PER_S):
        ask = lambda service, method, request, answer: seen.ask(
            method, lambda: api.call(service, method, request, answer, ANSWER_S)
        )
        ask("AdminService", "GetStatus", admin.GetStatusRequest(), admin.Status)
        account = accounts.Account(path="ml", shares=1 + number % 5)
        edit = accounts.UpdateAccountRequest(
            account=account, reason="ordinary", request_id=f"edit-{number}"
        )
        ask("AccountService", "UpdateAccount", edit, accounts.EditAccountResponse)
        ask("AccountService", "GetAccount", accounts.GetAccountRequest(path="bio"), accounts.Account)
        job = jobs.JobSpec(cluster="east", account="ml", user="ana", name=f"ordinary-{number}")
        group = job.request.groups.add(count=1)
        group.shape.kind, group.shape.gpus = 1, 8
        create = jobs.CreateJobRequest(job=job, request_id=f"ordinary-{number}")
        made = ask("JobService", "CreateJob", create, jobs.CreateJobResponse)
        if made:
            kept[made.job_id] = job.name
            waiting.append(made.job_id)
            ask("JobService", "GetJob", jobs.GetJobRequest(job_id=made.job_id), jobs.Job)
        if len(waiting) > CANCEL_AFTER:
            old = waiting.pop(0)
            cancel = jobs.CancelJobRequest(job_id=old, reason="enough", request_id=f"cancel-{number}")
            if ask("JobService", "CancelJob", cancel, jobs.EditJobResponse):
                cancelled[old] = kept.pop(old)
    return seen.result(kept=kept, cancelled=cancelled)


def readiness(world, stop):
    seen = Timed("readyz")

    def ask():
        status, text = s.get(world["http"], "/readyz", ANSWER_S)
        assert status == 200, (status, text)

    for _ in paced(stop, READY_PER_S):
        seen.ask("readyz", ask)
    return seen.result()


ALL = {"reviews": reviews, "calls": calls, "readiness": readiness}
