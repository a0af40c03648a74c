"""Calls and events of browsers on a standby, and across the death of the leader.

  browser_standby_test.py PATH_TO_SUBAKD PATH_TO_SUBAK
"""

import json
import signal
import unittest
import urllib.request

from pg_replica import DEADLINE_S, OnPostgres, Process


class Events:
    """The events of one topic."""

    def __init__(self, replica, last_id=None):
        headers = {} if last_id is None else {"Last-Event-ID": str(last_id)}
        request = urllib.request.Request(f"http://127.0.0.1:{replica.http}/live?topics=shares", headers=headers)
        self.reply = urllib.request.urlopen(request, timeout=DEADLINE_S)  # closed by close()

    def next(self):
        fields = {}
        for line in self.reply:
            name, _, value = line.decode().rstrip("\n").partition(": ")
            if name:
                fields[name] = value
            elif "event" in fields:
                return fields["event"], int(fields.get("id", 0)), json.loads(fields["data"])
            else:
                fields = {}
        return None

    def until(self, wanted):
        """The id of the next event whose accounts are these."""
        while True:
            name, number, data = self.next()
            if name == "shares" and {row["account"] for row in data["rows"]} >= wanted:
                return number

    def close(self):
        self.reply.close()


def shares(replica, sequence):
    request = urllib.request.Request(
        f"http://127.0.0.1:{replica.http}/subak.v1.AccountService/ListShares", b"{}",
        {"Content-Type": "application/json", "Subak-Min-Sequence": str(sequence)})  # fmt: skip
    with urllib.request.urlopen(request, timeout=DEADLINE_S) as reply:
        return {row["account"] for row in json.load(reply)["rows"]}, reply.headers


class Standby(OnPostgres):
    def test_a_standby_serves_browsers_and_goes_on_as_the_leader(self):
        leader = Process(self.server.address())
        leader.until_it_leads()
        standby = Process(self.server.address())
        self.assertFalse(standby.leads())
        events = Events(standby)
        self.addCleanup(events.close)
        self.assertEqual(leader.set_shares("ml", 2)[0], 0)
        seen = events.until({"ml"})
        accounts, headers = shares(standby, seen)
        self.assertIn("ml", accounts)
        self.assertGreaterEqual(int(headers["Subak-Sequence"]), seen)
        self.assertEqual((headers["Subak-Leads"], headers["Subak-Epoch"]), ("no", "1"))
        self.assertGreaterEqual(int(headers["Subak-Behind-Ms"]), 0)
        headers = shares(leader, seen)[1]
        self.assertEqual((headers["Subak-Leads"], headers["Subak-Epoch"]), ("yes", "1"))
        self.assertNotIn("Subak-Behind-Ms", headers)

        leader.end(signal.SIGKILL)
        standby.until_it_leads()
        self.assertEqual(standby.set_shares("vision", 3)[0], 0)
        headers = shares(standby, seen)[1]
        self.assertEqual((headers["Subak-Leads"], headers["Subak-Epoch"]), ("yes", "2"))
        self.assertGreater(events.until({"ml", "vision"}), seen, "the stream goes on")
        again = Events(standby, seen)
        self.addCleanup(again.close)
        self.assertEqual(again.next()[0], "shares", "no reset: it is the same log")
        self.assertEqual(standby.end(signal.SIGTERM), 0)


if __name__ == "__main__":
    unittest.main()
