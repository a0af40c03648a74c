#!/usr/bin/env python3
"""The checker finds what it is to find: histories with one planted violation each, and one without."""

import types
import unittest

import history as h


def row(seq, epoch, name, at=0.0, **fields):
    return h.Row(seq, epoch, name, types.SimpleNamespace(**fields), at)


def edit(request_id):
    return types.SimpleNamespace(request_id=request_id)


def created(seq, epoch, job, request_id, at=0.0):
    return row(seq, epoch, "JobCreated", at, id=h.job_number(job), edit=edit(request_id))


def started(seq, epoch, job, attempt, node, mask):
    return row(seq, epoch, "AttemptStarted", id=h.job_number(job), attempt=attempt,
               slots=[types.SimpleNamespace(node=node, gpu_mask=mask)])


def create(request_id, begin, end, job="", outcome=h.ACKNOWLEDGED, by=0):
    return h.Call(h.CREATE, request_id, begin, end, outcome, job, by)


def opened(job, node="n1", mask=1, attempt=1):
    return h.Step("open", job, 0, attempt, node, mask)


def gone(job, node="n1", mask=1, attempt=1):
    return h.Step("gone", job, 0, attempt, node, mask)


NODE = row(1, 1, "NodeSet", id=7, spec=types.SimpleNamespace(name="n1"))


class Rows(unittest.TestCase):
    def test_good(self):
        self.assertEqual(h.check_rows([created(1, 1, "1-1", "a"), created(2, 1, "1-2", "b"), created(3, 4, "1-3", "c")]), [])

    def test_a_gap(self):
        self.assertEqual(h.check_rows([created(1, 1, "1-1", "a"), created(3, 1, "1-2", "b")]), ["after fact 1 comes 3"])

    def test_the_first_is_missing(self):
        self.assertEqual(h.check_rows([created(2, 1, "1-1", "a")]), ["the first fact is 2, not 1"])

    def test_an_epoch_that_falls(self):
        found = h.check_rows([created(1, 1, "1-1", "a"), created(2, 3, "1-2", "b"), created(3, 2, "1-3", "c")])
        self.assertEqual(found, ["fact 3 has epoch 2, the one before it 3"])


class Calls(unittest.TestCase):
    def found(self, calls, rows):
        return h.check_calls(calls, rows)

    def test_good(self):
        calls = [create("a", 0, 1, "1-1"), create("b", 0, 1, outcome=h.UNANSWERED),
                 create("c", 0, 1, outcome=h.UNANSWERED), create("d", 0, 1, outcome=h.REFUSED),
                 h.Call("CancelJob", "e", 2, 3, h.ACKNOWLEDGED, "1-1"), h.Call("HoldJob", "f", 2, 3, h.ACKNOWLEDGED, "1-1")]
        rows = [created(1, 1, "1-1", "a"), created(2, 1, "1-2", "b"), row(3, 1, "JobMoved", edit=edit("e")),
                row(4, 1, "RequestKept", request_id="f", job=1), row(5, 1, "JobMoved", edit=edit(""))]
        self.assertEqual(self.found(calls, rows), [])

    def test_acknowledged_and_not_there(self):
        self.assertEqual(self.found([create("a", 0, 1, "1-1")], []), ["acknowledged CreateJob a (1-1) is not there"])

    def test_an_edit_that_is_not_there(self):
        calls = [h.Call("CancelJob", "e", 2, 3, h.ACKNOWLEDGED, "1-1")]
        self.assertEqual(self.found(calls, []), ["acknowledged CancelJob e (1-1) is not there"])

    def test_there_twice(self):
        rows = [created(1, 1, "1-1", "a"), created(2, 1, "1-2", "a")]
        for outcome in (h.ACKNOWLEDGED, h.UNANSWERED):
            self.assertEqual(self.found([create("a", 0, 1, "1-1", outcome)], rows),
                             [f"{outcome} CreateJob a is there 2 times: facts [1, 2]"])

    def test_refused_and_done(self):
        self.assertEqual(self.found([create("a", 0, 1, outcome=h.REFUSED)], [created(1, 1, "1-1", "a")]),
                         ["refused CreateJob a is there: fact 1"])

    def test_another_number_than_was_told(self):
        self.assertEqual(self.found([create("a", 0, 1, "1-2")], [created(1, 1, "1-1", "a")]),
                         ["acknowledged CreateJob a made 1-1, and its caller was told 1-2"])

    def test_what_nobody_asked_for(self):
        self.assertEqual(self.found([], [created(1, 1, "1-1", "a")]), ["request a is there, and nobody asked for it"])


