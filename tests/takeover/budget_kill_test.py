#!/usr/bin/env python3
"""Hard budgets on a real service with SQLite that is killed again and again: no sum of ledger rows is above a budget.

Usage: budget_kill_test.py [--bin build/bin] [--kills 3] [--seed S] [--rest 2]

Three teams below one account, each with a budget of minutes. Jobs of two teams have a time limit. Jobs of the third have none,
and their account has a default time limit. An edge runs the pods, and ends those that it is asked to end. At the end the rows
of the ledger and the audit log are checked. Exit 1: something is wrong.
"""

import argparse
import collections
import datetime
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
for part in ("hostile", "server"):
    sys.path.insert(0, os.path.join(HERE, "..", part))
try:
    import service as s
except ImportError as missing:
    print(f"budget_kill_test: skipped: {missing}")
    sys.exit(77)

import csv
import io
import tempfile

import history as h
from load import CLUSTER, Edge, Finder, Spender
from ports import free_ports

CALLERS = 3
RUNS_S = (1.0, 12.0)  # some pods run beyond their time
WELL = 10  # calls that are acknowledged after a kill, and the next may come
DEADLINE_S = 120
LEAST_SPENT = 0.03  # of a budget: a few seconds of load may fall into two periods
SUBAK_ENDS_S = 60  # how long before its planned end a job without a time limit is asked to end
DEFAULT_S = 63


class Team(Spender):
    """As Spender; but jobs of t2 have no time limit, and so the default of their account."""

    def set_up(self, which="begin", quota=0):
        from subak.v1 import account_service_pb2 as accounts

        super().set_up(which, quota)
        edit = accounts.UpdateAccountRequest(reason="test", request_id=f"{which}-default")
        edit.account.path = "bio.t2"
        edit.account.default_time_limit.seconds = DEFAULT_S
        self.ask("UpdateAccount", edit, accounts.EditAccountResponse, service="AccountService")

    def submit(self, account, name, shape, once=False):
        self.LIMIT_S = 0 if account == "bio.t2" else Spender.LIMIT_S
        return super().submit(account, name, shape, once)


class Killed:
    def __init__(self, binaries, folder):
        self.binaries, self.folder = binaries, folder
        self.ports = free_ports(3)
        self.grpc = f"127.0.0.1:{self.ports[0]}"
        self.start()

    def start(self):
        listen = [part for name, port in zip(("grpc", "http", "webhook"), self.ports)
                  for part in (f"--listen-{name}", f"127.0.0.1:{port}")]
        with open(os.path.join(self.folder, "log"), "a", encoding="utf-8") as log:
            command = [self.binaries["subakd"], "--state", os.path.join(self.folder, "subak.db"), "--time-limit-grace", "1s", *listen]
            self.child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=log, cwd=self.folder)

    def end(self, how=signal.SIGKILL):
        self.child.send_signal(how)
        self.child.wait(DEADLINE_S)

    def csv(self, *arguments):
        command = [self.binaries["subak"], "--server", self.grpc, *arguments, "--output", "csv"]
        out = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE_S, check=True).stdout
        return list(csv.DictReader(io.StringIO(out)))


def acknowledged(callers):
    return sum(call.outcome == h.ACKNOWLEDGED for caller in callers for call in caller.calls)


def wait(condition, what):
    until = time.monotonic() + DEADLINE_S
    while not condition():
        if time.monotonic() > until:
            sys.exit(f"budgets: {what}")
        time.sleep(0.05)


def ms_of(text):
    return round(datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp() * 1000)


def field(row, name):
    """The capitals of a column's name have no meaning here."""
    return next(value for key, value in row.items() if key.lower() == name)


