"""subakd asks for the nodes of a pool, beside a stand-in of an API server: a request for each job, and no more.

provisioning_stand_test.py SUBAKD SUBAK STANDIN
"""

import os
import re
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from kube_edge_stand import GATE, Edge, until  # noqa: E402

REQUESTS = "/apis/autoscaling.x-k8s.io/v1/namespaces/team-a/provisioningrequests"
TEMPLATES = "/api/v1/namespaces/team-a/podtemplates"
CLASS = "best-effort-atomic-scale-up.autoscaling.x-k8s.io"
NAME = re.compile(r"subak-\d+-\d+-1")
POOLS = f"""nodePools:
- {{name: elastic, label: pool=elastic, max: 2, gpus: 8, product: H100, provisioningClass: {CLASS}}}
"""


class Provisioning(Edge):
    def before_start(self):
        with open(self.path("subak.yaml"), "a", encoding="utf-8") as file:
            file.write(POOLS)

    def items(self, path):
        return self.api.call("GET", path)["items"]

    def make_gated(self, name):
        """A pod that fits only on nodes of the pool."""
        self.api.call("POST", "/api/v1/namespaces/team-a/pods", {
            "metadata": {"name": name, "labels": {"app": "x"}},
            "spec": {"schedulingGates": [{"name": GATE}], "nodeSelector": {"pool": "elastic"},
                     "containers": [{"name": "c", "image": "i", "env": [{"name": "KEY", "value": "secret"}],
                                     "resources": {"limits": {"nvidia.com/gpu": "8"}}}]},
            "status": {"phase": "Pending"}})  # fmt: skip

    def requested(self):
        self.make_gated("p")
        return until(lambda: self.items(REQUESTS), "a request")[0]

    def made(self):
        return [w["path"] for w in self.api.writes() if w["method"] == "POST" and w["path"] in (REQUESTS, TEMPLATES)]

    def nothing_is_left(self):
        until(lambda: not self.items(REQUESTS) and not self.items(TEMPLATES), "no request and no template")

    def test_from_request_to_node(self):
        request = self.requested()
        name = request["metadata"]["name"]
        self.assertRegex(name, NAME)
        self.assertEqual(request["spec"]["provisioningClassName"], CLASS)
        self.assertEqual(request["metadata"]["ownerReferences"][0]["uid"], self.api.pod("p")["metadata"]["uid"])
        (template,) = self.items(TEMPLATES)
        (pods,) = request["spec"]["podSets"]
        self.assertEqual((pods["count"], pods["podTemplateRef"]["name"]), (1, template["metadata"]["name"]))
        spec = template["template"]["spec"]
        self.assertEqual(spec["nodeSelector"], {"pool": "elastic"})
        self.assertEqual(spec["containers"], [{"name": "c", "image": "i", "resources": {"limits": {"nvidia.com/gpu": "8"}}}])
        until(lambda: "NodesRequested" in [w for s in self.api.writes() for w in re.findall("NodesRequested", s["body"])], "told")

        # A killed service finds its request again.
        self.end(9)
        self.start()
        until(lambda: self.metric('subak_cluster_synced{cluster="east"}') == 1, "synced")
        until(lambda: "WaitingForNodes" in self.subak("queue"), "a forecast")
        condition = {"type": "Provisioned", "status": "True", "reason": "Provisioned", "message": "",
                     "lastTransitionTime": "2026-01-01T00:00:00Z"}  # fmt: skip
        self.api.change(name, {"status": {"conditions": [condition]}}, REQUESTS)
        until(lambda: [s for s in self.api.writes() if "NodesProvisioned" in s["body"]], "told")
        self.assertEqual(self.made(), [TEMPLATES, REQUESTS])

        self.api.make_node("new")
        self.api.change("new", {"metadata": {"labels": {"pool": "elastic"}}}, "/api/v1/nodes")
        self.released("p")
        notes = self.api.pod("p")["metadata"]["annotations"]
        self.assertEqual(notes["autoscaling.x-k8s.io/consume-provisioning-request"], name)
        self.assertEqual(notes["autoscaling.x-k8s.io/provisioning-class-name"], CLASS)
        self.api.bind("p")
        self.nothing_is_left()

    def test_a_pod_that_is_gone_needs_no_nodes(self):
        self.requested()
        self.api.delete("p")
        self.nothing_is_left()

    def test_a_class_that_is_gone_leaves_nothing(self):
        self.requested()
        self.end(15)
        with open(self.path("subak.yaml"), encoding="utf-8") as file:
            text = file.read().replace(f", provisioningClass: {CLASS}", "")
        with open(self.path("subak.yaml"), "w", encoding="utf-8") as file:
            file.write(text)
        self.start()
        self.nothing_is_left()


if __name__ == "__main__":
    unittest.main()
