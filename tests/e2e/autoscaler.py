"""Plays cluster-autoscaler for ProvisioningRequests: the definition of the kind, and the answers to a request.

As the comments of its Go types say (k8s.io/autoscaler/cluster-autoscaler/apis); the definition has only the fields
that Subak writes or reads, with the same rules.
"""

from kube_api import ApiError

GROUP, VERSION = "autoscaling.x-k8s.io", "v1"
CLASS = "best-effort-atomic-scale-up.autoscaling.x-k8s.io"
CONSUMES, CLASS_NAME = f"{GROUP}/consume-provisioning-request", f"{GROUP}/provisioning-class-name"
LABEL = "subak.gpu/provisioning"

NAME = {"type": "string", "maxLength": 253,
        "pattern": r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"}  # fmt: skip
FIXED = [{"rule": "self == oldSelf", "message": "Value is immutable"}]
POD_SET = {"type": "object", "required": ["count", "podTemplateRef"], "properties": {
    "count": {"type": "integer", "minimum": 1},
    "podTemplateRef": {"type": "object", "required": ["name"], "properties": {"name": NAME}}}}  # fmt: skip
SPEC = {"type": "object", "required": ["podSets", "provisioningClassName"], "properties": {
    "podSets": {"type": "array", "minItems": 1, "maxItems": 32, "items": POD_SET, "x-kubernetes-validations": FIXED},
    "provisioningClassName": NAME | {"x-kubernetes-validations": FIXED}}}  # fmt: skip
CONDITION = {"type": "object", "required": ["lastTransitionTime", "message", "reason", "status", "type"], "properties": {
    "lastTransitionTime": {"type": "string", "format": "date-time"}, "message": {"type": "string"},
    "reason": {"type": "string", "minLength": 1}, "status": {"type": "string", "enum": ["True", "False", "Unknown"]},
    "type": {"type": "string"}}}  # fmt: skip
STATUS = {"type": "object", "properties": {"conditions": {
    "type": "array", "items": CONDITION, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]}}}  # fmt: skip
DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
    "metadata": {"name": f"provisioningrequests.{GROUP}",
                 "annotations": {"api-approved.kubernetes.io": "https://github.com/kubernetes/autoscaler/pull/5848"}},
    "spec": {"group": GROUP, "scope": "Namespaced",
             "names": {"kind": "ProvisioningRequest", "listKind": "ProvisioningRequestList",
                       "plural": "provisioningrequests", "singular": "provisioningrequest"},
             "versions": [{"name": VERSION, "served": True, "storage": True, "subresources": {"status": {}},
                           "schema": {"openAPIV3Schema": {"type": "object", "required": ["spec"], "properties": {
                               "spec": SPEC, "status": STATUS}}}}]}}  # fmt: skip


def install(api):
    """The kind; other cases may have installed it already."""
    try:
        api.create(DEFINITION)
    except ApiError as error:
        if error.code != 409:
            raise


def requests(api, namespace):
    """The namespace's requests, the oldest first. None exist before the kind is served (404, then 429)."""
    try:
        found = api.list("ProvisioningRequest", namespace)
    except ApiError as error:
        if error.code not in (404, 429):
            raise
        return []
    return sorted(found, key=lambda r: int(r["metadata"]["labels"][LABEL].rsplit(".", 1)[1]))


def answer(api, request, condition, reason, message, at):
    """Sets a condition of the request to True."""
    meta = request["metadata"]
    known = request.get("status", {}).get("conditions", [])
    new = {"type": condition, "status": "True", "reason": reason, "message": message, "lastTransitionTime": at}
    api.patch("ProvisioningRequest", meta["namespace"], meta["name"], {"status": {"conditions": [*known, new]}}, "status")


def pods_wanted(api, request):
    """[(count, pod template)] of the request."""
    namespace = request["metadata"]["namespace"]
    return [(s["count"], api.get("PodTemplate", namespace, s["podTemplateRef"]["name"])) for s in request["spec"]["podSets"]]
