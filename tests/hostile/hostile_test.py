#!/usr/bin/env python3
"""A hostile hour: eight clients that mean harm, each with what once hurt, while ordinary load goes on.

Usage: hostile_test.py PATH_TO_SUBAKD [SECONDS]     SUBAK_HOSTILE_SEED: other choices; printed

Judged: no ordinary review over 1 s and no ordinary call over 2 s (in a run shorter than ten minutes, which shares its
machine with other tests: over what an API server waits, 10 s); /readyz never wrong; memory level after ten minutes;
after a kill -9 everything acknowledged is there once; no GPU time from a clock that was set wrong for three seconds.
Needs Debian's python3-grpcio and python3-protobuf, and faketime for the clock.
"""

import multiprocessing
import os
import queue
import random
import signal
import statistics
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
sys.path.insert(0, HERE)
try:
    import service as s
except ImportError as missing:
    print(f"hostile_test: skipped: {missing}")
    sys.exit(77)

QUEUED = 10_000
TOKENS = 10_000
LEVEL_AFTER_S = 600
WRONG_CLOCK_S = 3
LONG_RUN_S = 600
MOST_S = {"reviews": 1, "calls": 2, "readyz": 2}  # of a long run
MOST_SHARED_S = 10  # of a short one
LEVEL = 1.1  # peak of the second half / peak of the first, once memory should be level
LEVEL_SLACK_MIB = 64
MIN_ROUNDS = 2  # of each hostile client: else it did nothing


def worker(kind, name, world, stop, out):
    sys.path.insert(0, world["protos"])
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    result = __import__(kind).ALL[name](world, stop)
    out.put(result)


def write_tokens(path, seed):
    chance = random.Random(seed)
    tokens = {role: chance.randbytes(16).hex() for role in ("token", "viewer_token", "team_token", "other_token")}
    lines = [
        f"{tokens['token']} admin ops",
        f"{tokens['viewer_token']} viewer eve",
        f"{tokens['team_token']} team-admin bio tim",
        f"{tokens['other_token']} team-admin chem tom",
    ]
    lines += [f"{chance.randbytes(16).hex()} viewer v{i}" for i in range(TOKENS - len(lines))]
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    os.chmod(path, 0o600)
    return tokens


class Judge:
    def __init__(self):
        self.failures = []

    def expect(self, truth, text):
        print(("ok    " if truth else "FAIL  ") + text, flush=True)
        if not truth:
            self.failures.append(text)


def fill(world):
    """Accounts, a fleet, and a queue that it cannot hold. Returns the acknowledged jobs by id."""
    from subak.v1 import account_service_pb2 as accounts
    from subak.v1 import cluster_service_pb2 as clusters
    from subak.v1 import job_service_pb2 as jobs

    api = s.Api(world["grpc"], world["token"])
    for path, namespaces in (("ml", ["team-a"]), ("bio", []), ("chem", [])):
        account = accounts.Account(path=path, shares=1, namespaces=namespaces)
        request = accounts.UpdateAccountRequest(account=account, reason="begin", allow_missing=True)
        api.call("AccountService", "UpdateAccount", request, accounts.EditAccountResponse)
    nodes = [
        clusters.NodeSpec(name=f"n{i}", product="NVIDIA-H100-80GB-HBM3", gpus=8, cpu_milli=64000, memory_bytes=1 << 40)
        for i in range(8)
    ]
    request = clusters.ImportNodesRequest(cluster="east", nodes=nodes, reason="begin")
    api.call("ClusterService", "ImportNodes", request, clusters.ImportNodesResponse)
    kept = {}
    for first in range(0, QUEUED, 500):
        batch = jobs.BatchCreateJobsRequest()
        for number in range(first, first + 500):
            job = batch.requests.add(request_id=f"fill-{number}").job
            job.cluster, job.account, job.user = "east", ("ml", "bio", "chem")[number % 3], f"u{number % 50}"
            job.name = f"fill-{number}"
            group = job.request.groups.add(count=2)
            group.shape.kind, group.shape.gpus = 1, 8
        answer = api.call("JobService", "BatchCreateJobs", batch, jobs.BatchCreateJobsResponse)
        for request, result in zip(batch.requests, answer.results):
            kept[result.job.job_id] = request.job.name
    assert len(kept) == QUEUED, len(kept)
    return kept


