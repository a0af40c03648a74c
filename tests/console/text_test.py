#!/usr/bin/env python3
"""console/src/text.ts: values of the API as text for people. Exit code 77: a package is missing.

  text_test.py TREE
"""

import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from played import Browser, bundled  # noqa: E402

TREE = sys.argv.pop(1) if len(sys.argv) > 1 else "."

NOW = 1_772_366_400_000  # 2026-03-01 12:00 UTC
CASES = [
    # milli-GPU
    ("gpus('62500')", "62.5"), ("gpus(undefined)", "0"), ("gpus('12345678')", "12,345.678"),
    # lengths of time: at most two units, rounded to seconds
    ("duration(0)", "0 s"), ("duration(0.18)", "0.18 ms"), ("duration(24)", "24 ms"), ("duration(59600)", "1 min"),
    ("duration(3600000)", "1 h"), ("duration(3661000)", "1 h 1 min"), ("duration(3605000)", "1 h"),
    ("duration(90061000)", "1 d 1 h"), ("duration(-5000)", "\u22125 s"),
    ("millis('23.888s')", 23888), ("millis(undefined)", 0),
    # instants
    (f"time({NOW}, {NOW})", "12:00 UTC"), (f"time({NOW} - 86400000, {NOW})", "2026-02-28 12:00 UTC"),
    (f"time(undefined, {NOW})", "\u2013"), (f"relative({NOW} + 65000, {NOW})", "in 1 min 5 s"),
    (f"relative({NOW} - 5000, {NOW})", "5 s ago"), (f"relative({NOW} + 400, {NOW})", "now"),
    # moments
    (f"momentFrom('81723', {NOW})", "81723"), (f"momentFrom('2h', {NOW})", "2026-03-01T10:00:00Z"),
    (f"momentFrom(' 2026-02-28 07:30 ', {NOW})", "2026-02-28T07:30:00Z"), (f"momentFrom('07:30 UTC', {NOW})", "2026-03-01T07:30:00Z"),
    (f"momentFrom('2026-02-28', {NOW})", "2026-02-28T00:00:00Z"),
    (f"momentFrom('2026-02-28T07:30:01.250Z', {NOW})", "2026-02-28T07:30:01.250Z"),
    (f"momentFrom('', {NOW}) === undefined", True), (f"momentFrom('0', {NOW}) === undefined", True),
    (f"momentFrom('2026-02-31x', {NOW}) === undefined", True), (f"momentFrom('soon', {NOW}) === undefined", True),
    # parts and factors
    ("percent(0.7512)", "75.1 %"), ("percent(NaN)", "\u2013"), ("factor('Infinity')", "\u221e"), ("factor(1.0945)", "1.09"),
    ("factor(34.4)", "34"), ("plural(1, 'job')", "1 job"), ("plural(1200, 'job')", "1,200 jobs"),
    ("hoursText(hours({gpuSeconds: '5400'}))", "1.5 h"),
    # names
    ("shown('abc\\u202edef')", "abc\\u202edef"), ("shown('a\\nb\\u{e0001}')", "a\\nb\\U000e0001"), ("shown('\u05d0 <b>')", "\u05d0 <b>"),
    ("word('JOB_STATE_QUEUED', 'JOB_STATE_')", "queued"), ("word('CAUSE_UNSPECIFIED', 'CAUSE_')", ""),
    ("word('CAUSE_TIME_LIMIT', 'CAUSE_')", "time limit"), ("sentence('there is none')", "There is none"),
    ("owner('ml.vision', 'ana')", "ml.vision/ana"), ("owner('', '')", "root"),
    # GPU indexes
    ("maskText('0')", ""), ("maskText('79')", "0-3, 6"), ("maskText('9223372036854775808')", "63"),
    # records of the audit log
    ("[...fieldsOf('path=ml.x shares=3 reason=a b c user=true')].join(';')", "path,ml.x;shares,3;reason,a b c;user,true"),
    ("[...fieldsOf(undefined)].length", 0),
    # months
    ("bounds('2026-12').to.toISOString()", "2027-01-01T00:00:00.000Z"), ("bounds('2026-13') === undefined", True),
    ("bounds('2026-02').from.toISOString()", "2026-02-01T00:00:00.000Z"), (f"month({NOW})", "2026-03"),
]  # fmt: skip


class Text(unittest.TestCase):
    def test_each_value_has_its_text(self):
        code = bundled(TREE, "text")
        browser = Browser("")
        self.addCleanup(browser.stop)
        names = "const {" + ", ".join(sorted({case.split("(")[0].lstrip("[.") for case, _ in CASES} | {"hours"})) + "} = text;"
        for case, want in CASES:
            with self.subTest(case=case):
                self.assertEqual(browser.js(f"{code}\n{names}\nreturn {case};"), want)


if __name__ == "__main__":
    unittest.main()
