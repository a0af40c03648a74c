"""Figures of one load: from the kubelets' log, the API server's audit log, and /proc. None asks the queue manager."""

import json
import os
import re
from collections import Counter, deque

from control_plane import resource_of
from service import time_of

TICKS = os.sysconf("SC_CLK_TCK")
SLICES = 8  # of the contended time
BUSIEST_S = 10


def quantile(values, part):
    """The value that so large a part of all does not exceed; 0 of none."""
    return sorted(values)[min(len(values) - 1, int(len(values) * part))] if values else 0.0


def weighted_quantile(pairs, part):
    """As quantile(), of (value, weight)."""
    left = sum(weight for _, weight in pairs) * part
    for value, weight in sorted(pairs):
        left -= weight
        if left <= 0:
            return value
    return 0.0


def job_of(pod):
    """The name of the Job of a row of the kubelets' log."""
    return re.sub(r"^(j-\d+)-.*", r"\1", pod["name"])


class Pods:
    """The pods of a load, from the kubelets' log, and when their Jobs were submitted."""

    def __init__(self, rows, load, submitted, began, gpus_of_node):
        """`rows`: KubeletLog's; `submitted`: {name of a Job: when the API server had it}."""
        self.load, self.submitted, self.began, self.gpus_of_node = load, submitted, began, gpus_of_node
        names = {job.name for job in load}
        self.of_job = {}
        for row in rows:
            name = job_of(row)
            if name in names and "started" in row and "finished" in row:
                self.of_job.setdefault(name, []).append(row)
        self.all = [pod for pods in self.of_job.values() for pod in pods]
        self.ended = max((pod["finished"]["at"] for pod in self.all), default=began)
        self.starts = {name: min(p["started"]["at"] for p in pods) for name, pods in self.of_job.items()}
        self.last_start = max(self.starts.values(), default=began)

    def seconds(self):
        return self.ended - self.began

    def admitted(self):
        """Jobs a second until the last is admitted, and in the busiest seconds. Admitted: its first pod is bound."""
        times = sorted(min(p["bound"]["at"] for p in pods) for pods in self.of_job.values())
        most, first = 0, 0
        for last, at in enumerate(times):
            while times[first] < at - BUSIEST_S:
                first += 1
            most = max(most, last - first + 1)
        return len(times) / max(times[-1] - self.began, 0.001), most / BUSIEST_S

    def idle_gpus(self):
        """(seconds, GPUs) from the end of a pod to the start of the next on its GPUs, of those that were free longest.
        Seconds before the next Job was submitted do not count."""
        events = [(p["finished"]["at"], 0, p) for p in self.all] + [(p["started"]["at"], 1, p) for p in self.all]
        free, found = {}, []
        for at, starts, pod in sorted(events, key=lambda e: e[:2]):
            queue = free.setdefault(pod["node"], deque([[None, self.gpus_of_node]]))
            if not starts:
                queue.append([at, pod["gpus"]])
                continue
            left = pod["gpus"]
            while left > 0 and queue:
                since, have = queue[0]
                taken = min(left, have)
                left -= taken
                queue[0][1] -= taken
                if queue[0][1] == 0:
                    queue.popleft()
                if since is not None:
                    found.append((max(0.0, at - max(since, self.submitted[job_of(pod)])), taken))
        return found

    def waits(self, chosen=lambda job: True):
        return [self.starts[job.name] - self.submitted[job.name] for job in self.load
                if chosen(job) and job.name in self.starts]  # fmt: skip

    def spread(self, level_of):
        """Gangs that had to be, and those that should be, within one group of nodes, and how many of them were."""
        found = Counter()
        for job in self.load:
            pods = self.of_job.get(job.name, [])
            if job.topology and pods:
                key, label = job.topology
                found[key] += 1
                found[key + " held"] += len({level_of(pod["node"], label) for pod in pods}) == 1
        return found

    def gang_spans(self):
        """Seconds from the start of a gang's first pod to that of its last."""
        return [max(p["started"]["at"] for p in pods) - min(p["started"]["at"] for p in pods)
                for pods in self.of_job.values() if len(pods) > 1]  # fmt: skip


