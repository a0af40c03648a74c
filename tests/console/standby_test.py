#!/usr/bin/env python3
"""The console on two replicas behind one address, on PostgreSQL: what a page says when its leader is killed or hangs,
and what each view says on a standby.

  standby_test.py SUBAKD SUBAK TREE SHOTS

Screenshots go to SHOTS. Exit code 77: a package is missing.
"""

import json
import os
import re
import shutil
import signal
import sys
import tempfile
import threading
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "server"))
TREE, SHOTS = sys.argv.pop(3), sys.argv.pop(3)
from pg_replica import OnPostgres, Process  # noqa: E402
from played import Browser, until  # noqa: E402
from relay import Relay  # noqa: E402

H100 = "NVIDIA-H100-80GB-HBM3"
VIEWS = ("/overview", "/queue", "/fleet", "/plan", "/teams", "/team?account=ml", "/team/month?account=ml", "/audit")
TIME = r"\d\d:\d\d:\d\d UTC"
LOST = rf"Connection lost at {TIME}\. The figures are old\. The page tries again\."
BACK = rf"The connection was lost at {TIME} and came back at {TIME}\."
OLD = r"Its figures are \d+ s old\."
# Keeps each text that the line had, since some stay for a moment only.
LISTEN = """
  const line = document.querySelector('.link-news');
  window.told = [line.innerText];
  new MutationObserver(() => window.told.push(line.innerText)).observe(line, {subtree: true, childList: true, characterData: true});
"""


def name_of(replica):
    return rf"\S+ process {replica.child.pid}"


class Alive:
    """Heartbeats of a leader that is dead: no standby takes the lead until stop()."""

    def __init__(self, server, database):
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.beat, args=(server, database))
        self.thread.start()

    def beat(self, server, database):
        while not self.over.wait(0.3):
            server.psql("UPDATE beat SET beats = beats + 1", database)

    def stop(self):
        self.over.set()
        self.thread.join()


class Stand(OnPostgres):
    """A leader, a standby, and a browser behind a relay to both."""

    serial = 0
    flags = ()  # of each replica
    words = ()  # of each command

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        os.makedirs(SHOTS, exist_ok=True)
        cls.browser = Browser("")
        cls.addClassCleanup(cls.browser.stop)
        with open(os.path.join(TREE, "tests", "console", "accessibility.js"), encoding="utf-8") as file:
            cls.rules = file.read()

    def setUp(self):
        Stand.serial += 1
        self.database = f"page{Stand.serial}"
        self.state = self.server.make_database(self.database)
        self.leader = self.replica()
        self.leader.until_it_leads()
        for words in (("cluster", "import", "--cluster", "demo", "--nodes", f"2x8:{H100}"),
                      ("cluster", "mode", "demo", "enforce", "--reason", "test"),
                      ("account", "set", "ml", "--shares", "2", "--reason", "test")):  # fmt: skip
            self.ok(self.leader, *words)
        self.submit(self.leader, "first", 16)
        self.waits = self.submit(self.leader, "second", 8)
        self.standby = self.replica()
        self.assertFalse(self.standby.leads())
        self.relay = Relay([self.leader.http, self.standby.http])
        self.addCleanup(self.relay.stop)
        self.browser.driver.get("about:blank")
        self.browser.messages()
        self.browser.look(1280, "light")

    def replica(self):
        replica = Process(self.state, *self.flags)
        self.addCleanup(self.end, replica)
        return replica

    @staticmethod
    def end(replica):
        if replica.child.poll() is None:
            replica.end(signal.SIGKILL)

    def ok(self, replica, *words):
        code, out, errors = replica.call(*self.words, *words)
        self.assertEqual(code, 0, errors)
        return out

    def submit(self, replica, name, gpus):
        """Returns the job's id."""
        job = ("--cluster", "demo", "--account", "ml", "--name", name, "--gpus", str(gpus))
        return json.loads(self.ok(replica, "--output", "json", "job", "submit", *job))["jobId"]

    def open(self, path):
        self.browser.url = self.relay.url
        self.browser.open(path)
        self.browser.js(LISTEN)

    def line(self):
        return self.browser.text(".link-news")

    def told(self, pattern):
        """Waits until the line has, or had, a text with the pattern."""
        until(pattern, lambda: re.search(pattern, "\n".join(self.browser.js("return window.told"))))

    def says(self, pattern):
        until(pattern, lambda: re.search(pattern, self.line()))

    def shoot(self, name):
        self.browser.shoot(os.path.join(SHOTS, f"{name}.png"))

    def check(self):
        """The page is the one that was opened, and fits people and screen."""
        self.assertNotEqual(self.browser.js("return window.told ?? []"), [], "the page was loaded again")
        self.assertEqual(self.browser.js(self.rules), [])
        self.assertLessEqual(self.browser.js("return document.documentElement.scrollWidth"), self.browser.js("return innerWidth"))

    def only_network_errors(self):
        told = self.browser.messages()
        self.assertEqual([line for line in told if "net::ERR_" not in line], [])

    def queued(self):
        found = re.search(r"(\d+)\s+queued", self.browser.text(".tiles"))
        return found and int(found.group(1))

    def rows(self):
        return self.browser.js("return [...document.querySelectorAll('.tbody .tr')].map((row) => row.innerText).join('\\n')")

    def kill(self, replica):
        """Kills a leader while no standby may take the lead. Returns what ends that."""
        alive = Alive(self.server, self.database)
        self.addCleanup(alive.stop)
        replica.end(signal.SIGKILL)
        return alive


