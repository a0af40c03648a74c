#!/usr/bin/env python3
"""Leaders that fail under load, on a real PostgreSQL: what was acknowledged is there once, no GPU is given twice, and time is
the database's.

Usage: takeover_test.py [--bin build/bin] [--fault KIND,...] [--times N] [--seed S] [--replicas 2] [--queued 0] [--rest S]
       [--program subakd [--has-mistake]] [--claims]

Some subakd on one database, each by a proxy of its own; callers that submit, hold, release and cancel; an edge that runs
the pods. Again and again one thing goes wrong (KIND; all of them but those of machines unless some are named), another leads
or the same goes on, and the failed one starts again. With a kind of machines each has a network namespace in place of a proxy
(machines.py), which needs root. With --claims jobs within quota claim GPUs that others borrow, and each fault comes while
there is a claim. At the end the histories of callers and edge are held against the facts (history.py,
which history_test.py proves). Prints how long nobody got anything acknowledged, for each kind. Exit 1: something is wrong.
"""

import argparse
import collections
import itertools
import os
import random
import re
import signal
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
    print(f"takeover_test: skipped: {missing}")
    sys.exit(77)

import grpc
import history as h
from load import Caller, Claimer, Edge, Finder, Spender
from machines import BOTH, CALLS, DATA, IN, OUT, MachineStand, enter
from stand import Stand

CALLERS = 3
DAY_MS = 86_400_000
LOAD_S = 0.3  # of undisturbed load before each fault, unless --rest says more
WELL = 10  # calls that are acknowledged after it, and the next may come
ENOUGH = 100  # such calls in all, to judge by
SYNC_BYTES = 5
FIRST_BYTES = 2000  # of a batch: without them it is none
LATE_S = 0.5
CLAIM_FLAGS = ["--reclaim", "on", "--reclaim-min-run", "1s"]
BUDGET_FLAGS = ["--time-limit-grace", "1s"]
BUDGET_RUNS_S = (1.0, 9.0)  # longer than the limit, so that some are ended
CLAIM_RUNS_S = (1.0, 12.0)  # a pod, so that claims have somebody to ask
LOST_S = 3.0  # a network is away for so long at most, once another leads


