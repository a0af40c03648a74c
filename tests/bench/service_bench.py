#!/usr/bin/env python3
"""The real service beside what the same machine can do at best: admission, submission, restart, memory.

Usage: service_bench.py BIN_DIR WORK_DIR [PART...]     admission, submissions, viewers, restart; or postgres

Prints one JSON row a line (tests/bench/row.h); details go to stderr. Everything that it writes is below
WORK_DIR. A part that fails does not keep the others from running; the exit is 1 then. SUBAK_BENCH_JOBS and
SUBAK_BENCH_LEDGER (990,000 and 10,000,000) set the size of the restart, SUBAK_BENCH_STALL_S (600) how many
seconds reads are watched after it.
"""

import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
import traceback
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "server"))
from pg_server import Server

TICK_S = 1 / os.sysconf("SC_CLK_TCK")
PORTS = ("--listen-webhook", "127.0.0.1:0", "--listen-grpc", "127.0.0.1:0", "--listen-http", "127.0.0.1:0")
REVIEW_BYTES = 12_300
CONNECTIONS = 16
VIEWERS = 200
START_S = 600
CONFIG = """apiVersion: subak.gpu/v1
kind: Configuration
clusters:
  - name: bench
    mode: enforce
"""



def say(text):
    print(text, file=sys.stderr, flush=True)


def row(name, value, unit, limit, ratio, what):
    print(json.dumps({"name": name, "value": value, "unit": unit, "limit": limit, "ratio": ratio,
                      "what_the_limit_is": what}), flush=True)


def cpu_s(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) * TICK_S


