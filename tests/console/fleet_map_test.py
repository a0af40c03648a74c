#!/usr/bin/env python3
"""console/src/fleet_map.ts: the columns of GetFleetMap as nodes and cells. Exit code 77: a package is missing.

  fleet_map_test.py TREE
"""

import json
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from played import Browser, bundled  # noqa: E402

TREE = sys.argv.pop(1) if len(sys.argv) > 1 else "."

FREE, RUNNING, HELD, RESERVED, DRAINED, FOREIGN, DIVIDED = 1, 2, 3, 4, 6, 8, 9

# Two nodes of 4 GPUs, of which one is drained, and a node with one GPU and three slices.
MAP = {
    "cluster": "east", "time": "2026-03-01T12:00:00Z", "clusterId": 3,
    "areas": [{"kind": "product", "name": "H100", "parent": 0, "nodes": 0}, {"kind": "rack", "name": "r1", "parent": 1, "nodes": 2},
              {"kind": "rack", "name": "r2", "parent": 1, "nodes": 1}],
    "kinds": [{"product": "H100", "gpus": 4, "uncutGpus": 4, "gpuMilligpu": 1000},
              {"product": "H100", "gpus": 2, "uncutGpus": 1, "gpuMilligpu": 1000,
               "slices": [{"profile": "1g.10gb", "count": 2, "milligpu": 125}, {"profile": "2g.20gb", "count": 1, "milligpu": 250}]}],
    "conditions": [{"text": "drained", "state": "GPU_STATE_DRAINED"}],
    "drains": [{"node": 1, "until": "2026-03-02T00:00:00Z"}],
    "accounts": ["ml"], "users": ["ana"], "ownerAccounts": [1, 0], "ownerUsers": [1, 0],
    "nameKeeps": [0, 5, 0], "nameRests": ["n\u00e4-01", "2", "mig"], "nameEnd": ".x", "nodeKinds": [0, 0, 1], "nodeConditions": [0, 1, 0],
    "jobNumbers": ["42", "-2"], "jobOwners": [0, 1], "jobEnds": [61, 0],
    # n\u00e4-01: two running, one divided, one reserved. n\u00e4-02: all drained but one foreign. mig: free, held, free.
    "runs": [16 * 2 + RUNNING, 16 + DIVIDED, 16 + RESERVED, 16 * 3 + DRAINED, 16 + FOREIGN, 16 + FREE, 16 * 2 + HELD, 16 + FREE],
    "runJobs": [0, 1, 0, -1],
    "partCounts": [2], "parts": [16 * 300 + RUNNING, 16 * 700 + FREE], "partJobs": [1],
    "excess": [{"node": 2, "state": "GPU_STATE_RUNNING", "job": 0, "milligpu": "500"}],
}  # fmt: skip

CASES = [
    ("fleet.nodes.map((node) => node.name).join(' ')", "n\u00e4-01.x n\u00e4-02.x mig.x"),
    ("JSON.stringify(fleet.nodes[2].areas)", '[["product","H100"],["rack","r2"]]'),
    ("JSON.stringify(fleet.nodes.map((node) => [node.first, node.cells, node.held, node.closed]))",
     "[[0,4,2300,0],[4,4,1000,3000],[8,4,750,0]]"),
    ("fleet.nodes.map((node) => node.condition).join()", ",drained,"),
    ("new Date(fleet.nodes[1].drain.until).toISOString()", "2026-03-02T00:00:00.000Z"),
    ("[...fleet.states].join('')", "229466681331"),
    ("fleet.jobs.map((job) => job.id).join()", "3-42,3-40"),
    ("JSON.stringify(fleet.jobs[0].owner)", '{"account":"ml","user":"ana"}'),
    ("fleet.jobs[0].end - fleet.time", 3_600_000), ("fleet.jobs[1].end === undefined", True),
    ("map.partsOf(fleet, 0)[0].job.id", "3-42"), ("map.partsOf(fleet, 3)[0].job.id", "3-40"),
    ("map.partsOf(fleet, 7)[0].job.id", "3-40"), ("map.partsOf(fleet, 9)[0].job.id", "3-42"),
    ("map.partsOf(fleet, 2).map((part) => part.milligpu + ' ' + (part.job?.id ?? '-')).join()", "300 3-40,700 -"),
    ("map.cellName(fleet.nodes[0], 3)", "GPU 3"), ("map.cellName(fleet.nodes[2], 8)", "GPU 0"),
    ("map.cellName(fleet.nodes[2], 10)", "slice 1 of 1g.10gb"), ("map.cellName(fleet.nodes[2], 11)", "slice 0 of 2g.20gb"),
    ("map.jobsOn(fleet, fleet.nodes[0]).map((one) => one.job.id + ' ' + one.milligpu).join()", "3-42 2000,3-40 300,3-40 1000"),
    ("map.readFleet({}).nodes.length", 0),
]  # fmt: skip


class FleetMap(unittest.TestCase):
    def test_the_columns_become_nodes_and_cells(self):
        code = bundled(TREE, "fleet_map")
        browser = Browser("")
        self.addCleanup(browser.stop)
        for case, want in CASES:
            with self.subTest(case=case):
                given = f"{code}\nconst map = fleet_map; const fleet = map.readFleet({json.dumps(MAP)});"
                self.assertEqual(browser.js(f"{given}\nreturn {case};"), want)


if __name__ == "__main__":
    unittest.main(verbosity=2)
