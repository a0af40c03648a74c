"""Which claim has each device of Dynamic Resource Allocation, as the kubelets see it: the judge of claims."""

import threading

from kube_api import ApiError


def claims_of(pod):
    """The names of the claims with which the pod runs; that of its extended resources is among them."""
    spec, status = pod["spec"], pod["status"]
    names = [row["resourceClaimName"] for row in spec.get("resourceClaims") or [] if row.get("resourceClaimName")]
    names += [row["resourceClaimName"] for row in status.get("resourceClaimStatuses") or [] if row.get("resourceClaimName")]
    special = status.get("extendedResourceClaimStatus")
    return names + ([special["resourceClaimName"]] if special else [])


def served_by_claims(pod):
    """The resources of the pod that come by a claim, and not by a device plugin."""
    special = pod["status"].get("extendedResourceClaimStatus") or {}
    return {row["resourceName"] for row in special.get("requestMappings") or []}


class Claimed:
    def __init__(self, api):
        self.api, self.lock = api, threading.Lock()
        self.holders = {}  # (driver, pool, device): (uid of its claim, uids of the pods that use it)

    def take(self, pod):
        """Why the pod may not have the devices of its claims; empty: it has them."""
        meta, uses = pod["metadata"], []
        for name in claims_of(pod):
            claim = self.read(meta["namespace"], name)
            status = (claim or {}).get("status", {})
            if meta["uid"] not in [user["uid"] for user in status.get("reservedFor", [])]:
                return f"claim {name} is not reserved for the pod"
            for row in status["allocation"]["devices"].get("results", []):
                if not row.get("adminAccess"):
                    uses.append(((row["driver"], row["pool"], row["device"]), claim["metadata"]["uid"]))
        with self.lock:
            for device, claim in uses:
                if self.holders.get(device, (claim, ()))[0] != claim:
                    return f"{'/'.join(device)} has another holder"
            for device, claim in uses:
                self.holders.setdefault(device, (claim, set()))[1].add(meta["uid"])
        return ""

    def give(self, uid):
        with self.lock:
            for device in [device for device, (_, pods) in self.holders.items() if uid in pods]:
                self.holders[device][1].discard(uid)
                if not self.holders[device][1]:
                    del self.holders[device]

    def read(self, namespace, name):
        while True:
            try:
                return self.api.get("ResourceClaim", namespace, name)
            except ApiError as error:
                if error.code != 0:
                    raise
