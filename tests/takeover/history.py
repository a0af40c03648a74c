"""What callers and the edge saw, what the database has, and whether the one can be true of the other.

Values and pure functions. Each check returns what is wrong, as sentences; nothing: all is well. Instants are seconds of
one monotonic clock of the machine that all of them ran on.
"""

import collections
import dataclasses
import itertools
import math

ACKNOWLEDGED, REFUSED, UNANSWERED = "acknowledged", "refused", "unanswered"
CREATE = "CreateJob"
CLOCK_S = 2.0  # a fact's time may be off by so much
ROW_S = 1.0  # and the books of one pod
USED = 0  # subak.fact.v1.USAGE_STATE_USED
PREEMPTED = 5  # subak.fact.v1.CAUSE_PREEMPTED
TIME_LIMIT = 13  # subak.fact.v1.CAUSE_TIME_LIMIT
PLATFORM = 4294967293  # payers from here on are no accounts
HOUR_MS, MINUTE_MS = 3600 * 1000, 60 * 1000


@dataclasses.dataclass
class Call:
    """One call with one request id, repeated or not: from its first try to its last word."""

    method: str
    request_id: str
    begin: float
    end: float = 0.0
    outcome: str = UNANSWERED
    job: str = ""  # "1-42": that was made, or that was to be changed
    by: int = -1  # which server acknowledged it


@dataclasses.dataclass
class Row:
    """A row of `facts`. `name` is the fact's message, `fact` the message itself; None: nobody wants to know. `at`: its time, as
    an instant; `ms`: as it is stored."""

    seq: int
    epoch: int
    name: str
    fact: object
    at: float = 0.0
    ms: int = 0


@dataclasses.dataclass
class Step:
    """At the edge: the gate of a pod was opened on these GPUs of a node, or the pod is gone. In the order of the list."""

    what: str  # "open", "gone"
    job: str
    rank: int
    attempt: int
    node: str
    gpu_mask: int

    @property
    def pod(self):
        return self.job, self.rank, self.attempt


def job_text(number):
    return f"{number >> 48}-{number & ((1 << 48) - 1)}"


def job_number(text):
    cluster, number = text.split("-")
    return int(cluster) << 48 | int(number)


def check_rows(rows):
    """Numbers have no gap and begin at 1; epochs never fall."""
    wrong = []
    if rows and rows[0].seq != 1:
        wrong.append(f"the first fact is {rows[0].seq}, not 1")
    for a, b in zip(rows, rows[1:]):
        if b.seq != a.seq + 1:
            wrong.append(f"after fact {a.seq} comes {b.seq}")
        if b.epoch < a.epoch:
            wrong.append(f"fact {b.seq} has epoch {b.epoch}, the one before it {a.epoch}")
    return wrong


def check_times(calls, rows):
    """Times never fall, and what a call did has a time between its begin and its end, whatever the machines' clocks show."""
    wrong = []
    for a, b in zip(rows, rows[1:]):
        if b.at < a.at:
            wrong.append(f"fact {b.seq} is {a.at - b.at:.3f} s older than the one before it")
    asked = {call.request_id: call for call in calls if call.request_id}
    for row in rows:
        call = asked.get(getattr(stamp_of(row.fact), "request_id", ""))
        if call is None:
            continue
        if row.at < call.begin - CLOCK_S:
            wrong.append(f"fact {row.seq} is of {call.begin - row.at:.1f} s before {call.request_id} was asked for")
        if call.outcome == ACKNOWLEDGED and row.at > call.end + CLOCK_S:
            wrong.append(f"fact {row.seq} is of {row.at - call.end:.1f} s after {call.request_id} was answered")
    return wrong


def stamp_of(fact):
    """The edit that a fact is of; RequestKept is one by itself."""
    return getattr(fact, "edit", None) or getattr(fact, "by", fact)


def check_calls(calls, rows):
    """Of calls with a request id. Acknowledged: there once. Unanswered: at most once. Refused: not there. And nothing that nobody asked for."""
    wrong = []
    done = collections.defaultdict(list)  # request id: what facts say of it
    for row in rows:
        if request_id := getattr(stamp_of(row.fact), "request_id", ""):
            done[request_id].append(row)
    calls = [call for call in calls if call.request_id]
    asked = {call.request_id for call in calls}
    wrong += [f"request {request_id} is there, and nobody asked for it" for request_id in done if request_id not in asked]
    for call in calls:
        there = done.get(call.request_id, [])
        what = f"{call.outcome} {call.method} {call.request_id}"
        if len(there) > 1:
            wrong.append(f"{what} is there {len(there)} times: facts {[row.seq for row in there]}")
        elif call.outcome == ACKNOWLEDGED and not there:
            wrong.append(f"{what} ({call.job}) is not there")
        elif call.outcome == REFUSED and there:
            wrong.append(f"{what} is there: fact {there[0].seq}")
        elif call.outcome == ACKNOWLEDGED and call.method == CREATE and made_by(there[0]) != call.job:
            wrong.append(f"{what} made {made_by(there[0])}, and its caller was told {call.job}")
    return wrong