class Times(unittest.TestCase):
    CALLS = [create("a", 100, 101, "1-1"), create("b", 200, 201, "1-2"), create("c", 300, outcome=h.UNANSWERED, end=301)]

    def found(self, *instants):
        rows = [created(n + 1, 1, f"1-{n + 1}", "abc"[n], at) for n, at in enumerate(instants)]
        return h.check_times(self.CALLS, rows)

    def test_good(self):
        self.assertEqual(self.found(100.5, 202, 299), [])
        self.assertEqual(self.found(100.5, 202, 400), [], "who gave up does not know when it was done")

    def test_a_clock_that_is_an_hour_ahead(self):
        self.assertEqual(self.found(100.5, 3801, 3801), ["fact 2 is of 3600.0 s after b was answered"])

    def test_a_clock_that_is_behind(self):
        self.assertEqual(self.found(90, 200, 300), ["fact 1 is of 10.0 s before a was asked for"])

    def test_a_time_that_falls(self):
        self.assertEqual(self.found(101, 100.75), ["fact 2 is 0.250 s older than the one before it",
                                                   "fact 2 is of 99.2 s before b was asked for"])

    def test_what_carries_no_request_is_held_against_its_neighbours(self):
        rows = [created(1, 1, "1-1", "a", 101), row(2, 1, "JobMoved", 100, edit=edit(""))]
        self.assertEqual(h.check_times(self.CALLS, rows), ["fact 2 is 1.000 s older than the one before it"])


class Order(unittest.TestCase):
    def test_good(self):
        beside = [create("a", 0, 5, "1-2"), create("b", 1, 2, "1-1"), create("c", 6, 7, "1-3"), create("d", 8, 9, "2-1")]
        self.assertEqual(h.check_order(beside), [])

    def test_a_later_call_with_a_lower_number(self):
        found = h.check_order([create("a", 0, 1, "1-9"), create("b", 0, 4, "1-8"), create("c", 2, 3, "1-7")])
        self.assertEqual(found, ["c made 1-7, and a had made 1-9 before it began"])


class Edge(unittest.TestCase):
    ROWS = [NODE, started(2, 1, "1-1", 1, 7, 3), started(3, 1, "1-2", 1, 7, 2), started(4, 2, "1-1", 2, 7, 4)]

    def test_good(self):
        steps = [opened("1-1", mask=3), gone("1-1"), opened("1-2", mask=2), opened("1-1", mask=4, attempt=2)]
        self.assertEqual(h.check_edge(steps, self.ROWS), [])

    def test_a_gpu_that_is_given_twice(self):
        found = h.check_edge([opened("1-1", mask=3), opened("1-2", mask=2)], self.ROWS)
        self.assertEqual(found, ["GPUs 0x2 of n1 were given to ('1-2', 0, 1) while ('1-1', 0, 1) had them"])

    def test_a_gate_that_no_fact_opens(self):
        found = h.check_edge([opened("1-3", mask=8)], self.ROWS)
        self.assertEqual(found, ["pod ('1-3', 0, 1) was let go to n1 0x8, and facts say None"])

    def test_other_gpus_than_the_fact_says(self):
        found = h.check_edge([opened("1-2", mask=1)], self.ROWS)
        self.assertEqual(found, ["pod ('1-2', 0, 1) was let go to n1 0x1, and facts say ('n1', 2)"])