def ended_cpu_s():
    """Of the children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def rss_bytes(pid):
    with open(f"/proc/{pid}/statm", encoding="ascii") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def run_json(*command):
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


class Service:
    def __init__(self, bench, state, database=None, flags=()):
        """`state`: a folder of its own, with the store unless that is a database, whose address is given then."""
        os.makedirs(state, exist_ok=True)
        store = ["--state", os.path.join(state, "subak.db")]
        if database:
            store = ["--state", database, "--database-durability", "local"]
        config = os.path.join(state, "subak.yaml")
        with open(config, "w", encoding="utf-8") as f:
            f.write(CONFIG)
        begin = time.monotonic()
        with open(os.path.join(state, "log"), "a", encoding="utf-8") as log:
            self.child = bench.start(
                [bench.tool("subakd"), "--config", config, *store, *PORTS, *flags], stderr=log, cwd=state)
        # In another folder an earlier service may have noted what its database had, and this one would wait for that.
        given_up = threading.Timer(START_S, self.child.kill)
        given_up.start()
        self.line = self.child.stdout.readline()
        given_up.cancel()
        self.ready_s = time.monotonic() - begin
        if not self.line.startswith("subakd ready"):
            raise SystemExit(f"service_bench: subakd did not start, see {state}/log")
        self.ports = dict(re.findall(r"(\w+)=([\d.]+:\d+)", self.line))
        self.state = state
        self.pid = self.child.pid

    def metrics(self):
        with urllib.request.urlopen(f"http://{self.ports['http']}/metrics", timeout=60) as reply:
            return reply.read().decode()

    def end(self, how=signal.SIGTERM):
        self.child.send_signal(how)
        self.child.wait(timeout=300)


class Pages(threading.Thread):
    """Fetches a page of the HTTP port while the load runs, with a pause after each answer. `call`: a POST of {}, as a
    browser calls the API; else a GET."""

    def __init__(self, load, service, path, pause_s, call=False):
        super().__init__(daemon=True)
        self.load, self.path, self.pause_s = load, path, pause_s
        body, headers = (b"{}", {"Content-Type": "application/json"}) if call else (None, {})
        self.page = urllib.request.Request(f"http://{service.ports['http']}{path}", body, headers)
        self.failed, self.ms = False, []
        self.start()

    def run(self):
        while not self.failed and self.load.poll() is None:
            begin = time.monotonic()
            try:
                with urllib.request.urlopen(self.page, timeout=60) as reply:
                    reply.read()
            except OSError as error:
                say(f"{self.path}: {error}")
                self.failed = True
            self.ms.append((time.monotonic() - begin) * 1000)
            over = time.monotonic() + self.pause_s
            while self.load.poll() is None and time.monotonic() < over:
                time.sleep(0.1)

    def waits(self):
        ms = sorted(self.ms)
        return {"count": len(ms), "p99_ms": ms[len(ms) * 99 // 100], "longest_ms": ms[-1]}


def histogram(page, name):
    """Count, sum and cumulative buckets [(bound, count)] of one metric without labels."""
    buckets = [(float(b), float(v)) for b, v in re.findall(rf'^{name}_bucket{{le="([^"]+)"}} (\S+)$', page, re.M)]
    count = float(re.search(rf"^{name}_count (\S+)$", page, re.M).group(1))
    total = float(re.search(rf"^{name}_sum (\S+)$", page, re.M).group(1))
    return count, total, buckets


def quantile_bound(before, after, q):
    """The bound of the bucket that holds quantile q of what came between two readings: never too low."""
    old = dict(before[2])
    count = after[0] - before[0]
    return next(b for b, v in after[2] if v - old.get(b, 0) >= q * count)


class Bench:
    def __init__(self, bin_dir, work):
        self.bin, self.work = os.path.abspath(bin_dir), os.path.abspath(work)
        self.children = []
        shutil.rmtree(self.work, ignore_errors=True)
        os.makedirs(self.work)

    def end(self):
        for child in self.children:
            if child.poll() is None:
                child.kill()
                child.wait()
        shutil.rmtree(self.work, ignore_errors=True)

    def start(self, command, **streams):
        """A child that ends with the benchmark, whatever happens to that."""
        self.children.append(subprocess.Popen(command, text=True, stdout=subprocess.PIPE, **streams))
        return self.children[-1]

    def tool(self, name):
        return os.path.join(self.bin, name)

    def state(self, name):
        return os.path.join(self.work, name)

    def subak(self, service, *arguments):
        subprocess.run([self.tool("subak"), "--server", service.ports["grpc"], *arguments], check=True,
                       capture_output=True, text=True)

    def set_up(self, service):
        self.subak(service, "account", "set", "bench", "--shares", "1", "--namespaces", "bench", "--reason", "bench")

    # --- admission -------------------------------------------------------------------------------

    def review(self):
        """A pod of the size that clusters send: long environment, managedFields."""
        container = {"name": "train", "image": "registry.example/train:1",
                     "resources": {"limits": {"nvidia.com/gpu": "8"}, "requests": {"nvidia.com/gpu": "8"}},
                     "env": []}
        pod = {"apiVersion": "v1", "kind": "Pod",
               "metadata": {"name": "train-0", "namespace": "bench", "labels": {"subak.gpu/account": "bench"},
                            "managedFields": []},
               "spec": {"containers": [container]}}
        review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
                  "request": {"uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
                              "kind": {"group": "", "version": "v1", "kind": "Pod"},
                              "resource": {"group": "", "version": "v1", "resource": "pods"},
                              "operation": "CREATE", "namespace": "bench", "userInfo": {"username": "ana"},
                              "object": pod}}
        n = 0
        while len(json.dumps(review)) < REVIEW_BYTES:
            container["env"].append({"name": f"VARIABLE_{n}", "value": "x" * 40})
            pod["metadata"]["managedFields"].append(
                {"manager": "kube-controller-manager", "operation": "Update", "apiVersion": "v1",
                 "fieldsV1": {"f:metadata": {"f:labels": {".": {}, f"f:label-{n}": {}}}}})
            n += 1
        return json.dumps(review)

    def wrk(self, url, script, seconds):
        out = subprocess.run(["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds}s", "-s", script, url], check=True,
                             capture_output=True, text=True).stdout
        if "Non-2xx" in out or "Socket errors" in out:
            raise SystemExit(f"service_bench: wrk met errors:\n{out}")
        return int(re.search(r"(\d+) requests in", out).group(1))

    def cost_us(self, pid, url, script):
        self.wrk(url, script, 1)  # handshakes and first touches
        before = cpu_s(pid)
        requests = self.wrk(url, script, 8)
        return (cpu_s(pid) - before) / requests * 1e6, requests / 8

    def admission(self):
        service = Service(self, self.state("admission"))
        self.set_up(service)
        body = os.path.join(self.work, "review.json")
        with open(body, "w", encoding="utf-8") as f:
            f.write(self.review())
        script = os.path.join(self.work, "post.lua")
        with open(script, "w", encoding="utf-8") as f:
            f.write(f'wrk.method = "POST"\nwrk.body = io.open("{body}"):read("*a")\n'
                    'wrk.headers["Content-Type"] = "application/json"\n')
        url = f"https://{service.ports['webhook']}/mutate/bench"
        answer = subprocess.run(["curl", "-sS", "--insecure", "--data-binary", f"@{body}", "-H",
                                 "Content-Type: application/json", url], check=True, capture_output=True).stdout
        if b'"patch"' not in answer:
            raise SystemExit(f"service_bench: the review was not patched: {answer.decode()}")
        before = histogram(service.metrics(), "subak_admission_seconds")
        ours_us, ours_per_s = self.cost_us(service.pid, url, script)
        after = histogram(service.metrics(), "subak_admission_seconds")
        p99_us = quantile_bound(before, after, 0.99) * 1e6
        tls = os.path.join(service.state, "tls")
        certificate, key = os.path.join(tls, "tls.crt"), os.path.join(tls, "tls.key")
        service.end()
        static = self.start([self.tool("tls_static"), certificate, key, str(len(answer))])
        port = static.stdout.readline().strip()
        bare_us, bare_per_s = self.cost_us(static.pid, f"https://127.0.0.1:{port}/", script)
        static.kill()
        static.wait()
        say(f"admission: {ours_per_s:.0f}/s at {ours_us:.1f} us of CPU; a static reply {bare_per_s:.0f}/s at "
            f"{bare_us:.1f} us; answer {len(answer)} bytes; mean in the handler "
            f"{(after[1] - before[1]) / (after[0] - before[0]) * 1e6:.1f} us")
        row("admission_ratio", ours_us, "us of CPU per request", bare_us, bare_us / ours_us,
            "a TLS server that reads the same body and sends a fixed answer of our size")
        row("admission_handler_p99_us", p99_us, "us", None, None, None)

    # --- submission ------------------------------------------------------------------------------

    def load(self, pid, address, form, jobs, first):
        """Jobs a second; and the processor time for one, in microseconds, of the server and of the clients."""
        before, clients = cpu_s(pid), ended_cpu_s()
        done = run_json(self.tool("submit_load"), address, "8", *map(str, form), str(jobs), str(first))
        if done["jobs"] != jobs:
            raise SystemExit(f"service_bench: {done['jobs']} of {jobs} jobs were acknowledged")
        return jobs / done["seconds"], (cpu_s(pid) - before) / jobs * 1e6, (ended_cpu_s() - clients) / jobs * 1e6

    def bare(self, form, jobs):
        server = self.start([self.tool("bare_grpc")])
        address = "127.0.0.1:" + server.stdout.readline().strip()
        self.load(server.pid, address, form, jobs // 20, 0)
        done = self.load(server.pid, address, form, jobs, jobs)
        server.kill()
        server.wait()
        return done

    def raw_rows_per_s(self, store, a_commit, rows):
        copy = os.path.join(self.work, "raw.db")
        raw = run_json(self.tool("store_raw"), "insert", store, copy, str(max(1, round(a_commit))), str(rows))
        os.remove(copy)
        return raw["rows"] / raw["seconds"]

    def submit(self, name, form, jobs, database=None):
        """`form`: calls in flight on each of 8 connections, and jobs a call. Returns the bytes of memory a job, and how
        many facts a second were committed, so many at a time."""
        bare = [self.bare(form, jobs)]  # before and after, as other work on the machine comes and goes
        service = Service(self, self.state(name), database)
        self.set_up(service)
        self.load(service.pid, service.ports["grpc"], form, jobs // 20, 0)
        before_bytes, before = rss_bytes(service.pid), histogram(service.metrics(), "subak_store_batch_facts")
        ours, ours_us, ours_clients_us = self.load(service.pid, service.ports["grpc"], form, jobs, jobs)
        after = histogram(service.metrics(), "subak_store_batch_facts")
        time.sleep(2)  # the reading side catches up
        job_bytes = (rss_bytes(service.pid) - before_bytes) / jobs
        service.end()
        bare.append(self.bare(form, jobs))
        best, best_us, best_clients_us = max(bare)
        facts, commits = after[1] - before[1], after[0] - before[0]
        say(f"{name}: {ours:.0f} jobs/s at {ours_us:.1f} us of CPU and {ours_clients_us:.1f} of the clients, "
            f"{facts / commits:.0f} facts a commit ({facts / jobs:.2f} a job); a bare server {best:.0f}/s at "
            f"{best_us:.1f} us and {best_clients_us:.1f}")
        row(f"{name}_ratio", ours, "jobs/s", best, ours / best,
            "a gRPC server that reads the same calls of the same clients and answers with nothing done")
        return job_bytes, facts / jobs * ours, facts / commits

    def submit_to_file(self, name, form, jobs):
        job_bytes, _, a_commit = self.submit(name, form, jobs)
        raw = self.raw_rows_per_s(os.path.join(self.state(name), "subak.db"), a_commit, jobs)
        row(f"{name}_raw_rows_per_s", raw, "rows/s", None, None, None)
        return job_bytes

    def submissions(self):
        self.submit_to_file("submit", (64, 1), 200_000)
        row("service_job_bytes", self.submit_to_file("submit_batch", (4, 100), 800_000), "bytes", None, None, None)

    def viewers(self):
        """Submissions while 200 browsers show the overview, beside submissions without them, in turns."""
        tokens, jobs = os.path.join(self.work, "tokens"), 60_000
        with open(tokens, "w", encoding="utf-8") as f:
            f.writelines(f"viewer-secret-{i:06} viewer viewer-{i}\n" for i in range(VIEWERS))
        sock = os.path.join(self.work, "sock")  # submits without a token
        service = Service(self, self.state("viewers"), flags=("--tokens", tokens, "--grpc-socket", sock))
        service.ports["grpc"] = "unix:" + sock
        self.set_up(service)
        self.load(service.pid, service.ports["grpc"], (64, 1), jobs // 20, 0)
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "viewers_load.py")
        rates, passes, first = {0: [], VIEWERS: []}, {0: [], VIEWERS: []}, jobs
        for viewers in (0, VIEWERS, 0, VIEWERS, 0):
            load = self.start([sys.executable, script, service.ports["http"], str(viewers)], stdin=subprocess.PIPE)
            time.sleep(2)
            before = histogram(service.metrics(), "subak_scheduling_pass_seconds")
            rate, us, clients_us = self.load(service.pid, service.ports["grpc"], (64, 1), jobs, first)
            after = histogram(service.metrics(), "subak_scheduling_pass_seconds")
            seen = json.loads(load.communicate("", timeout=60)[0])
            first += jobs
            rates[viewers].append(rate)
            passes[viewers].append((after[1] - before[1]) / max(1, after[0] - before[0]) * 1e6)
            say(f"viewers: {viewers}: {rate:.0f} jobs/s at {us:.1f} us of CPU and {clients_us:.1f} of the clients, mean "
                f"pass {passes[viewers][-1]:.0f} us; {seen}")
            if viewers and (seen["ended"] or not seen["answers"]):
                raise SystemExit("service_bench: a viewer lost its stream, or saw nothing")
        service.end()
        # The queue grows from run to run, so each run with browsers is compared with those before and after it.
        without = [(before + after) / 2 for before, after in zip(rates[0], rates[0][1:])]
        with_them, without = (sum(each) / len(each) for each in (rates[VIEWERS], without))
        row("submit_viewers_ratio", with_them, "jobs/s", without, with_them / without,
            f"the same service and load without the {VIEWERS} browsers")

    def postgres(self):
        """Submissions with the state in a database, whose files are where those of the others are."""
        jobs = 100_000
        server = Server(folder=self.work)
        try:
            database = server.make_database("bench")
            _, per_s, a_commit = self.submit("pg_submit", (64, 1), jobs, database)
            raw = run_json(self.tool("pg_raw"), database, str(max(1, round(a_commit))), str(jobs))
            row("pg_rows_ratio", per_s, "facts/s", raw["rows"] / raw["seconds"], per_s / (raw["rows"] / raw["seconds"]),
                "bare statements with the same rows, as many at a time, one after another, to the same server")
        finally:
            server.end()

    # --- restart ---------------------------------------------------------------------------------

    def restart(self):
        jobs = os.environ.get("SUBAK_BENCH_JOBS", "990000")
        rows = os.environ.get("SUBAK_BENCH_LEDGER", "10000000")
        state = self.state("restart")
        os.makedirs(state)
        store = os.path.join(state, "subak.db")
        begin = time.monotonic()
        subprocess.run([self.tool("make_store"), store, jobs, rows, str(int(time.time() * 1000))], check=True)
        say(f"store of {jobs} queued jobs and {rows} ledger rows: {os.path.getsize(store) / 1e9:.2f} GB in "
            f"{time.monotonic() - begin:.0f} s")
        service = Service(self, state)
        load = self.start([self.tool("submit_load"), service.ports["grpc"], "2", "4", "20", "9000", "5000000"])
        time.sleep(0.2)
        service.end(signal.SIGKILL)
        acknowledged = json.loads(load.communicate(timeout=60)[0])["jobs"]
        raw = run_json(self.tool("store_raw"), "read", store)  # so that all that follows finds the file in memory
        bare = run_json(self.tool("read_store"), store)
        service = Service(self, state)
        ready_s, ready_cpu_s = service.ready_s, cpu_s(service.pid)
        say(f"restart: ready after {ready_s:.2f} s ({ready_cpu_s:.2f} of CPU) with {acknowledged} jobs acknowledged "
            f"before the kill; its {bare['rows']} rows read and decoded in {bare['seconds']:.2f} s "
            f"({bare['cpu_seconds']:.2f}), read raw in {raw['seconds']:.2f} s")
        row("restart_1m_s", ready_s, "s", None, None, None)
        row("restart_ratio", ready_s, "s", bare["seconds"], bare["seconds"] / ready_s,
            "reading and decoding once, on one thread, all that the start reads")
        self.read_stall(service)
        service.end()

    def read_stall(self, service):
        """The longest wait of a read of one job, from ready on. Meanwhile what a cluster does anyway: a scrape of the
        metrics every 15 s, the console's page every 5 s, a page of the queue and a submission now and then."""
        seconds = os.environ.get("SUBAK_BENCH_STALL_S", "600")
        load = self.start([self.tool("read_stall"), service.ports["grpc"], seconds])
        pages = [Pages(load, service, "/metrics", 15),
                 Pages(load, service, "/subak.v1.AccountService/ListShares", 5, call=True)]
        out, _ = load.communicate(timeout=float(seconds) + 300)
        for page in pages:
            page.join()
        if load.returncode != 0 or any(page.failed for page in pages):
            raise SystemExit("service_bench: a read was refused or had no answer")
        kinds = json.loads(out)
        for kind, waits in [*kinds.items(), *((page.path, page.waits()) for page in pages)]:
            say(f"read_stall: {kind}: {waits['count']} in {seconds} s, p99 {waits['p99_ms']:.1f} ms, "
                f"longest {waits['longest_ms']:.1f} ms")
        row("read_stall_ms", kinds["job"]["longest_ms"], "ms", None, None, None)


def main():
    failed = False
    for part in sys.argv[3:] or ["admission", "submissions", "viewers", "restart"]:
        bench = Bench(sys.argv[1], sys.argv[2])
        try:
            getattr(bench, part)()
        except (Exception, SystemExit):  # pylint: disable=broad-except
            say(f"service_bench: {part} failed")
            traceback.print_exc()
            failed = True
        finally:
            bench.end()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