def made_by(row):
    return job_text(row.fact.id if row.name == "JobCreated" else row.fact.job)


def check_order(calls):
    """A job whose call began after another's had ended has the higher number, within a cluster."""
    wrong = []
    made = [call for call in calls if call.method == CREATE and call.outcome == ACKNOWLEDGED]
    ended = sorted(made, key=lambda call: call.end)
    highest, at = {}, 0  # by cluster: of those that had ended before
    for call in sorted(made, key=lambda call: call.begin):
        while ended[at].end < call.begin:
            cluster, number = (int(part) for part in ended[at].job.split("-"))
            highest[cluster] = max(highest.get(cluster, (0, "")), (number, ended[at].request_id))
            at += 1
        cluster, number = (int(part) for part in call.job.split("-"))
        before = highest.get(cluster, (0, ""))
        if number <= before[0]:
            wrong.append(f"{call.request_id} made {call.job}, and {before[1]} had made {cluster}-{before[0]} before it began")
    return wrong


def check_edge(steps, rows):
    """No GPU is held by two pods at a time, and each gate was opened as a fact says."""
    wrong = []
    names = {row.fact.id: row.fact.spec.name for row in rows if row.name == "NodeSet"}
    given = {}
    for row in rows:
        if row.name == "AttemptStarted":
            for rank, slot in enumerate(row.fact.slots):
                given[job_text(row.fact.id), rank, row.fact.attempt] = (names.get(slot.node), slot.gpu_mask)
    held = {}  # pod: (node, mask)
    by_node = collections.defaultdict(dict)  # node: pod: mask
    for step in steps:
        if step.what == "gone":
            node, _ = held.pop(step.pod)
            del by_node[node][step.pod]
            continue
        if given.get(step.pod) != (step.node, step.gpu_mask):
            wrong.append(f"pod {step.pod} was let go to {step.node} {step.gpu_mask:#x}, and facts say {given.get(step.pod)}")
        for pod, mask in by_node[step.node].items():
            if mask & step.gpu_mask:
                wrong.append(f"GPUs {mask & step.gpu_mask:#x} of {step.node} were given to {step.pod} while {pod} had them")
        held[step.pod] = (step.node, step.gpu_mask)
        by_node[step.node][step.pod] = step.gpu_mask
    return wrong


# What ends a claim besides Claimed: its job starts, ends or leaves the queue.
LEAVES = ("AttemptStarted", "JobMoved", "StopAsked")


@dataclasses.dataclass
class ClaimCounts:
    made: int = 0
    started: int = 0  # their jobs, while they had one
    asked: int = 0  # victims
    passed_on: int = 0  # open ones when another began to lead


def check_claims(rows):
    """(what is wrong, ClaimCounts). A job has one claim at a time, a job is a victim of one, and it is asked to end once, for
    a claim that has it as a victim and not too early."""
    wrong, counts, claims, asked = [], ClaimCounts(), {}, set()
    epoch = rows[0].epoch if rows else 0
    for row in rows:
        if row.epoch != epoch:
            epoch = row.epoch
            counts.passed_on += len(claims)
        if row.name == "Claimed":
            claim = row.fact
            if bool(claim.slots) == (claim.job in claims):
                wrong.append(f"fact {row.seq}: {job_text(claim.job)} {'claims twice' if claim.slots else 'ends no claim'}")
            claims.pop(claim.job, None)
            if not claim.slots:
                continue
            counts.made += 1
            mine, others = {v.job for v in claim.victims}, {v.job for known in claims.values() for v in known.victims}
            wrong += [f"fact {row.seq}: {job_text(job)} is a victim twice" for job in sorted(mine & others)]
            claims[claim.job] = claim
        elif row.name in LEAVES:
            if claims.pop(row.fact.id, None) and row.name == "AttemptStarted":
                counts.started += 1
            if row.name == "StopAsked" and row.fact.cause == PREEMPTED:
                wrong += check_asked(row, claims, asked)
    counts.asked = len(asked)
    return wrong, counts


@dataclasses.dataclass
class BudgetCounts:
    spent: float = 0.0  # the largest part of a budget that was spent in a period
    ended: int = 0  # jobs that were asked to end by their time limit


def budget_of(text):
    """(milli-GPU x ms, ms) of "0.1h/5m", the only form here."""
    amount, _, period = text.partition("/")
    return round(float(amount.rstrip("h")) * 1000 * HOUR_MS), int(period.rstrip("m")) * MINUTE_MS


