#!/usr/bin/env python3
"""Every view of the console on a real service, in Debian's Chromium.

  views_test.py SUBAK_PLAY SUBAKD SUBAK TREE PAGES SHOTS

PAGES is a folder with a bundle, or - for the console that the service has in itself.

Opens each view light and dark, on 1280 and on 390 pixels. Checks the browser's console (which has the
reports of the Content-Security-Policy), the rules of accessibility.js, the number of elements, and that
nothing is wider than the screen. Screenshots go to SHOTS. Exit code 77: a package is missing.
"""

import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from played import Browser, Keys, Played, until  # noqa: E402

PLAY, SERVICE, CLI, TREE, PAGES, SHOTS = sys.argv[1:7]
del sys.argv[1:7]

MOST_ELEMENTS = 3000
# Names that are HTML, and that are written from right to left. The service refuses marks of direction in
# names, but an address may have them.
NASTY = "<script>document.title='bad'</script>"
HEBREW = "\u05d0\u05d1\u05d2"
TURNING = "/team?account=abc%E2%80%AEdef"


def rules():
    with open(os.path.join(TREE, "tests", "console", "accessibility.js"), encoding="utf-8") as file:
        return file.read()


class Views(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        os.makedirs(SHOTS, exist_ok=True)
        cls.played = Played(PLAY, SERVICE, CLI, TREE, PAGES)
        cls.addClassCleanup(cls.played.stop)
        cls.browser = Browser(cls.played.url)
        cls.addClassCleanup(cls.browser.stop)
        submit = ("job", "submit", "--account", "bio", "--user", "dora", "--held", "--name")
        for name in (NASTY, HEBREW):
            cls.played.subak(*submit, name, "--gpus", "1")
        cls.jobs = {}
        for job in cls.played.call("JobService/ListJobs", {"pageSize": 1000})[0]["jobs"]:
            cls.jobs.setdefault(job["spec"].get("name"), job["id"])
        until("jobs wait", lambda: len(cls.queue()) > 10)

    def setUp(self):
        self.browser.driver.get("about:blank")
        self.browser.messages()  # those of the last test

    @classmethod
    def queue(cls):
        return cls.played.call("JobService/ListQueue", {"pageSize": 1000})[0].get("rows", [])

    def paths(self):
        waits = next(row["job"]["id"] for row in self.queue() if row.get("position"))
        return {
            "overview": "/overview",
            "queue": "/queue",
            "fleet": "/fleet?node=nvl72-03",
            "plan": "/plan",
            "teams": "/teams",
            "team": "/team?account=ml.vision",
            "user": "/team?account=ml.vision&user=ana",
            "month": "/team/month?account=ml.vision",
            "audit": "/audit",
            "waiting-job": f"/job/{waits}",
            "running-job": "/job/1-1",
            "missing-job": "/job/1-999999",
            "no-view": "/nowhere",
        }

    def check(self, name, width, colours):
        browser = self.browser
        complaints = browser.js(rules())
        self.assertEqual(complaints, [], f"{name}, {width} pixels, {colours}")
        # The browser itself tells of an answer 404, which the view of a missing job gets. It may tell so late, when
        # the next view is open.
        missing = name in ("missing-job", "no-view")
        told = [line for line in browser.messages() if "404 (Not Found)" not in line or not missing]
        self.assertEqual(told, [], name)
        self.assertLess(browser.js("return document.querySelectorAll('*').length"), MOST_ELEMENTS, name)
        self.assertLessEqual(browser.js("return document.documentElement.scrollWidth"), width, name)

    def test_every_view_in_both_sizes_and_colours(self):
        for width in (1280, 390):
            for colours in ("light", "dark"):
                self.browser.look(width, colours)
                for name, path in self.paths().items():
                    with self.subTest(view=name, width=width, colours=colours):
                        if name in ("missing-job", "no-view"):
                            self.browser.driver.get(self.browser.url + path)
                            until(name, lambda: "There is no" in self.browser.text() or "no such job" in self.browser.text())
                        else:
                            self.browser.open(path)
                        self.browser.shoot(os.path.join(SHOTS, f"{name}-{width}-{colours}.png"))
                        self.check(name, width, colours)

    def test_a_name_shows_as_what_it_is(self):
        self.browser.look(1280, "light")
        self.browser.open("/job/" + self.jobs[NASTY])
        self.assertIn(NASTY, self.browser.text("h1"))
        self.assertNotEqual(self.browser.js("return document.title"), "bad")
        self.browser.open("/queue?user=dora")
        until("the queue has both names", lambda: NASTY in self.browser.text() and HEBREW in self.browser.text())
        inside = "return [...document.querySelectorAll('bdi')].some((one) => one.textContent === arguments[0])"
        self.assertTrue(self.browser.js(inside, HEBREW))
        self.assertEqual(self.browser.messages(), [])
        self.browser.driver.get(self.browser.url + TURNING)
        until("the mark is written out", lambda: "abc\\u202edef" in self.browser.text("h1"))

    def test_without_a_mouse_from_the_overview_to_alternatives(self):
        browser = self.browser
        browser.look(1280, "light")
        browser.open("/overview")
        browser.press("g", "q")
        until("the queue is open", lambda: browser.text("h1") == "Queue")
        until("it has rows", lambda: browser.js("return document.querySelectorAll('.tbody .tr').length") > 5)
        # The next links are reached by Tab; the arrows then choose a row.
        for _ in range(40):
            browser.press(Keys.TAB)
            if browser.js("return document.activeElement.classList.contains('table')"):
                break
        else:
            self.fail("Tab does not reach the table")
        self.assertNotEqual(browser.js("return getComputedStyle(document.activeElement).outlineStyle"), "none")
        browser.press(Keys.ARROW_DOWN)
        browser.press("j")
        place = "return document.activeElement.closest('[aria-rowindex]')?.getAttribute('aria-rowindex')"
        until("the second row has the focus", lambda: browser.js(place) == "3", 10)
        job = browser.js("return document.activeElement.textContent")
        browser.press(Keys.ENTER)
        until("the job is open", lambda: browser.text("h1").startswith(f"Job {job}"))
        self.assertEqual(browser.js("return document.activeElement.tagName"), "H1")
        until("it says why it waits", lambda: "Why it waits" in browser.text() or "running" in browser.text("h1"))
        if "Why it waits" in browser.text():
            browser.press("a")
            found = "return document.querySelector('#alternatives').parentElement.innerText"
            until("it lists changes, or says that none helps",
                  lambda: "No change of" in browser.js(found) or browser.js("return document.querySelector('.alternatives li') !== null"))
            self.assertIn("alternatives=yes", browser.js("return location.search"))
        self.assertEqual(browser.messages(), [])

    def test_search_finds_a_job_a_user_and_a_node(self):
        browser = self.browser
        browser.look(1280, "light")
        for words, want in (("1-1", "/job/1-1"), ("ml.vision/ana", "user=ana"), ("nvl72-07", "node=nvl72-07")):
            browser.open("/overview")
            browser.press("/")
            browser.press(words)
            hit = "return document.querySelector('#hits li[aria-selected=true] bdi')?.textContent"
            until(f"{words} is found", lambda hit=hit, words=words: browser.js(hit) == words)
            browser.press(Keys.ENTER)
            until(f"{words} is open", lambda want=want: want in browser.js("return location.pathname + location.search"), 10)
        self.assertEqual(browser.messages(), [])

    def test_the_list_of_keys_opens_and_closes(self):
        browser = self.browser
        browser.open("/overview")
        browser.press("?")
        until("the list is open", lambda: browser.js("return document.querySelector('dialog[open]') !== null"), 10)
        self.assertEqual(browser.js(rules()), [])
        browser.press(Keys.ESCAPE)
        until("the list is closed", lambda: browser.js("return document.querySelector('dialog[open]') === null"), 10)

    def test_filters_are_in_the_address(self):
        browser = self.browser
        browser.look(1280, "light")
        browser.open("/queue?account=bio")
        owners = "return [...document.querySelectorAll('.tbody .tr')].map((row) => row.innerText)"
        until("only rows of the account are left",
              lambda: browser.js(owners) and all("bio" in row for row in browser.js(owners)))
        self.assertIn("subak queue --account bio", browser.text(".command code"))
        browser.open("/queue?reason=nothing-has-this-reason")
        until("no row fits", lambda: "No job that waits fits" in browser.text())

    def test_the_view_says_of_when_it_is(self):
        browser = self.browser
        browser.open("/overview")
        self.assertRegex(browser.text(".as-of"), r"As of \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC, fact \d+")
        first = int(browser.js("return /fact (\\d+)/.exec(document.querySelector('.as-of').innerText)[1]"))
        newer = "return Number(/fact (\\d+)/.exec(document.querySelector('.as-of').innerText)[1])"
        until("the page reads again by itself", lambda: browser.js(newer) > first, 60)


if __name__ == "__main__":
    unittest.main(verbosity=2)
