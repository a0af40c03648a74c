"""A played cluster behind the development server, and a browser in front of it."""

import base64
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request

WAIT_S = 90  # of what must happen at all: other work may share the machine
OWN = "-"
START_S = 240  # of the start of a program

CONFIG = """
apiVersion: subak.gpu/v1
kind: Configuration
clusters:
  - name: demo
    mode: enforce
hold: 5m
patience: 10s
halfLife: 1h
reclaimMinRun: 5s
listenWebhook: 127.0.0.1:0
listenGrpc: 127.0.0.1:0
listenHttp: 127.0.0.1:0
"""


def skip(reason):
    print(f"skipped: {reason}; tools/setup installs what is missing")
    sys.exit(77)


try:
    import grpc  # noqa: F401
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.keys import Keys  # noqa: F401
except ImportError as missing:
    skip(str(missing))
for program in ("chromium", "chromedriver", "protoc"):
    if not shutil.which(program):
        skip(f"no program {program}")


def until(what, test, seconds=WAIT_S):
    """Waits until test() is true, and returns its value. A failure says `what` did not happen."""
    end = time.monotonic() + seconds
    while True:
        value = test()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"{what}: not within {seconds} s")
        time.sleep(0.1)


def bundled(tree, name):
    """The code of a file of console/src that gives its exports the name `name`."""
    source = os.path.join(tree, "console", "src", name + ".ts")
    command = ["esbuild", source, "--bundle", "--format=iife", f"--global-name={name}", "--target=es2021", "--charset=utf8"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


class Played:
    """subak-play with its service, and console/dev_server.py. All listen on free ports of loopback.
    `bundle`: the folder whose pages the development server shows; OWN: the service shows its own."""

    def __init__(self, play, service, cli, tree, bundle):
        self.cli = cli
        self.folder = tempfile.mkdtemp(prefix="subak-console-")
        self.processes = []
        config = os.path.join(self.folder, "play.yaml")
        with open(config, "w", encoding="utf-8") as file:
            file.write(CONFIG)
        self.log = os.path.join(self.folder, "log")
        state = os.path.join(self.folder, "state")
        server = os.path.join(tree, "console", "dev_server.py")
        try:
            addresses = r"console +(http://127\.0\.0\.1:\d+)/\s+gRPC +(127\.0\.0\.1:\d+)"
            self.url, self.grpc = self.start(addresses, play, "--service", service, config, state, "60")
            if bundle != OWN:
                where = ("--grpc", self.grpc, "--listen", "127.0.0.1:0", "--bundle", bundle)
                (self.url,) = self.start(r"(http://127\.0\.0\.1:\d+)/", sys.executable, server, *where)
        except BaseException:
            self.stop()
            raise

    def start(self, pattern, *command):
        """Starts a program, and returns what the pattern finds in the lines that it prints."""
        log = f"{self.log}{len(self.processes)}"
        with open(log, "w", encoding="utf-8") as out:
            process = subprocess.Popen(command, stdout=out, stderr=out, stdin=subprocess.DEVNULL)
        self.processes.append(process)
        end = time.monotonic() + START_S
        while True:
            with open(log, encoding="utf-8") as file:
                printed = file.read()
            found = re.search(pattern, printed)
            if found:
                return found.groups()
            if process.poll() is not None or time.monotonic() > end:
                raise AssertionError(f"{command[0]} does not start; it printed:\n{printed}")
            time.sleep(0.1)

    def call(self, method, request):
        """A call of the API as a browser makes it: the answer, and its sequence."""
        data = json.dumps(request).encode()
        call = urllib.request.Request(f"{self.url}/subak.v1.{method}", data, {"Content-Type": "application/json"})
        with urllib.request.urlopen(call, timeout=WAIT_S) as reply:
            return json.load(reply), int(reply.headers["subak-sequence"])

    def subak(self, *arguments):
        done = subprocess.run(
            [self.cli, "--server", self.grpc, *arguments], capture_output=True, text=True, timeout=WAIT_S, check=False
        )
        if done.returncode != 0:
            raise AssertionError(f"subak {' '.join(arguments)}: {done.stderr}")
        return done.stdout

    def stop(self):
        for process in reversed(self.processes):
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


class Browser:
    """Debian's Chromium without a window."""

    def __init__(self, url):
        self.url = url
        self.profile = tempfile.mkdtemp(prefix="subak-chromium-")
        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which("chromium")
        for argument in (
            "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
            "--disable-background-networking", "--no-first-run", f"--user-data-dir={self.profile}",
        ):  # fmt: skip
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(service=Service(shutil.which("chromedriver")), options=options)
        self.driver.set_script_timeout(WAIT_S)

    def look(self, width, colours, height=900):
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        features = [
            {"name": "prefers-color-scheme", "value": colours},
            {"name": "prefers-reduced-motion", "value": "reduce"},
        ]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})

    def open(self, path):
        """Opens a view, and waits until it has its figures."""
        self.driver.get(self.url + path)
        until(f"{path} is read", lambda: self.js("return document.querySelector('.as-of time') !== null"))
        time.sleep(0.4)  # canvases draw in the next frame

    def js(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def text(self, selector="main"):
        return self.js("return document.querySelector(arguments[0])?.innerText ?? ''", selector)

    def messages(self):
        """What the browser's console has told since the last call."""
        return [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] in ("WARNING", "SEVERE")]

    def press(self, *keys):
        webdriver.ActionChains(self.driver).send_keys(*keys).perform()

    def shoot(self, file):
        """A picture of the whole page, up to 2,000 pixels."""
        height = min(2000, self.js("return document.documentElement.scrollHeight"))
        width = self.js("return window.innerWidth")
        clip = {"x": 0, "y": 0, "width": width, "height": max(height, 600), "scale": 1}
        taken = self.driver.execute_cdp_cmd("Page.captureScreenshot", {"clip": clip, "captureBeyondViewport": True})
        with open(file, "wb") as out:
            out.write(base64.b64decode(taken["data"]))

    def stop(self):
        self.driver.quit()
        shutil.rmtree(self.profile, ignore_errors=True)