def check_budgets(rows):
    """(what is wrong, BudgetCounts). The ledger's rows of a period are never more than the budget of any account on the way
    up. A job that is asked to end by its time limit has had that limit, which it named when it was made."""
    wrong, counts = [], BudgetCounts()
    paths, budgets, limits, started = {}, {}, {}, {}
    spent = collections.Counter()
    for row in rows:
        if row.name == "AccountSet":
            paths[row.fact.id] = row.fact.spec.path
            if row.fact.spec.budgets:
                budgets[row.fact.spec.path] = budget_of(row.fact.spec.budgets)
        elif row.name == "JobCreated":
            limits[row.fact.id] = row.fact.time_limit_ms
        elif row.name == "AttemptStarted":
            started[row.fact.id] = row.ms
        elif row.name == "StopAsked" and row.fact.cause == TIME_LIMIT:
            counts.ended += 1
            if row.ms - started[row.fact.id] < limits[row.fact.id] or not limits[row.fact.id]:
                wrong.append(f"fact {row.seq}: {job_text(row.fact.id)} is asked to end before its limit")
        elif row.name == "Charged" and row.fact.row.payer < PLATFORM:
            charge = row.fact.row
            for path, (_, period) in budgets.items():
                if not (paths[charge.payer] + "/").replace(".", "/").startswith(path.replace(".", "/") + "/"):
                    continue
                begin = charge.from_ms
                while begin < charge.to_ms:
                    end = min(charge.to_ms, begin - begin % period + period)
                    spent[path, begin // period] += charge.milligpu * (end - begin)
                    begin = end
    for (path, period), amount in sorted(spent.items()):
        counts.spent = max(counts.spent, amount / budgets[path][0])
        if amount > budgets[path][0]:
            wrong.append(f"{path} has spent {amount / budgets[path][0]:.3f} of its budget in period {period}")
    return wrong, counts


def check_asked(row, claims, asked):
    """Of a job that is preempted. `asked`: (job, attempt) of those before; this one is added."""
    job, attempt = row.fact.id, row.fact.attempt
    wrong = [f"fact {row.seq}: {job_text(job)} is preempted twice in attempt {attempt}"] if (job, attempt) in asked else []
    asked.add((job, attempt))
    if not any(v.job == job and v.attempt == attempt and v.ask_ms <= row.ms for c in claims.values() for v in c.victims):
        wrong.append(f"fact {row.seq}: {job_text(job)} is preempted, and no claim asks for it")
    return wrong


def check_charges(ran, rows, off_s=ROW_S):
    """`ran`: seconds of each pod that ran, by (job, rank, attempt). Each has a row, and is charged for as long.
    What a preempted pod gets back for its lost work does not count."""
    used = collections.Counter()
    preempted = {(row.fact.id, row.fact.attempt) for row in rows if row.name == "StopAsked" and row.fact.cause == PREEMPTED}
    for row in rows:
        if row.name == "Charged" and row.fact.row.state == USED:
            part = row.fact.row
            pod = job_text(part.allocation.job), part.allocation.rank, part.allocation.attempt
            if part.corrects and (part.allocation.job, part.allocation.attempt) in preempted:
                continue
            used[pod] += (part.to_ms - part.from_ms) * (-1 if part.milligpu < 0 else 1)
    wrong = [f"pod {pod} ran for {seconds:.3f} s and has no row" for pod, seconds in ran.items() if pod not in used and seconds > 0.002]
    wrong += [f"pod {pod} ran for {seconds:.3f} s and was charged for {used[pod] / 1000:.3f} s" for pod, seconds in ran.items()
              if pod in used and abs(used[pod] / 1000 - seconds) > off_s]
    return wrong


def check_silent(heard, place, since):
    """Who woke when another led lets nothing go. `heard`: (instant, place) of each effect that came to the edge."""
    late = [at - since for at, by in heard if by == place and at >= since]
    if not late:
        return []
    return [f"{len(late)} effects came from server {place}, the first {min(late):.3f} s after it woke, and another led"]


def check_digests(seen):
    """`seen` is what state_digest prints."""
    wrong = []
    if seen["checkpoint_seq"] == 0:
        wrong.append("there is no checkpoint to compare with")
    if seen["as_started"] != seen["all_facts"]:
        wrong.append(f"the checkpoint of {seen['checkpoint_seq']} and what follows give another state than all facts")
    return wrong


def pause_s(calls, old, begin, end):
    """How long nobody got anything acknowledged around a fault: from the last word of `old` to the first of another; the
    longest silence between `begin` and `end` where `old` went on. None: nothing was acknowledged then."""
    words = sorted((c.end, c.by) for c in calls if c.outcome == ACKNOWLEDGED and begin <= c.end <= end)
    first = next((at for at, by in words if by != old and at > begin), None)
    last = max((at for at, by in words if by == old and (first is None or at < first)), default=None)
    if first is not None and last is not None:
        return first - last
    return max((b[0] - a[0] for a, b in zip(words, words[1:])), default=None)


def gaps_s(rows, begin=-math.inf, end=math.inf):
    """From the last fact of each epoch to the first of the next, in which nobody committed; of that time."""
    return [b.at - a.at for a, b in itertools.pairwise(rows) if b.epoch != a.epoch and begin <= a.at and b.at <= end]


def percentile(values, part):
    """The value that this part of them does not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))]
