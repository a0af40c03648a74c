#!/usr/bin/env python3
"""The console at an earlier moment, and the map of single GPUs, on a real service.

  moment_test.py SUBAK_PLAY SUBAKD SUBAK TREE PAGES
"""

import json
import os
import re
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from played import Browser, Keys, Played, until  # noqa: E402

PLAY, SERVICE, CLI, TREE, PAGES = sys.argv[1:6]
del sys.argv[1:6]

LEAST_FACTS = 300
MOST_ELEMENTS = 3000
# The states of the API, in the words of the page.
WORDS = {"running": "running", "held": "starting", "reserved": "reserved", "kept": "kept for gangs", "free": "free",
         "drained": "drained", "unfit": "unfit", "foreign": "not admitted by Subak"}  # fmt: skip
MARKS = {"#": "running", "+": "held", "r": "reserved", "k": "kept", ".": "free", "d": "drained", "x": "unfit", "f": "foreign"}


class Moments(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.played = Played(PLAY, SERVICE, CLI, TREE, PAGES)
        cls.addClassCleanup(cls.played.stop)
        cls.browser = Browser(cls.played.url)
        cls.addClassCleanup(cls.browser.stop)
        until(f"there are {LEAST_FACTS} facts", lambda: cls.sequence() >= LEAST_FACTS, 400)
        cls.fact = cls.sequence() - 20
        cls.browser.look(1280, "light")
        with open(os.path.join(TREE, "tests", "console", "accessibility.js"), encoding="utf-8") as file:
            cls.rules = file.read()

    def setUp(self):
        self.browser.driver.get("about:blank")
        self.browser.messages()

    @classmethod
    def sequence(cls):
        return int(cls.played.call("AdminService/GetStatus", {})[0]["followerSequence"])

    def subak(self, *arguments):
        return json.loads(self.played.subak("--output", "json", *arguments, "--at", str(self.fact)))

    def open(self, path):
        self.browser.open(f"{path}{'&' if '?' in path else '?'}at={self.fact}")
        until("the moment is there", lambda: f"fact {self.fact}" in self.browser.text(".moment"))

    def test_each_view_shows_the_moment(self):
        browser = self.browser
        job = self.subak("queue", "--limit", "1")["rows"][0]["job"]["id"]
        views = {"/overview": "subak status", "/queue": "subak queue", "/fleet": "subak cluster map", "/teams": "subak share",
                 "/team?account=ml": "subak share ml", f"/job/{job}": f"subak why {job}"}  # fmt: skip
        for width, colours in ((1280, "light"), (390, "dark")):
            browser.look(width, colours)
            for path, command in views.items():
                with self.subTest(path=path, width=width):
                    self.open(path)
                    self.assertIn(f"As of 2", browser.text(".as-of"))
                    self.assertIn(f"fact {self.fact}", browser.text(".as-of"))
                    self.assertEqual(browser.text(".command code"), f"{command} --at {self.fact}")
                    self.assertEqual(browser.text(".problem"), "")
                    self.assertEqual(browser.js(self.rules), [])
                    self.assertEqual(browser.messages(), [])
                    self.assertLess(browser.js("return document.querySelectorAll('*').length"), MOST_ELEMENTS)
                    self.assertLessEqual(browser.js("return document.documentElement.scrollWidth"), width)
        browser.look(1280, "light")

    def test_figures_are_those_of_the_command(self):
        self.open("/overview")
        status = self.subak("status")
        for name in ("running", "starting", "queued"):
            shown = re.search(rf"(\d[\d,]*)\s+{name}\b", self.browser.text(".tiles")).group(1)
            self.assertEqual(shown, f"{int(status['jobs' + name.capitalize()]):,}", name)
        self.open("/queue")
        rows = self.browser.js("return [...document.querySelectorAll('.tbody .tr .id')].map((one) => one.innerText)")
        listed = [row["job"]["id"] for row in self.subak("queue", "--limit", "10")["rows"]]
        self.assertEqual(rows[: len(listed)], listed)

    def test_share_over_time_is_that_of_the_command(self):
        browser = self.browser
        self.open("/team?account=ml")
        for name in "The last 24 hours", "The last 30 days":
            browser.js(f"[...document.querySelectorAll('main button')].find((one) => one.innerText === '{name}').click()")
            captions = "return [...document.querySelectorAll('#share-history ~ .curve figcaption')].map((one) => one.innerText)"
            until("the curves are there", lambda: len(browser.js(captions)) == 2 and "left …" not in browser.text())
            shares, gpus = browser.js(captions)
            row = self.subak("share", "ml")["rows"][0]
            shown = re.search(r"recent use ([\d.]+) %, share ([\d.]+) %", shares).groups()
            wanted = 100 * float(row.get("effectiveUsage", 0)), 100 * float(row["normShares"])
            self.assertLess(max(abs(float(one) - other) for one, other in zip(shown, wanted)), 0.06)
            shown = re.search(r"held ([\d.]+) GPUs, quota ([\d.]+) GPUs", gpus).groups()
            held = int(row.get("runningMilligpu", 0)) + int(row.get("heldMilligpu", 0))
            wanted = held / 1000, int(row.get("quotaMilligpu", 0)) / 1000
            self.assertLess(max(abs(float(one) - other) for one, other in zip(shown, wanted)), 0.06)
            self.assertEqual(browser.js(self.rules), [])
            self.assertEqual(browser.messages(), [])

    def test_history_and_usage_end_at_the_moment(self):
        browser = self.browser
        job = self.subak("job", "list", "--limit", "1")["jobs"][0]["id"]
        self.open(f"/job/{job}")
        until("the history is there", lambda: "Reading" not in browser.text() and "What happened" in browser.text())
        events = self.played.call("JobService/GetJobHistory", {"jobId": job, "pageSize": 100})[0]["events"]
        begun = [event for event in events if int(event["sequence"]) <= self.fact]
        self.assertEqual(browser.js("return document.querySelectorAll('#history ~ .reasons li').length"), len(begun))
        self.open("/team?account=ml")
        time = self.subak("share", "ml")["time"]
        day = time[:10] + "T00:00:00Z"
        request = {"account": "ml", "from": day, "to": time, "step": "86400s"}
        step = self.played.call("UsageService/GetUsageHistory", request)[0]["steps"][0]
        used = sum(int(step.get(name, {}).get("gpuSeconds", 0)) for name in ("used", "held")) / 3600
        shown = float(re.search(r"used ([\d.]+) GPU-hours", browser.text(".curve figcaption")).group(1))
        self.assertLess(abs(shown - used), 0.06)

    def test_the_map_has_the_gpus_of_the_command(self):
        self.open("/fleet")
        legend = dict(re.findall(r"([a-zA-Z ]+?) ([\d.,]+)(?:\n|$| (?=[a-z]))", self.browser.text("p.legend")))
        printed = self.played.subak("cluster", "map", "--at", str(self.fact))
        states = {MARKS[mark]: gpus for mark, gpus in re.findall(r"(?:^|   )(\S) \w+ ([\d.]+)(?=   |\s*$)", printed, re.M) if mark in MARKS}
        self.assertTrue(states)
        self.assertEqual({name: float(value.replace(",", "")) for name, value in legend.items()},
                         {WORDS[name]: float(value) for name, value in states.items()})  # fmt: skip

    def test_live_updates_stop_and_links_keep_the_moment(self):
        browser = self.browser
        self.open("/queue")
        calls = "return performance.getEntriesByType('resource').filter((one) => one.name.includes('/subak.v1.')).length"
        before = browser.js(calls)
        newer = self.sequence()
        until("the state goes on", lambda: self.sequence() > newer + 3)
        self.assertEqual(browser.js(calls), before)
        self.assertIn(f"fact {self.fact}", browser.text(".as-of"))
        links = browser.js("return [...document.querySelectorAll('nav a, .tbody a')].map((one) => one.search)")
        self.assertGreater(len(links), 6)
        self.assertEqual([link for link in links if f"at={self.fact}" not in link], [])
        browser.press("g", "t")
        until("the teams are open", lambda: browser.text("h1") == "Teams")
        until("at the same moment", lambda: f"fact {self.fact}" in browser.text(".moment"))
        browser.js("[...document.querySelectorAll('.moment a')].find((one) => one.innerText.includes('present')).click()")
        until("the present is back", lambda: browser.text(".moment") == "" and "live" in browser.text(".as-of"))
        self.assertNotIn("at=", browser.js("return location.search"))

    def test_a_moment_is_chosen_with_the_keyboard(self):
        browser = self.browser
        browser.open("/overview")
        browser.press("m")
        until("the choice is open", lambda: browser.js("return document.querySelector('dialog[open]') !== null"), 10)
        self.assertEqual(browser.js(self.rules), [])
        browser.press("never", Keys.ENTER)
        until("it says what it wants", lambda: browser.js("return document.querySelector('dialog .problem') !== null"), 10)
        browser.press(*[Keys.BACKSPACE] * len("never"))
        browser.press(str(self.fact), Keys.ENTER)
        until("the moment is there", lambda: f"fact {self.fact}" in browser.text(".moment"))
        self.assertIn(f"at={self.fact}", browser.js("return location.search"))
        self.assertEqual(browser.messages(), [])

    def test_views_of_the_present_alone_say_so(self):
        browser = self.browser
        for path in ("/plan", "/audit", "/team/month?account=ml"):
            with self.subTest(path=path):
                browser.driver.get(f"{browser.url}{path}{'&' if '?' in path else '?'}at={self.fact}")
                until("it says so", lambda: "cannot be shown at an earlier moment" in browser.text())
                self.assertEqual(browser.js(self.rules), [])
                browser.js("document.querySelector('main a').click()")
                until("the present is there", lambda: browser.js("return document.querySelector('.as-of time') !== null"))
                self.assertNotIn("at=", browser.js("return location.search"))

    def test_a_moment_that_there_is_not(self):
        browser = self.browser
        browser.driver.get(f"{browser.url}/overview?at=99999999")
        until("the service says why", lambda: "want a fact from 1 to" in browser.text(".problem"))
        browser.messages()  # the browser itself tells of the answer 400

    def test_the_job_of_a_gpu_by_keyboard(self):
        browser = self.browser
        browser.open("/fleet")
        browser.js("document.querySelector('.map-box').focus()")
        for _ in range(200):
            browser.press("j")
            if browser.js("return document.querySelector('.told a.id') !== null"):
                break
        job = browser.text(".told a.id")
        self.assertRegex(job, r"^\d+-\d+$")
        self.assertRegex(browser.text(".told"), r"GPU \d+: (running|starting|reserved|not admitted by Subak)|slice \d+ of ")
        browser.press(Keys.ENTER)
        until("the job is open", lambda: browser.text("h1").startswith(f"Job {job}"))

    def test_the_map_by_team_and_by_end(self):
        browser = self.browser
        for colouring, want in (("team", "ml."), ("end", "within ")):
            browser.open(f"/fleet?colour={colouring}")
            self.assertIn(want, browser.text("p.legend"))
            self.assertEqual(browser.js(self.rules), [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