def all_jobs(world):
    """Every job that the service knows, by id; each id must come once."""
    from subak.v1 import job_service_pb2 as jobs

    api, found, token = s.Api(world["grpc"], world["token"]), {}, ""
    while True:
        request = jobs.ListJobsRequest(page_size=10_000, page_token=token)
        page = api.call("JobService", "ListJobs", request, jobs.ListJobsResponse, s.DEADLINE_S)
        for job in page.jobs:
            assert job.id not in found, f"{job.id} twice"
            found[job.id] = job
        token = page.next_page_token
        if not token:
            return found


def watch(service, seconds, judge):
    """Lets the time pass; samples memory and sets the clock wrong for a moment. Returns [(s, MiB)]."""
    samples, begin, clock = [], time.monotonic(), "+0"
    wrong_from = min(seconds / 3, 60)
    while (at := time.monotonic() - begin) < seconds:
        want = "+400d" if wrong_from <= at < wrong_from + WRONG_CLOCK_S else "+0"
        if want != clock:
            service.set_clock(want)
            clock = want
        if service.child.poll() is not None:
            judge.expect(False, f"the service ended with {service.child.returncode}: {service.tail()}")
            break
        samples.append((at, service.resident_mib()))
        time.sleep(1)
    service.set_clock("+0")
    return samples


def judge_memory(samples, seconds, judge):
    peak = max(m for _, m in samples)
    print(f"      memory: {samples[0][1]:.0f} MiB at first, {peak:.0f} at most, {samples[-1][1]:.0f} at the end")
    after = [(t, m) for t, m in samples if t >= LEVEL_AFTER_S]
    if seconds < 2 * LEVEL_AFTER_S:
        return
    middle = (after[0][0] + after[-1][0]) / 2
    early = max(m for t, m in after if t < middle)
    late = max(m for t, m in after if t >= middle)
    judge.expect(late <= LEVEL * early + LEVEL_SLACK_MIB, f"memory level: peak {early:.0f} MiB, then {late:.0f} MiB")


def judge_ordinary(results, seconds, judge):
    for result in results:
        most = MOST_S[result["name"]] if seconds >= LONG_RUN_S else MOST_SHARED_S
        took = sorted(result["took_s"]) or [0]
        late = sum(t > most for t in took)
        p99 = took[min(len(took) - 1, int(len(took) * 0.99))]
        text = f"{len(took)} {result['name']}: median {statistics.median(took) * 1000:.0f} ms, 99 % {p99 * 1000:.0f} ms, most {took[-1]:.2f} s"
        judge.expect(late == 0 and len(took) > 1, f"{text}; {late} over {most} s")
        judge.expect(not result["wrong"], f"{result['name']}: {len(result['wrong'])} went wrong {result['wrong'][:3]}")


def judge_hostile(results, judge):
    for result in results:
        judge.expect(
            result["rounds"] >= MIN_ROUNDS and not result["wrong"],
            f"{result['name']}: {result['rounds']} rounds {result['answers']} {result['wrong'] or ''}",
        )