class Faults:
    """Each method does one thing to the stand and undoes it. `leads`: who led before. `wrong`: what was seen meanwhile."""

    def __init__(self, stand, edge, chance, shortest):
        self.stand, self.edge, self.chance, self.shortest = stand, edge, chance, shortest
        self.process = 0  # that leads
        self.start_kind = next(int(kind) for name, kind in numbered_facts() if name == "AttemptStarted")
        self.wrong = []

    def term(self, leads):
        """It is stopped as an operator stops it, and hands over."""
        leads.send(signal.SIGTERM)
        self.stand.wait_for_another(self.process)

    def kill(self, leads):
        leads.send(signal.SIGKILL)
        self.stand.wait_for_another(self.process)

    def stop(self, leads):
        """It sleeps for a while, in whatever it was about to do."""
        seconds = 3.5 if self.shortest else self.chance.uniform(1, 30)
        leads.send(signal.SIGSTOP)
        time.sleep(seconds)
        leads.send(signal.SIGCONT)

    def middle(self, leads):
        """It sleeps in the middle of a batch: before its end, or after all of it but the Sync, when the server has locked
        what the batch locks. The rest comes later."""
        tail = SYNC_BYTES if self.chance.random() < 0.7 else self.chance.randint(SYNC_BYTES + 1, 2000)
        leads.proxy.do("keep_end", tail)
        self.stand.wait(lambda: leads.proxy.do("state")[1], "no batch came")
        leads.send(signal.SIGSTOP)
        self.stand.wait_for_another(self.process)
        leads.proxy.do("let_go")
        leads.send(signal.SIGCONT)

    def late(self, leads):
        """Its batch is held on its way until after the takeover; its own line is cut meanwhile, or not."""
        leads.proxy.do("hold_requests", 1)
        self.stand.wait(lambda: leads.proxy.do("state")[0] > 500, "no batch came")
        if self.chance.random() < 0.5:
            leads.proxy.do("cut")
        self.stand.wait_for_another(self.process)
        leads.proxy.do("hold_requests", 0)

    def between(self, leads):
        """Its batch comes after another has raised the epoch, and before that one's first."""
        others = [replica.proxy for replica in self.stand.replicas if replica is not leads]
        leads.proxy.do("hold_requests", 1)
        self.stand.wait(lambda: leads.proxy.do("state")[0] > 500, "no batch came")
        for proxy in others:
            proxy.do("keep_end", FIRST_BYTES)
        self.stand.wait(lambda: any([proxy.do("state")[1] for proxy in others]), "no first batch came")
        before = self.stand.last_fact()
        leads.proxy.do("hold_requests", 0)
        time.sleep(LATE_S)
        if more := self.stand.last_fact() - before:
            self.wrong.append(f"{more} facts of a leader became durable after another had raised the epoch")
        for proxy in others:
            proxy.do("keep_end", 0)
            proxy.do("let_go")

    def unaware(self, leads):
        """It falls asleep when a batch that opens gates is durable and it does not know that yet, and wakes when another leads."""
        while not self.opens_gates(leads.proxy):
            leads.proxy.do("hold_answers", 0)
        leads.send(signal.SIGSTOP)
        self.stand.wait_for_another(self.process)
        leads.proxy.do("hold_answers", 0)
        woke = time.monotonic()
        leads.send(signal.SIGCONT)
        self.stand.wait(lambda: leads.child.pid != self.process, "it does not end")
        self.wrong += h.check_silent(self.edge.heard[:], self.stand.replicas.index(leads), woke)

    def opens_gates(self, proxy):
        """Of the next batch, whose answer is held from then on."""
        proxy.do("keep_end", SYNC_BYTES)
        self.stand.wait(lambda: proxy.do("state")[1], "no batch came")
        before = self.stand.last_fact()
        proxy.do("hold_answers", 1)
        proxy.do("let_go")
        self.stand.wait(lambda: self.stand.last_fact() > before, "the batch is not there")
        return self.stand.counts(before, self.start_kind) > 0

    def cut(self, leads):
        """Its lines end, and no new one comes to the database."""
        leads.proxy.do("turn_away", 1)
        leads.proxy.do("drop")
        self.stand.wait_for_another(self.process)
        time.sleep(self.chance.uniform(0, 1))
        leads.proxy.do("turn_away", 0)

    def half_open(self, leads):
        """What it sends goes nowhere and nothing comes, and nobody closes the lines."""
        leads.proxy.do("hold_requests", 1)
        leads.proxy.do("hold_answers", 1)
        self.stand.wait_for_another(self.process)
        leads.proxy.do("drop")
        leads.proxy.do("hold_requests", 0)
        leads.proxy.do("hold_answers", 0)

    def link(self, leads):
        """Its machine is off the network, or off that of the database alone, and later there again."""
        self.lose(leads, BOTH)

    def mute(self, leads):
        """Nothing that its machine sends arrives anywhere, or at the database alone; what is sent to it does."""
        self.lose(leads, OUT)

    def deaf(self, leads):
        """What its machine sends arrives, and nothing comes to it, or nothing from the database."""
        self.lose(leads, IN)

    def lose(self, leads, way):
        place = self.stand.replicas.index(leads)
        callers_too = self.chance.random() < 0.5
        self.stand.network.lose(place, (DATA, CALLS) if callers_too else (DATA,), way)
        self.stand.wait_for_another(self.process)
        another = time.monotonic()
        time.sleep(self.chance.uniform(0, LOST_S))
        self.stand.network.mend()
        self.stand.wait(lambda: leads.child.pid != self.process, "it does not end")
        if not callers_too:  # else what it sent before comes now
            self.wrong += h.check_silent(self.edge.heard[:], place, another)

    def clock(self, leads):
        """The wall clocks of all machines but the database's are an hour off, and who leads is killed."""
        offset = "+1h" if self.shortest else self.chance.choice(("+1h", "-1h"))
        self.set_clocks(offset)
        leads.send(signal.SIGKILL)
        self.stand.wait_for_another(self.process)
        time.sleep(1)  # under load
        self.set_clocks("+0")

    def set_clocks(self, offset):
        for replica in self.stand.replicas:
            replica.set_clock(offset)
        time.sleep(1.5)  # libfaketime looks once a second

    def roll(self, _):
        """All replicas, one after another, become the next version (subakd_next), and the one of before again."""
        for binary in ("subakd_next", "subakd"):
            for replica in self.stand.replicas:
                self.stand.roll(replica, binary)
                time.sleep(LOAD_S)

    def restart(self, leads):
        """The database is restarted, or its processes are killed."""
        if self.chance.random() < 0.5:
            self.stand.server.restart()
        else:
            self.stand.server.kill()
            self.stand.server.start()

    def failover(self, leads):
        """The database's machine is gone, and its synchronous standby is promoted."""
        self.stand.add_standby()
        time.sleep(LOAD_S)
        self.stand.fail_over()


