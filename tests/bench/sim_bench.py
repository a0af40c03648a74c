#!/usr/bin/env python3
"""How much faster than the time that it plays the simulator runs a trace.

Usage: sim_bench.py SUBAK TRACE NODES

Prints one JSON row (tests/bench/row.h).
"""

import json
import subprocess
import sys


def main():
    subak, trace, nodes = sys.argv[1:]
    done = subprocess.run([subak, "sim", "run", "--trace", trace, "--nodes", nodes, "--policy", "target-share",
                           "--output", "json"], stdout=subprocess.PIPE, text=True, check=True)
    print(json.dumps({"name": "sim_speedup", "value": json.loads(done.stdout)["sim_speedup"], "unit": "x real time",
                      "limit": None, "ratio": None, "what_the_limit_is": None}))


if __name__ == "__main__":
    main()