def judge_kept(world, kept, cancelled, begun_s, judge):
    from subak.v1 import job_service_pb2 as jobs
    from subak.v1 import usage_service_pb2 as usage

    found = all_jobs(world)
    lost = [job for job, name in kept.items() if job not in found or found[job].spec.name != name]
    judge.expect(not lost, f"{len(kept)} jobs acknowledged, {len(lost)} lost {lost[:5]}")
    undone = [job for job in cancelled if job in found and found[job].state != jobs.JOB_STATE_DONE]
    judge.expect(not undone, f"{len(cancelled)} jobs cancelled, {len(undone)} alive {undone[:5]}")
    numbered = ("fill-", "ordinary-", "ids-")  # each of these names is submitted once
    names = [job.spec.name for job in found.values() if job.spec.name.startswith(numbered)]
    twice = len(names) - len(set(names))
    judge.expect(twice == 0, f"{len(names)} jobs known, {twice} twice")
    api = s.Api(world["grpc"], world["token"])
    books = api.call("UsageService", "VerifyUsage", usage.VerifyUsageRequest(), usage.VerifyUsageResponse, s.DEADLINE_S)
    clean = not books.differences and not books.drift.gpu_seconds and not books.residual.gpu_seconds
    judge.expect(clean, "books: drift 0, residual 0")
    report = api.call("UsageService", "ReportUsage", usage.ReportUsageRequest(), usage.ReportUsageResponse, s.DEADLINE_S)
    most = 64 * (time.monotonic() - begun_s + 300)
    spent = report.total.gpu_seconds
    judge.expect(spent <= most, f"{spent / 3600:.1f} GPU-hours charged, at most {most / 3600:.1f} can have been used")


def hold_the_hour(service, world, seconds, judge):
    context = multiprocessing.get_context("spawn")
    stop, out = context.Event(), context.Queue()
    begun_s = time.monotonic()
    kept, cancelled = fill(world), {}
    import clients
    import ordinary

    people = [("ordinary", name) for name in ordinary.ALL] + [("clients", name) for name in clients.ALL]
    processes = [
        context.Process(target=worker, args=(kind, name, world, stop, out), name=name) for kind, name in people
    ]
    for process in processes:
        process.start()
    samples = watch(service, seconds, judge)
    stop.set()
    results = []
    try:
        while len(results) < len(processes):
            results.append(out.get(timeout=2 * s.DEADLINE_S))
    except queue.Empty:
        judge.expect(False, f"only {len(results)} of {len(processes)} clients came back")
    for process in processes:
        process.join(timeout=10)
        if process.is_alive():
            process.kill()
    for result in results:
        kept.update(result.get("kept", {}))
        cancelled.update(result.get("cancelled", {}))
    judge_ordinary([r for r in results if "took_s" in r], seconds, judge)
    judge_hostile([r for r in results if "rounds" in r], judge)
    judge_memory(samples, seconds, judge)
    if service.child.poll() is None:
        service.end(signal.SIGKILL)
    service.start()
    world.update(service.ports)
    judge_kept(world, kept, cancelled, begun_s, judge)


def main():
    if "--list" in sys.argv:
        import clients

        print("hostile.\n  " + "\n  ".join(clients.ALL))
        return 0
    binary = os.path.abspath(sys.argv[1])
    seconds = int(sys.argv[2]) if len(sys.argv) > 2 else 45
    seed = int(os.environ.get("SUBAK_HOSTILE_SEED", "20261122"))
    print(f"hostile: {seconds} s, SUBAK_HOSTILE_SEED={seed}", flush=True)
    judge, protos = Judge(), s.compile_protos(ROOT)
    kept = os.environ.get("SUBAK_HOSTILE_KEEP")  # a folder for the state and the log, to look at them later
    folder = kept or s.folder_of_this_process("subak-hostile-")
    tokens = os.path.join(folder, "tokens")
    world = {"protos": protos, "seed": seed, **write_tokens(tokens, seed)}
    flags = ["--tokens", tokens, "--cluster", "east:enforce", "--cluster", "west:enforce"]
    service = s.Service(binary, folder, flags)
    judge.expect(service.faketime() is not None, "libfaketime is there to set the clock wrong")
    try:
        service.start()
        world.update(service.ports, ca=service.ca)
        hold_the_hour(service, world, seconds, judge)
    finally:
        service.end()
    if judge.failures:
        where = f"are in {kept}" if kept else "are gone; SUBAK_HOSTILE_KEEP=FOLDER keeps them"
        print(f"hostile: {len(judge.failures)} failed; the state and the log {where}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