KINDS = ("term", "kill", "stop", "middle", "late", "between", "unaware", "cut", "half_open", "clock", "roll", "restart", "failover")
ON_MACHINES = ("link", "mute", "deaf")  # each replica in a network namespace of its own, and the database with a standby
ALSO_THERE = ("term", "kill", "stop", "clock", "restart")
BINARIES = ("subakd", "subakd_next", "pg_proxy", "state_digest")


class Load:
    def __init__(self, stand, seed, queued, claims=False, budgets=False):
        self.stop = threading.Event()
        self.finder = Finder([replica.grpc for replica in stand.replicas], stand.token, stand.ca)
        kind = Claimer if claims else Spender if budgets else Caller
        self.first = first = kind(self.finder, self.stop)
        first.set_up()
        first.fill(queued)
        self.edge = Edge(self.finder, self.stop, seed)
        if claims:
            self.edge.end_s = CLAIM_RUNS_S
        if budgets:
            self.edge.end_s = BUDGET_RUNS_S
        self.callers = [kind(self.finder, self.stop) for _ in range(CALLERS)]
        work = [threading.Thread(target=self.edge.run, daemon=True)]
        work += [threading.Thread(target=c.work, args=(f"c{i}", seed), daemon=True) for i, c in enumerate(self.callers)]
        self.callers.append(first)
        self.threads = work
        for thread in work:
            thread.start()

    def calls(self, since=0.0):
        """Those that began since then."""
        return [call for caller in self.callers
                for call in itertools.takewhile(lambda c: c.begin >= since, reversed(caller.calls[:]))]

    def has_claim(self):
        """True while GPUs are claimed, as far as anybody answers."""
        from subak.v1 import job_service_pb2 as jobs

        try:
            api = self.first.apis[self.finder.leader]
            return len(api.call("JobService", "ListClaims", jobs.ListClaimsRequest(), jobs.ListClaimsResponse, 1.0).claims) > 0
        except grpc.RpcError:
            return False

    def acknowledged_since(self, instant):
        return sum(call.outcome == h.ACKNOWLEDGED for call in self.calls(instant))

    def end(self):
        self.stop.set()
        for thread in self.threads:
            thread.join(s.DEADLINE_S)


def one_fault(stand, load, faults, kind, rest_s, claims=False):
    """Lets it happen, while GPUs are claimed if `claims`, and waits until all is well. How long nobody got anything acknowledged, and whether another leads."""
    time.sleep(rest_s)
    if claims:
        stand.wait(load.has_claim, "nobody claims anything")
    leads = stand.wait(stand.holder, "nobody leads")
    place = stand.replicas.index(leads)
    begin, process = time.monotonic(), leads.child.pid
    with load.edge.lock:  # somebody sets the clock of the launcher, too
        load.edge.clock_off_ms = faults.chance.randint(-DAY_MS, DAY_MS)
    faults.process = process
    getattr(faults, kind)(leads)

    def is_well():
        now = stand.holder()
        if not now or now.child.pid != process == leads.child.pid:
            return False  # who leads no longer ends, and waits again
        return load.acknowledged_since(instant) >= WELL

    instant = time.monotonic()
    stand.wait(is_well, f"after {kind} nothing is acknowledged any more")
    pause = h.pause_s(load.calls(begin - 60), place, begin - LOAD_S, time.monotonic())
    return pause, stand.holder().child.pid != process


