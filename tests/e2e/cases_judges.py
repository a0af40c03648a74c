"""Two judges, one table (judged.json): the policies in the API server, which hold while the service is away, and
/validate of the service, asked directly. Where both judge they say the same. What /validate says of the table is a unit
test too (tests/admission/judges_test.cc)."""

import http.client
import json
import os
import ssl

from case import case
from cases_leave import ROOT, register
from kube_api import ApiError, path_of

HERE = os.path.dirname(os.path.abspath(__file__))


def merged(old, patch):
    """RFC 7396."""
    if not isinstance(patch, dict):
        return patch
    new = dict(old) if isinstance(old, dict) else {}
    for key, value in patch.items():
        if value is None:
            new.pop(key, None)
        else:
            new[key] = merged(new.get(key), value)
    return new


def by_service(c, operation, pod, old=None):
    """Does /validate let it?"""
    request = {"uid": "judge", "kind": {"group": "", "version": "v1", "kind": "Pod"}, "name": pod["metadata"]["name"],
               "resource": {"group": "", "version": "v1", "resource": "pods"}, "namespace": c.ns,
               "operation": operation, "userInfo": {"username": "ana", "groups": ["ml"]}, "object": pod,
               "oldObject": old}  # fmt: skip
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    trust = ssl.create_default_context(cafile=os.path.join(c.service.folder, "tls", "ca.crt"))
    connection = http.client.HTTPSConnection("127.0.0.1", c.service.webhook_port, timeout=10, context=trust)
    connection.request("POST", "/validate/e2e", json.dumps(review), {"Content-Type": "application/json"})
    answer = json.loads(connection.getresponse().read())["response"]
    return answer["allowed"], answer.get("status", {}).get("message", "")


def by_policies(c, method, path, pod):
    """Does the API server let it, with the policies alone?"""
    try:
        c.ana.call(method, path + "?dryRun=All", pod)
        return True, ""
    except ApiError as error:
        c.expect("ValidatingAdmissionPolicy 'subak-" in error.message, f"a policy of ours refuses, got {error}")
        return False, error.message


def compare(c, row, service, policies):
    c.expect(service[0] == row["may"], f"/validate, {row['what']}: want {row['may']}, got {service}")
    c.expect(policies[0] == row["may"], f"the policies, {row['what']}: want {row['may']}, got {policies}")


def in_namespace(c, pod):
    return merged({"apiVersion": "v1", "kind": "Pod"}, merged(pod, {"metadata": {"namespace": c.ns}}))


def compare_created(c, table):
    for row in table["created"]:
        pod = in_namespace(c, row["pod"])
        compare(c, row, by_service(c, "CREATE", pod), by_policies(c, "POST", path_of("Pod", c.ns), pod))


def compare_changed(c, table):
    for pod in table["pods"].values():
        c.ana.create(in_namespace(c, pod))
    for row in table["changed"]:
        old = c.get_pod(row["of"])
        new = merged(old, row["patch"])
        del new["metadata"]["resourceVersion"]  # a word of ours on it may come between
        policies = by_policies(c, "PUT", path_of("Pod", c.ns, row["of"]), new)
        compare(c, row, by_service(c, "UPDATE", new, old), policies)


def refused(c, pod):
    try:
        c.ana.create(pod, dry_run=True)
        return False
    except ApiError:
        return True


@case(alone=True)
def policies_judge_as_the_service_does(c):
    with open(os.path.join(HERE, "judged.json"), encoding="utf-8") as file:
        table = json.load(file)
    runtime = {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "nvidia"}, "handler": "nvidia"}
    try:
        c.admin.call("POST", "/apis/node.k8s.io/v1/runtimeclasses", runtime)
    except ApiError as error:
        c.expect(error.code == 409, f"it is there, got {error}")
    # What only the service would refuse.
    asked = in_namespace(c, merged(table["pods"]["held"], {"metadata": {"labels": {"subak.gpu/account": "nobody"}}}))
    try:
        for kind in ("validating", "mutating"):
            c.admin.call("DELETE", f"{ROOT}{kind}webhookconfigurations/subak")
        c.until(lambda: not refused(c, asked), "API server that asks nobody")
        compare_created(c, table)
        compare_changed(c, table)
    finally:
        register(c)