def check_ledger(rows):
    """(what is wrong, the largest part of a budget that was spent in a period)."""
    most, period = h.budget_of(Spender.BUDGET)
    spent = collections.Counter()
    for row in rows:
        payer, begin, to = field(row, "payer"), ms_of(field(row, "from")), ms_of(field(row, "to"))
        for path in Spender.ACCOUNTS:
            if payer != path and not payer.startswith((path + ".", path + "/")):
                continue
            at = begin
            while at < to:
                end = min(to, at - at % period + period)
                spent[path, at // period] += round(1000 * float(field(row, "gpus"))) * (end - at)
                at = end
    wrong = [f"{path} has spent {amount / most:.3f} of its budget in period {number}"
             for (path, number), amount in sorted(spent.items()) if amount > most]
    return wrong, max(spent.values(), default=0) / most, len({number for _, number in spent})


def check_ends(service, rows):
    """What is wrong with the jobs that were asked to end, and how many those are by cause. No job is asked before it has run
    for what it was told: its time limit, or the default of its account up to the minute for its end."""
    began = {}
    for row in rows:
        job = field(row, "job")
        began[job] = min(began.get(job, 1 << 62), ms_of(field(row, "from")))
    wrong, counts = [], collections.Counter()
    for row in service.csv("audit", "--limit", "0"):
        if field(row, "kind") != "stop_asked":
            continue
        job, after = field(row, "subject"), field(row, "after")
        cause = re.search(r"cause=(\w+)", after).group(1)
        if cause not in ("time_limit", "budget"):
            continue
        counts[cause] += 1
        ran_s = (ms_of(field(row, "time")) - began.get(job, 0)) / 1000
        told_s = Spender.LIMIT_S if cause == "time_limit" else DEFAULT_S - SUBAK_ENDS_S
        if ran_s < told_s:
            wrong.append(f"{job} was asked to end by its {cause} after {ran_s} s, before the {told_s} s that it was told")
    return wrong, counts


def run(service, arguments):
    stop = threading.Event()
    finder = Finder([service.grpc])
    callers = [Team(finder, stop) for _ in range(CALLERS + 1)]
    callers[0].set_up()
    edge = Edge(finder, stop, arguments.seed)
    edge.end_s = RUNS_S
    work = [threading.Thread(target=edge.run, daemon=True)]
    work += [threading.Thread(target=c.work, args=(f"c{i}", arguments.seed), daemon=True) for i, c in enumerate(callers[1:])]
    for thread in work:
        thread.start()
    chance = random.Random(arguments.seed)
    for kill in range(arguments.kills):
        time.sleep(chance.uniform(0.5, 1.5) * arguments.rest)
        service.end()
        service.start()
        before = acknowledged(callers)
        wait(lambda: acknowledged(callers) >= before + WELL, f"nothing is acknowledged after kill {kill}")
    time.sleep(arguments.rest)
    stop.set()
    for thread in work[1:]:
        thread.join(DEADLINE_S)
    rows = service.csv("usage", "ledger", "--limit", "0")
    wrong, most, periods = check_ledger(rows)
    wrong_ends, ended = check_ends(service, rows)
    verify = subprocess.run([service.binaries["subak"], "--server", service.grpc, "usage", "verify"], capture_output=True,
                            text=True, timeout=DEADLINE_S, check=False)
    if verify.returncode != 0:
        wrong.append(f"usage verify: {verify.stdout}{verify.stderr}")
    print(f"{arguments.kills} kills, {acknowledged(callers)} calls acknowledged, {len(rows)} ledger rows in {periods} periods; "
          f"at most {most:.0%} of a budget spent in a period; jobs asked to end: {dict(ended)}")
    if most < LEAST_SPENT or not ended:
        wrong.append("the budgets were hardly used")
    return wrong + wrong_ends


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", default=os.path.join(ROOT, "build", "bin"))
    parser.add_argument("--kills", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rest", type=float, default=2.0, help="seconds of load before each kill")
    parser.add_argument("--list", action="store_true", help="only name the test")
    arguments = parser.parse_args()
    if arguments.list:
        print("budget_kill_test\n  kills")
        return 0
    s.compile_protos(ROOT)
    binaries = {name: os.path.abspath(os.path.join(arguments.bin, name)) for name in ("subakd", "subak")}
    with tempfile.TemporaryDirectory() as folder:
        service = Killed(binaries, folder)
        try:
            wrong = run(service, arguments)
        finally:
            service.end()
    for words in wrong[:50]:
        print("wrong:", words)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