class Claims(unittest.TestCase):
    def claimed(self, seq, job, *victims, epoch=1):
        """`victims`: (job, attempt, when it may be asked); none: the claim ends."""
        known = [types.SimpleNamespace(job=h.job_number(v), attempt=attempt, ask_ms=ask_ms) for v, attempt, ask_ms in victims]
        return row(seq, epoch, "Claimed", job=h.job_number(job), slots=list(known), victims=known)

    def asked(self, seq, job, attempt=1, ms=100, epoch=1):
        made = row(seq, epoch, "StopAsked", id=h.job_number(job), attempt=attempt, cause=h.PREEMPTED)
        made.ms = ms
        return made

    def found(self, *rows):
        return h.check_claims(list(rows))[0]

    def test_good(self):
        wrong, counts = h.check_claims([self.claimed(1, "1-9", ("1-1", 1, 100), ("1-2", 1, 0)), self.asked(2, "1-1"),
                                        self.asked(3, "1-2", epoch=2), started(4, 2, "1-9", 1, 7, 1),
                                        self.claimed(5, "1-8", ("1-1", 2, 0), epoch=2), self.claimed(6, "1-8", epoch=2),
                                        self.claimed(7, "1-8", ("1-1", 2, 0), epoch=2)])
        self.assertEqual(wrong, [])
        self.assertEqual(counts, h.ClaimCounts(made=3, started=1, asked=2, passed_on=1))

    def test_a_claim_that_is_lost_and_made_again(self):
        self.assertEqual(self.found(self.claimed(1, "1-9", ("1-1", 1, 0)), self.claimed(2, "1-9", ("1-1", 1, 0))),
                         ["fact 2: 1-9 claims twice"])

    def test_a_claim_that_ends_twice(self):
        self.assertEqual(self.found(self.claimed(1, "1-9", ("1-1", 1, 0)), self.claimed(2, "1-9"), self.claimed(3, "1-9")),
                         ["fact 3: 1-9 ends no claim"])

    def test_a_victim_of_two(self):
        self.assertEqual(self.found(self.claimed(1, "1-9", ("1-1", 1, 0)), self.claimed(2, "1-8", ("1-1", 1, 0))),
                         ["fact 2: 1-1 is a victim twice"])

    def test_a_victim_that_is_asked_again(self):
        self.assertEqual(self.found(self.claimed(1, "1-9", ("1-1", 1, 0)), self.asked(2, "1-1"), self.asked(3, "1-1", epoch=2)),
                         ["fact 3: 1-1 is preempted twice in attempt 1"])

    def test_a_victim_that_no_claim_asks_for(self):
        words = "1-1 is preempted, and no claim asks for it"
        self.assertEqual(self.found(self.asked(1, "1-1")), [f"fact 1: {words}"])
        self.assertEqual(self.found(self.claimed(1, "1-9", ("1-1", 1, 101)), self.asked(2, "1-1")), [f"fact 2: {words}"])
        self.assertEqual(self.found(self.claimed(1, "1-9", ("1-1", 1, 0)), self.claimed(2, "1-9"), self.asked(3, "1-1")),
                         [f"fact 3: {words}"])


class Charges(unittest.TestCase):
    def charged(self, rank, from_ms, to_ms, milligpu=1000, state=0, corrects=0):
        allocation = types.SimpleNamespace(job=1 << 48 | 1, rank=rank, attempt=1)
        part = types.SimpleNamespace(allocation=allocation, from_ms=from_ms, to_ms=to_ms, milligpu=milligpu, state=state,
                                     corrects=corrects)
        return h.Row(1, 1, "Charged", types.SimpleNamespace(row=part))

    def test_good(self):
        rows = [self.charged(0, 0, 500, state=1), self.charged(0, 500, 3000), self.charged(0, 3000, 9000), self.charged(0, 3000, 8000, -1000)]
        self.assertEqual(h.check_charges({("1-1", 0, 1): 3.2}, rows), [])

    def test_a_refund_of_lost_work_counts_only_with_a_preemption(self):
        rows = [self.charged(0, 0, 3000), self.charged(0, 1000, 3000, -1000, corrects=1)]
        stop = h.Row(1, 1, "StopAsked", types.SimpleNamespace(id=1 << 48 | 1, attempt=1, cause=h.PREEMPTED))
        self.assertEqual(h.check_charges({("1-1", 0, 1): 3.0}, [stop] + rows), [])
        self.assertEqual(h.check_charges({("1-1", 0, 1): 3.0}, rows),
                         ["pod ('1-1', 0, 1) ran for 3.000 s and was charged for 1.000 s"])

    def test_a_pod_without_a_row_and_one_that_is_charged_too_little(self):
        found = h.check_charges({("1-1", 0, 1): 8.0, ("1-1", 1, 1): 8.0}, [self.charged(1, 0, 3000)])
        self.assertEqual(found, ["pod ('1-1', 0, 1) ran for 8.000 s and has no row",
                                 "pod ('1-1', 1, 1) ran for 8.000 s and was charged for 3.000 s"])


