#!/usr/bin/env python3
"""The end of an upgrade, under load: once a store is finalized to the next version, programs of the one before refuse it,
and change nothing in it.

Usage: finalize_test.py [--bin build/bin] [--seed S]

Two subakd on one database. One becomes subakd_next, leads, and is told to finalize; the other, a standby, and its next
starts must end with a clear error, while the load goes on. Histories are judged as in takeover_test.py. Exit 1: something
is wrong.
"""

import argparse
import os
import signal
import sys
import time

import takeover_test as t  # which leaves where there is no grpc
import grpc
from pg_server import DEADLINE_S
from stand import Stand

s = t.s
REFUSED, ENDED = 1, 3


def finalize(replica, version=0):
    """The answer of the replica; an error's words."""
    from subak.v1 import admin_service_pb2 as admin

    api = s.Api(replica.grpc, None)
    request = admin.FinalizeRequest(fact_version=version, reason="everybody is new")
    try:
        return api.call("AdminService", "Finalize", request, admin.FinalizeResponse, DEADLINE_S).fact_version
    except grpc.RpcError as error:
        return error.details()


class Wrong(list):
    def want(self, truth, words):
        if not truth:
            self.append(words)


def ended(replica):
    """How it ended, and its last words."""
    replica.wait_end()
    return replica.ends[-1], replica.tail()


def old_is_refused(stand, old, wrong):
    """A start of the old program: refused, and nothing is changed by it."""
    epoch = stand.lead()[0]
    old.start()
    code, said = ended(old)
    wrong.want(code == REFUSED and "run the newer subakd that finalized it" in said, f"the old one started: {code}\n{said}")
    wrong.want(stand.lead()[0] == epoch, "the old one raised the epoch")


def run(stand, seed):
    wrong = Wrong()
    load = t.Load(stand, seed, 0)
    old, new = stand.replicas
    said = finalize(stand.wait(stand.holder, "nobody leads"), 2)
    wrong.want(isinstance(said, str) and "fact_version" in said, f"the old program finalized to {said}")
    stand.roll(new, "subakd_next")
    if stand.wait(stand.holder, "nobody leads") is old:
        stand.roll(old, "subakd")  # which makes the other lead
    wrong.want(stand.holder() is new, "the new program does not lead")
    time.sleep(t.LOAD_S)
    wrong.want(finalize(new) == 2, "the new program does not finalize")
    code, words = ended(old)
    wrong.want(code == ENDED and "newer than this program" in words, f"the old standby ended with {code}\n{words}")
    old_is_refused(stand, old, wrong)
    instant = time.monotonic()
    end = instant + DEADLINE_S
    goes_on = lambda: load.acknowledged_since(instant) >= t.WELL and load.acknowledged_since(0) >= t.ENOUGH
    while not goes_on() and time.monotonic() < end:
        time.sleep(0.02)
    wrong.want(goes_on(), "the new leader does not go on")
    load.end()
    new.end(signal.SIGTERM)
    old_is_refused(stand, old, wrong)  # also where nobody leads
    old.binary = stand.binaries["subakd_next"]
    old.start()
    new.start()
    stand.wait(stand.holder, "nobody leads after the upgrade")
    load.callers[-1].set_up("end")
    return wrong + t.judge(stand, load)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", default=os.path.join(t.ROOT, "build", "bin"))
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("finalize: stopped"))
    s.compile_protos(t.ROOT)
    stand = Stand(t.binaries_in(arguments.bin), 2)
    try:
        wrong = run(stand, arguments.seed)
    finally:
        stand.end()
    for words in wrong[:50]:
        print("WRONG: " + words)
    print(f"finalize: {len(wrong)} wrong, seed {arguments.seed}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