class Shares:
    """Who used what, beside what each team was entitled to: its weight's part, and no more than it asks for."""

    def __init__(self, pods, teams, fleet_gpus):
        self.weights, self.fleet_gpus = {team.name: team.weight for team in teams}, fleet_gpus
        self.segments = []  # (from, to, used, demanded), each {team: GPUs}
        events = []
        for job in pods.load:
            rows = pods.of_job.get(job.name, [])
            events.append((pods.submitted[job.name], job.team, 0, job.pods * job.gpus))
            for row in rows:
                events.append((row["started"]["at"], job.team, row["gpus"], 0))
                events.append((row["finished"]["at"], job.team, -row["gpus"], -row["gpus"]))
        used, demanded, at = Counter(), Counter(), pods.began
        for when, team, more_used, more_demanded in sorted(events):
            if when > at:
                self.segments.append((at, when, dict(used), dict(demanded)))
                at = when
            used[team] += more_used
            demanded[team] += more_demanded

    def in_use(self, until=None):
        """The part of the fleet that pods used, in the mean over time."""
        end = until or float("inf")
        rows = [(min(b, end) - a, sum(used.values())) for a, b, used, _ in self.segments if a < end]
        return sum(s * gpus for s, gpus in rows) / max(sum(s for s, _ in rows), 1e-9) / self.fleet_gpus

    def entitled(self, demanded):
        """{team: GPUs}: shared by weights among the teams that want more (water filling)."""
        out, left, wants = {}, self.fleet_gpus, {t: d for t, d in demanded.items() if d > 0}
        while wants and left > 0:
            unit = left / sum(self.weights[t] for t in wants)
            small = {t: d for t, d in wants.items() if d <= unit * self.weights[t]}
            if not small:
                return out | {t: unit * self.weights[t] for t in wants}
            out |= small
            left -= sum(small.values())
            wants = {t: d for t, d in wants.items() if t not in small}
        return out

    def distance(self, used, demanded):
        """The part of the GPUs in use that is with teams beyond what they are entitled to."""
        entitled = self.entitled(demanded)
        whole, mine = sum(used.values()), sum(entitled.values())
        return sum(abs(used.get(t, 0) / whole - entitled.get(t, 0) / mine) for t in self.weights) / 2

    def contended(self):
        """The segments in which more GPUs were wanted than there are, and some were used."""
        return [s for s in self.segments if sum(s[3].values()) > self.fleet_gpus and sum(s[2].values()) > 0]

    def by_time(self):
        """(mean distance, [distance in each slice]) over the contended time."""
        rows = self.contended()
        if not rows:
            return 0.0, []
        first, last = rows[0][0], rows[-1][1]
        sums, seconds = [0.0] * SLICES, [0.0] * SLICES
        for a, b, used, demanded in rows:
            i = min(SLICES - 1, int((a - first) / (last - first) * SLICES))
            sums[i] += (b - a) * self.distance(used, demanded)
            seconds[i] += b - a
        return sum(sums) / sum(seconds), [s / max(t, 1e-9) for s, t in zip(sums, seconds)]

    def over_all(self):
        """The distance of the sums over the contended time: too little once and too much another time cancel out."""
        used, entitled = Counter(), Counter()
        for a, b, now, demanded in self.contended():
            for team, gpus in now.items():
                used[team] += gpus * (b - a)
            for team, gpus in self.entitled(demanded).items():
                entitled[team] += gpus * (b - a)
        whole, mine = max(sum(used.values()), 1e-9), max(sum(entitled.values()), 1e-9)
        return sum(abs(used[t] / whole - entitled[t] / mine) for t in self.weights) / 2

    def by_team(self):
        """{team: its part of the GPUs in use} while each team wants at least what it is entitled to."""
        whole = sum(self.weights.values())
        rows = [s for s in self.contended()
                if all(s[3].get(t, 0) >= self.fleet_gpus * w / whole for t, w in self.weights.items())]  # fmt: skip
        total = Counter()
        for a, b, used, _ in rows:
            for team, gpus in used.items():
                total[team] += gpus * (b - a)
        return {t: total[t] / max(sum(total.values()), 1e-9) for t in self.weights}, sum(b - a for a, b, *_ in rows)


def writes_since(audit_log, began, namespaces=None):
    """{user: {(verb, resource): writes}} of the audit log from then on; `namespaces`: only in these."""
    found = {}
    with open(audit_log, encoding="utf-8") as file:
        for line in file:
            if not line.endswith("\n"):
                break  # just being written
            entry = json.loads(line)
            if time_of(entry["stageTimestamp"]) < began:
                continue
            if namespaces and entry.get("objectRef", {}).get("namespace") not in namespaces:
                continue
            found.setdefault(entry["user"]["username"], Counter())[(entry["verb"], resource_of(entry))] += 1
    return found


class Meter:
    """CPU seconds and peak memory of processes, between start() and stop()."""

    def __init__(self, pids):
        self.pids = pids  # {name: pid}

    def start(self):
        self.before, self.machine = {name: cpu_s(pid) for name, pid in self.pids.items()}, machine_s()

    def stop(self):
        self.cpu = {name: cpu_s(pid) - self.before[name] for name, pid in self.pids.items()}
        self.peak = {name: peak_mib(pid) for name, pid in self.pids.items()}
        self.others = max(0.0, machine_s() - self.machine - sum(self.cpu.values()))
        return self


def cpu_s(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        words = file.read().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / TICKS


def peak_mib(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        return int(re.search(r"VmHWM:\s+(\d+)", file.read()).group(1)) / 1024


def machine_s():
    """CPU seconds of everything since the machine began."""
    with open("/proc/stat", encoding="utf-8") as file:
        words = [int(word) for word in file.readline().split()[1:9]]
    return (sum(words) - words[3] - words[4]) / TICKS