class Silent(unittest.TestCase):
    def test_what_came_before_and_from_who_leads_is_good(self):
        self.assertEqual(h.check_silent([(4.9, 0), (5, 1), (6, 1)], 0, 5), [])

    def test_effects_of_who_leads_no_longer(self):
        self.assertEqual(h.check_silent([(4, 0), (5.25, 0), (6, 1), (7, 0)], 0, 5),
                         ["2 effects came from server 0, the first 0.250 s after it woke, and another led"])


class Digests(unittest.TestCase):
    def test_equal_different_and_nothing_to_compare(self):
        self.assertEqual(h.check_digests({"checkpoint_seq": 5, "as_started": "x", "all_facts": "x"}), [])
        self.assertEqual(h.check_digests({"checkpoint_seq": 5, "as_started": "x", "all_facts": "y"}),
                         ["the checkpoint of 5 and what follows give another state than all facts"])
        self.assertEqual(h.check_digests({"checkpoint_seq": 0, "as_started": "x", "all_facts": "x"}),
                         ["there is no checkpoint to compare with"])


class Pauses(unittest.TestCase):
    def test_from_the_last_word_of_the_old_to_the_first_of_the_new(self):
        calls = [create("a", 0, 1, by=0), create("b", 0, 2, by=0), create("c", 0, 6, by=1), create("d", 0, 9, by=1)]
        self.assertEqual(h.pause_s(calls, 0, 0, 10), 4)

    def test_the_longest_silence_where_the_old_goes_on(self):
        calls = [create("a", 0, 1), create("b", 0, 2), create("c", 0, 5), create("d", 0, 9, outcome=h.UNANSWERED)]
        self.assertEqual(h.pause_s(calls, 0, 0, 10), 3)
        self.assertIsNone(h.pause_s(calls, 0, 20, 30))

    def test_between_epochs(self):
        rows = [row(1, 1, "NodeSet", 10.0), row(2, 1, "NodeSet", 11.0), row(3, 4, "NodeSet", 13.5), row(4, 5, "NodeSet", 14.0)]
        self.assertEqual(h.gaps_s(rows), [2.5, 0.5])
        self.assertEqual(h.gaps_s(rows, 10.5, 13.5), [2.5])
        self.assertEqual(h.gaps_s(rows, 11.5), [0.5])

    def test_percentiles(self):
        self.assertEqual([h.percentile(range(100), part) for part in (0.5, 0.99)], [50, 99])
        self.assertEqual(h.percentile([7], 0.99), 7)



class Budgets(unittest.TestCase):
    """Account 2 has 0.1 GPU-hours in five minutes, and account 3 below it has none."""

    def setUp(self):
        self.rows = [row(1, 1, "AccountSet", id=2, spec=types.SimpleNamespace(path="ml", budgets="0.1h/5m")),
                     row(2, 1, "AccountSet", id=3, spec=types.SimpleNamespace(path="ml.a", budgets=""))]

    def charged(self, begin_s, end_s, gpus, payer=3):
        charge = types.SimpleNamespace(from_ms=1000 * begin_s, to_ms=1000 * end_s, milligpu=1000 * gpus, payer=payer)
        self.rows.append(row(len(self.rows) + 1, 1, "Charged", row=charge))

    def asked(self, limit_ms, after_ms):
        at = len(self.rows) + 1
        self.rows += [row(at, 1, "JobCreated", id=7, time_limit_ms=limit_ms), row(at + 1, 1, "AttemptStarted", id=7),
                      row(at + 2, 1, "StopAsked", id=7, cause=h.TIME_LIMIT)]
        self.rows[-1].ms = after_ms

    def test_good(self):
        self.charged(0, 100, 3)  # 300 of 360 GPU-seconds
        self.charged(270, 330, 2)  # 60 of them, and 60 of the next period
        self.charged(100, 200, 4, payer=h.PLATFORM + 1)
        self.asked(5000, 5000)
        self.assertEqual(h.check_budgets(self.rows), ([], h.BudgetCounts(spent=1.0, ended=1)))

    def test_more_than_the_budget(self):
        self.charged(0, 100, 3)
        self.charged(239, 300, 1, payer=2)
        self.assertEqual(h.check_budgets(self.rows)[0], ["ml has spent 1.003 of its budget in period 0"])

    def test_an_end_before_the_limit(self):
        self.asked(5000, 4999)
        self.assertEqual(h.check_budgets(self.rows)[0], ["fact 5: 0-7 is asked to end before its limit"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