# Most of all facts, and no check looks into them.
UNREAD = ("PodAdded", "PodBound", "PodRunning", "PodGone", "AttemptEnded", "Reserved")


def rows_of(stand):
    from subak.fact.v1 import fact_pb2

    names = {int(kind): name for name, kind in numbered_facts()}
    ahead_s = time.time() - time.monotonic()
    for seq, epoch, time_ms, kind, body in stand.facts():
        name = names[kind]
        fact = None if name in UNREAD else getattr(fact_pb2, name).FromString(body)
        yield h.Row(seq, epoch, name, fact, time_ms / 1000 - ahead_s, time_ms)


def numbered_facts():
    """(message, kind) of each, as fact.proto numbers them."""
    with open(os.path.join(ROOT, "proto", "subak", "fact", "v1", "fact.proto"), encoding="utf-8") as file:
        return [(name, kind) for kind, name in re.findall(r"// Kind (\d+)\D[^\n]*\n(?://[^\n]*\n)*message (\w+)", file.read())]


def judge(stand, load, faults=(), claims_wanted=0, budgets=False):
    """`faults`: when they begin and end; the pauses printed are of that time. `claims_wanted`: so many of them at least."""
    rows, calls = list(rows_of(stand)), load.calls()
    wrong = h.check_rows(rows) + h.check_calls(calls, rows) + h.check_times(calls, rows) + h.check_order(calls)
    wrong += h.check_edge(load.edge.steps, rows) + h.check_digests(stand.digests())
    wrong += h.check_charges(load.edge.ran(), rows)
    wrong_claims, claims = h.check_claims(rows)
    wrong += wrong_claims
    if claims.made:
        print(f"claims: {claims.made} made, {claims.started} jobs started with one, {claims.asked} victims were asked, "
              f"{claims.passed_on} open when another began to lead")
    if budgets:
        wrong_budgets, spending = h.check_budgets(rows)
        wrong += wrong_budgets
        print(f"budgets: at most {spending.spent:.0%} of one spent in a period, {spending.ended} jobs ended at their time limit")
        if spending.ended == 0 or spending.spent < 0.1:
            wrong.append("the budgets were hardly used")
    count = lambda outcome: sum(call.outcome == outcome for call in calls)
    print(f"{len(rows)} facts, {rows[-1].epoch} epochs; calls: {count(h.ACKNOWLEDGED)} acknowledged, {count(h.REFUSED)} refused, "
          f"{count(h.UNANSWERED)} unanswered; edge: {len(load.edge.steps)} steps, {load.edge.stale} stale effects, "
          f"{load.edge.again} told again, {len(load.edge.complaints)} events refused")
    if gaps := h.gaps_s(rows, *faults):
        print(f"{len(gaps)} times another epoch: from the last fact of one to the first of the next p50 "
              f"{h.percentile(gaps, 0.5):.2f} s, p99 {h.percentile(gaps, 0.99):.2f} s, most {max(gaps):.2f} s")
    for words, times in collections.Counter(re.sub(r"\d+", "N", said) for said in load.edge.complaints).most_common(3):
        print(f"refused {times} times: {words}")
    if count(h.ACKNOWLEDGED) < ENOUGH or len(load.edge.steps) < 20:
        wrong.append("too little happened to judge by")
    if min(claims.started, claims.asked) < claims_wanted:
        wrong.append(f"want {claims_wanted} claims with which a job started")
    return wrong


def write_checkpoint(stand):
    """A leader writes one as it stops, and nobody waits to take over. The one that did, which leads again; alone."""
    leads = stand.wait(stand.holder, "nobody leads")
    for replica in stand.replicas:
        if replica is not leads:
            replica.end(signal.SIGKILL)
    leads.end()
    leads.start()
    return leads