class Page(Stand):
    def test_the_overview_goes_on_after_its_leader_was_killed(self):
        self.open("/overview")
        until("the figures are there", lambda: self.queued() == 1)
        self.assertEqual(self.line(), "")
        until("live", lambda: "live" in self.browser.text(".as-of"))

        self.relay.takes = False
        alive = self.kill(self.leader)
        self.says(LOST)
        self.assertEqual(self.queued(), 1, "the figures stay")
        until("the figures are old", lambda: "The figures below are old" in self.browser.text(".problem"))
        self.assertIn(", not current", self.browser.text(".as-of"))
        self.assertRegex(self.browser.text(".facts"), r"Age of the figures\s+not known")
        self.assertNotIn("live", self.browser.text(".as-of"))
        self.check()
        self.shoot("connection-lost")

        self.relay.takes = True
        self.says(BACK)
        self.says(rf"This replica does not lead; {name_of(self.leader)} does\.\s+{OLD}")
        until("the problem is over", lambda: self.browser.text(".problem") == "")
        self.check()
        self.shoot("standby")

        alive.stop()
        self.says(rf"Leader changed: {name_of(self.standby)} leads since {TIME}\.")
        until("it leads", lambda: "does not lead" not in self.line())
        self.assertNotRegex(self.line(), OLD)
        self.shoot("leader-changed")
        self.submit(self.standby, "third", 8)
        until("the figures go on", lambda: self.queued() == 2)
        until("live again", lambda: "live" in self.browser.text(".as-of"))
        self.assertIn(self.browser.js("return document.querySelector('.link-news [role=status]').innerText"), self.line())
        self.check()
        self.only_network_errors()

    def test_the_queue_goes_on_at_once_with_the_standby(self):
        self.open("/queue")
        until("the row is there", lambda: "second" in self.rows())
        self.assertEqual(self.line(), "")
        alive = self.kill(self.leader)
        self.told(BACK)
        self.says(rf"This replica does not lead; {name_of(self.leader)} does\.")
        self.assertIn("second", self.rows())
        alive.stop()
        self.says(rf"Leader changed: {name_of(self.standby)} leads since {TIME}\.")
        self.submit(self.standby, "third", 8)
        until("the row comes", lambda: "third" in self.rows())
        self.check()

        second = self.standby  # and once more, with a new replica
        third = self.replica()
        self.relay.ports = [second.http, third.http]
        self.kill(second).stop()
        self.says(rf"Leader changed: {name_of(third)} leads since {TIME}\.")
        self.submit(third, "fourth", 8)
        until("the row comes", lambda: "fourth" in self.rows())
        self.check()
        self.only_network_errors()

    def test_a_leader_that_hangs_counts_as_lost(self):
        self.open("/queue")
        until("the row is there", lambda: "second" in self.rows())
        os.kill(self.leader.child.pid, signal.SIGSTOP)
        self.relay.ports = [self.standby.http]  # its connections stay, and are dead
        self.told(LOST)
        self.told(BACK)
        self.says(rf"Leader changed: {name_of(self.standby)} leads since {TIME}\.")
        self.submit(self.standby, "third", 8)
        until("the row comes", lambda: "third" in self.rows())
        until("live again", lambda: "live" in self.browser.text(".as-of"))
        self.check()
        self.only_network_errors()

    def test_each_view_of_a_standby_says_so(self):
        self.relay.ports = [self.standby.http]
        for width, colours in ((1280, "light"), (390, "dark")):
            self.browser.look(width, colours)
            for path in (*VIEWS, f"/job/{self.waits}"):
                with self.subTest(path=path, width=width):
                    self.open(path)
                    self.says(rf"^This replica does not lead; {name_of(self.leader)} does\.\s+{OLD}$")
                    self.check()
                    self.assertEqual(self.browser.messages(), [])
            self.shoot(f"standby-job-{width}")

    def test_an_earlier_moment_is_the_same_on_a_standby(self):
        self.relay.ports = [self.standby.http]
        self.open("/overview?at=8")
        until("the moment is there", lambda: "fact 8" in self.browser.text(".as-of"))
        self.assertEqual(self.line(), "")
        self.relay.takes = False
        self.relay.cut()
        self.says(rf"^Connection lost at {TIME}\. The page tries again\.\s*$")
        self.relay.takes = True
        self.says(rf"^{BACK}\s*$")
        self.check()
        self.only_network_errors()

    def test_a_standby_without_its_database_says_how_old_its_figures_are(self):
        self.relay.ports = [self.standby.http]
        self.open("/teams")
        self.says(OLD)
        self.server.kill()
        try:
            until("the figures age", lambda: int(re.search(r"are (\d+) s old", self.line()).group(1)) > 8)
            shown_s = "return (Date.now() - Date.parse(document.querySelector('.as-of time').dateTime)) / 1000"
            self.assertGreater(self.browser.js(shown_s), 7, "the time of the view is that of its facts")
        finally:
            self.server.start()
        until("the figures are new", lambda: int(re.search(r"are (\d+) s old", self.line()).group(1)) < 8)
        self.check()


