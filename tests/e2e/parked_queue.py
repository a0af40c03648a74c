"""A list of Jobs of several teams, and in which order Subak started them."""

import contextlib
import random
import sqlite3
from concurrent.futures import ThreadPoolExecutor

import objects as o

PODS = 8  # of a Job, one GPU each
# Powers of 2: (GPUs + g / 2) / share is never equal for two teams. So with the least gain of past use, which of two teams
# is first does not depend on how long pods ran.
SHARES = {"a": 1, "b": 2, "c": 4, "d": 8}
URGENT = 0.1  # so large a part of the Jobs has a high priority
TTL_S = 10  # a Job that has ended is deleted after that
ATTEMPT_STARTED = 13  # proto/subak/fact/v1/fact.proto


def varint(data, at):
    """(value, where the next field begins)"""
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def attempt_of(body):
    """(id of the job as the command line shows it, attempt) of a fact AttemptStarted"""
    number, at = varint(body, 1)
    attempt, _ = varint(body, at + 1)
    return f"{number >> 48}-{number & (1 << 48) - 1}", attempt


def starts_in(store):
    """[(number of the fact, id)] of all first attempts, in their order."""
    with contextlib.closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True)) as db:
        rows = db.execute("SELECT seq, body FROM facts WHERE kind = ? ORDER BY seq", (ATTEMPT_STARTED,))
        found = [(seq, *attempt_of(body)) for seq, body in rows]
    return [(seq, job) for seq, job, attempt in found if attempt == 1]


class Queue:
    """Jobs of four teams below one account. The same `seed`: the same list."""

    def __init__(self, world, account, pool, count, seed, run_s):
        self.world, self.account, self.pool = world, account, pool
        chance = random.Random(seed)
        teams = chance.choices(list(SHARES), list(SHARES.values()), k=count)
        self.jobs = [(f"j-{i:05}", team, chance.random() < 0.1) for i, team in enumerate(teams)]  # name, team, urgent
        self.run_s, self.more = run_s, {}
        self.namespaces = {team: f"{account}-{team}" for team in SHARES}

    def begin(self):
        service = self.world.service
        service.subak("account", "set", self.account, "--shares", "1", "--reason", "parked")
        for team, namespace in self.namespaces.items():
            self.world.admin.create(o.namespace(namespace, "true"))
            service.subak("account", "set", f"{self.account}.{team}", "--shares", str(SHARES[team]), "--namespaces",
                          namespace, "--reason", "parked")  # fmt: skip

    def manifest(self, job):
        name, team, urgent = job
        notes = {"run-seconds": self.run_s} | ({"subak.gpu/priority": "high"} if urgent else {})
        made = o.template(o.pod_spec(1, self.pool), None, notes)
        return o.job(name, self.namespaces[team], made, PODS, indexed=True, backoffLimit=0, ttlSecondsAfterFinished=TTL_S,
                     **self.more)  # fmt: skip

    def submit(self, after_each):
        """One after the other, so that the order of their creation is known."""
        for count, job in enumerate(self.jobs, 1):
            self.world.ana.create(self.manifest(job))
            after_each(count)

    def submit_by_team(self):
        """The teams beside one another, and the Jobs of each team one after the other."""

        def all_of(team):
            for job in self.jobs:
                if job[1] == team:
                    self.world.ana.create(self.manifest(job))

        with ThreadPoolExecutor(len(SHARES)) as pool:
            list(pool.map(all_of, SHARES))

    def rows(self):
        """Its jobs that have not ended, in Subak."""
        return self.world.service.json("job", "list", "--account", self.account, "--limit", "0").get("jobs", [])

    def order_of_team(self, team):
        """Who is urgent comes first, then who was submitted first."""
        mine = [job for job in self.jobs if job[1] == team]
        return [name for name, _, _ in sorted(mine, key=lambda job: not job[2])]

    def end(self):
        for namespace in self.namespaces.values():
            self.world.admin.delete_all("Job", namespace)
            self.world.admin.delete("Namespace", "", namespace)


def name_of(row):
    """The Job's name, of a job of Subak."""
    return row["spec"]["name"].split("/")[-1]