def run(stand, arguments, kinds):
    load = Load(stand, arguments.seed, arguments.queued, arguments.claims, arguments.budgets)
    if arguments.queued > 0:
        leads = write_checkpoint(stand)
        for replica in stand.replicas:
            if replica is not leads:
                replica.start()
    begin = time.monotonic()
    faults = Faults(stand, load.edge, random.Random(arguments.seed), arguments.times == 1)
    pauses, others = {kind: [] for kind in kinds}, dict.fromkeys(kinds, 0)
    order = list(kinds) * arguments.times
    for number, kind in enumerate(order):
        pause, other = one_fault(stand, load, faults, kind, arguments.rest, arguments.claims)
        pauses[kind].append(pause)
        others[kind] += other
        if len(order) > 20:
            print(f"{number + 1}/{len(order)} {kind}: {pause:.2f} s", flush=True)
    load.end()
    end = time.monotonic()
    last = write_checkpoint(stand)  # and facts come after it
    load.first.set_up("end")
    last.end(signal.SIGKILL)
    for kind in kinds:
        known = pauses[kind]
        print(f"{kind:10} {len(known):4} times, another led after {others[kind]:4}; nothing acknowledged for p50 "
              f"{h.percentile(known, 0.5):5.2f} s, p99 {h.percentile(known, 0.99):5.2f} s, most {max(known):5.2f} s")
    for number, replica in enumerate(stand.replicas):
        print(f"replica {number} ended with {replica.ends}")
    wrong = judge(stand, load, (begin, end), len(order) if arguments.claims else 0, arguments.budgets)
    return faults.wrong if arguments.has_mistake else faults.wrong + wrong


def binaries_in(folder):
    return {name: os.path.abspath(os.path.join(folder, name)) for name in BINARIES}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", default=os.path.join(ROOT, "build", "bin"))
    parser.add_argument("--fault", default="all", help=f"KIND,...: {' '.join(KINDS)}; or of machines: {' '.join(ON_MACHINES)}")
    parser.add_argument("--times", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--replicas", type=int, default=2)
    parser.add_argument("--queued", type=int, default=0, help="jobs that wait all the time")
    parser.add_argument("--rest", type=float, default=LOAD_S, help="seconds of load before each fault: until who waits is warm")
    parser.add_argument("--program", default="subakd", help="that is tested, in the folder of --bin")
    parser.add_argument("--has-mistake", action="store_true", help="exit 0 if a fault shows one")
    parser.add_argument("--claims", action="store_true", help="jobs claim GPUs of others, and each fault comes meanwhile")
    parser.add_argument("--budgets", action="store_true", help="three teams spend hard budgets of minutes")
    parser.add_argument("--list", action="store_true", help="only name the kinds")
    arguments = parser.parse_args()
    if arguments.list:
        print("takeover_test\n  " + "\n  ".join(KINDS + ON_MACHINES))
        return 0
    kinds = KINDS if arguments.fault == "all" else arguments.fault.split(",")
    if unknown := set(kinds) - set(KINDS + ON_MACHINES):
        parser.error(f"no fault is called {unknown.pop()} (there are {', '.join(KINDS + ON_MACHINES)})")
    on_machines = bool(set(kinds) & set(ON_MACHINES))
    if on_machines and (beside := set(kinds) - set(ON_MACHINES + ALSO_THERE)):
        parser.error(f"{beside.pop()} needs proxies, which {', '.join(ON_MACHINES)} have none of")
    if on_machines and (why := enter()):
        print(f"takeover_test: skipped: {why}")
        return 77
    if s.faketime_library() is None:
        kinds = [kind for kind in kinds if kind != "clock"]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("takeovers: stopped"))  # and clean up
    s.compile_protos(ROOT)
    binaries = binaries_in(arguments.bin)
    binaries["subakd"] = os.path.join(os.path.abspath(arguments.bin), arguments.program)
    print(f"takeovers: {', '.join(kinds)}, {arguments.times} times each, seed {arguments.seed}", flush=True)
    # A program with a mistake does not show it each time: what is on its way at the fault differs.
    for _ in range(5 if arguments.has_mistake else 1):
        flags = CLAIM_FLAGS if arguments.claims else BUDGET_FLAGS if arguments.budgets else []
        stand = (MachineStand if on_machines else Stand)(binaries, arguments.replicas, flags)
        try:
            wrong = run(stand, arguments, kinds)
        finally:
            stand.end()
        if wrong:
            break
    for words in wrong[:50]:
        print("WRONG: " + words)
    print(f"takeovers: {len(wrong)} wrong, seed {arguments.seed}")
    return 0 if bool(wrong) == arguments.has_mistake else 1


if __name__ == "__main__":
    sys.exit(main())