class SignedIn(Stand):
    """Sessions are in the memory of a replica, so a takeover ends them."""

    TOKENS = {"admin": "admin-secret-0123456", "viewer": "viewer-secret-012345"}

    def setUp(self):
        folder = tempfile.mkdtemp(prefix="subak_tokens_")
        self.addCleanup(shutil.rmtree, folder)
        tokens, token = (os.path.join(folder, name) for name in ("tokens", "token"))
        for path, lines in ((tokens, [f"{text} {name} {name}" for name, text in self.TOKENS.items()]),
                            (token, [self.TOKENS["admin"]])):  # fmt: skip
            with open(path, "w", encoding="utf-8", opener=lambda *at: os.open(*at, 0o600)) as file:
                file.writelines(f"{line}\n" for line in lines)
        self.flags = ("--tokens", tokens)
        self.words = ("--token-file", token)
        super().setUp()

    def asks_for_sign_in(self):
        until("the page asks for a sign-in", lambda: "Sign in" in self.browser.text(".problem"))

    def sign_in(self, name):
        """Follows the link of the page, and sends the form."""
        self.browser.js("document.querySelector('.problem a').click()")
        until("the form is there", lambda: self.browser.js("return document.querySelector('[name=token]') !== null"))
        self.assertEqual(self.browser.js(self.rules), [])
        self.browser.js("document.querySelector('[name=token]').focus()")
        self.browser.press(*self.TOKENS[name], "\n")
        until("the view is back", lambda: "second" in self.rows())
        self.assertTrue(self.browser.driver.current_url.endswith("/queue?account=ml"), self.browser.driver.current_url)

    def test_after_a_takeover_the_page_asks_for_a_sign_in(self):
        self.browser.driver.get(self.relay.url + "/queue?account=ml")
        self.asks_for_sign_in()
        self.assertNotIn("second", self.rows())
        self.sign_in("viewer")
        until("live", lambda: "live" in self.browser.text(".as-of"))
        self.browser.js(LISTEN)

        self.kill(self.leader).stop()
        self.asks_for_sign_in()
        self.assertIn("second", self.rows(), "the figures stay")
        self.assertIn("The figures below are old", self.browser.text(".problem"))
        self.check()
        self.shoot("sign-in-after-takeover")

        self.standby.until_it_leads()
        self.sign_in("viewer")
        self.submit(self.standby, "third", 8)
        until("the row comes", lambda: "third" in self.rows())
        self.assertEqual(self.browser.text(".problem"), "")


if __name__ == "__main__":
    unittest.main(verbosity=2)
