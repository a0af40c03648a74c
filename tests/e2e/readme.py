"""A newcomer's way: the lines of README.md's "Use it with Kubernetes", one by one in a shell, on a cluster of one node."""

import os
import re
import subprocess
import time

import objects as o
from case import condition, has_gate, phase

HERE = os.path.dirname(os.path.abspath(__file__))
STEP_S = 120
MARK = "--step-done--"


def lines_of_readme():
    with open(os.path.join(HERE, "..", "..", "README.md"), encoding="utf-8") as file:
        section = file.read().split("## Use it with Kubernetes\n")[1]
    return [line for line in re.search(r"```\n(.*?)```", section, re.S).group(1).splitlines() if line.strip()]


class Readme:
    """Without a service of the harness: the README starts its own, on the usual ports."""

    def __init__(self, world):
        self.world = world
        self.home = os.path.join(world.folder, "home")

    def prepare(self):
        plane, admin = self.world.plane, self.world.admin
        os.makedirs(os.path.join(self.home, "bin"), exist_ok=True)
        os.makedirs(os.path.join(self.home, ".kube"), exist_ok=True)
        os.makedirs(os.path.join(self.home, "build"), exist_ok=True)
        os.symlink(os.path.abspath(self.world.args.programs), os.path.join(self.home, "build", "bin"))
        os.symlink(os.path.join(plane.binaries, "kubectl"), os.path.join(self.home, "bin", "kubectl"))
        with open(plane.kubeconfig("admin"), encoding="utf-8") as theirs:
            with open(os.path.join(self.home, ".kube", "config"), "w", encoding="utf-8") as file:
                file.write(theirs.read())
        with open(os.path.join(self.home, "job.yaml"), "w", encoding="utf-8") as file:
            file.write("""apiVersion: batch/v1
kind: Job
metadata: {name: first}
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{name: main, image: example.com/train, resources: {limits: {nvidia.com/gpu: 8}}}]
""")
        admin.create(o.namespace("team-a"))
        admin.create(o.namespace("elsewhere"))
        admin.create(o.node("readme-0", "readme"))
        self.until(lambda: condition(admin.get("Node", "", "readme-0"), "Ready"), "a ready node")
        admin.create(o.pod("holder", "elsewhere", o.pod_spec(8, "readme"), notes={"run-seconds": 3600}))
        self.until(lambda: phase(admin.get("Pod", "elsewhere", "holder")) == "Running", "a pod that holds the node")

    def until(self, happened, what, seconds=STEP_S):
        end = time.monotonic() + seconds * self.world.patience
        while not happened():
            if time.monotonic() > end:
                raise AssertionError(f"readme: no {what}")
            time.sleep(0.5)

    def start_shell(self):
        environment = {"HOME": self.home, "PATH": os.path.join(self.home, "bin") + ":" + os.environ["PATH"]}
        self.shell = subprocess.Popen(["bash", "-O", "expand_aliases"], cwd=self.home, env=environment, text=True,
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                      start_new_session=True)  # fmt: skip

    def step(self, line):
        """(exit code, what it said)"""
        self.shell.stdin.write(f"{line}\necho {MARK} $?\n")
        self.shell.stdin.flush()
        said = []
        for text in self.shell.stdout:
            if text.startswith(MARK):
                return int(text.split()[1]), "".join(said)
            said.append(text)
        raise AssertionError(f"readme: the shell ended at {line}: {''.join(said)}")

    def run(self):
        """What is wrong."""
        self.prepare()
        self.start_shell()
        admin = self.world.admin
        try:
            for line in lines_of_readme():
                line = line.replace("10.0.0.5", "127.0.0.1")
                if line.rstrip().endswith("&"):
                    line = line.rstrip()[:-1] + "> subakd.log 2>&1 &"
                if line.startswith("subak status"):  # a person is slower than that
                    self.until(lambda: self.step("subak version && subak status")[0] == 0, "service that answers")
                if line.startswith("subak account set"):
                    self.until(lambda: "synced" in self.step("subak cluster list")[1], "cluster that is followed")
                if line.startswith("subak uninstall"):
                    admin.delete("Pod", "elsewhere", "holder")
                    self.until(lambda: condition(admin.get("Job", "team-a", "first"), "Complete"), "end of the first Job")
                code, said = self.step(line)
                if line.startswith("kubectl label"):
                    time.sleep(2)  # until the API server asks
                if line.startswith("kubectl describe"):
                    self.until(lambda: "Waiting" in self.step(line.split("#")[0])[1], "reason in kubectl describe")
                    code, said = self.step(line)
                    if not any(has_gate(p) for p in admin.list("Pod", "team-a")):
                        yield "the Job's pod has no gate"
                print(f"readme: $ {line}\n{said}", end="", flush=True)
                if code != 0:
                    yield f"{line}: exit {code}: {said}"
        finally:
            self.step("kill %1; wait %1")
            self.shell.stdin.close()
            self.shell.stdout.close()
            self.shell.wait()
        for namespace in ("team-a", "elsewhere"):
            admin.delete_all("Job", namespace)
            admin.delete_all("Pod", namespace)
        self.until(lambda: not admin.list("Pod"), "end of all pods")
