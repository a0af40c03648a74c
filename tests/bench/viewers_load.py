#!/usr/bin/env python3
"""Browsers that show the overview: each has an event stream, and reads the page's data again when there is news.

  viewers_load.py HOST:PORT VIEWERS

The service's token file has the tokens viewer-secret-000000 and so on, one for each viewer. Each viewer makes the two calls of the overview, at most once a second. Runs until its standard input ends, then
prints one JSON object: events, answers, bytes, the longest wait for an answer, and how many streams have ended.
"""

import json
import selectors
import socket
import sys
import time

CALLS = (("JobService/ListQueue", {"pageSize": 8}), ("AccountService/ListShares", {"accountsOnly": True}))
LEAST_S = 1


class Viewer:
    """A stream, and a second connection for calls, one call at a time."""

    def __init__(self, address, number):
        host, port = address.rsplit(":", 1)
        self.head = f"Host: {address}\r\nAuthorization: Bearer viewer-secret-{number:06}\r\n"
        self.stream = socket.create_connection((host, int(port)))
        self.stream.sendall(f"GET /live?topics=sequence HTTP/1.1\r\n{self.head}\r\n".encode())
        self.calls = socket.create_connection((host, int(port)))
        self.news, self.left, self.text, self.last_s = False, [], b"", 0.0
        for part in (self.stream, self.calls):
            part.setblocking(False)

    def begin(self, now_s):
        self.news, self.left, self.last_s = False, list(CALLS), now_s
        self.next_call()

    def next_call(self):
        method, request = self.left[0]
        body = json.dumps(request).encode()
        self.asked_s = time.monotonic()
        self.calls.sendall(f"POST /subak.v1.{method} HTTP/1.1\r\n{self.head}Content-Type: application/json"
                           f"\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)

    def answered(self):
        """True once the whole answer is there."""
        head, found, body = self.text.partition(b"\r\n\r\n")
        if not found:
            return False
        if not head.startswith(b"HTTP/1.1 200"):
            raise SystemExit(f"viewers_load: {head.decode()} {body.decode()}")
        length = next(int(line.split(b":")[1]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length"))
        if len(body) < length:
            return False
        self.text = body[length:]
        return True


def main():
    viewers = [Viewer(sys.argv[1], number) for number in range(int(sys.argv[2]))]
    waits = selectors.DefaultSelector()
    waits.register(sys.stdin, selectors.EVENT_READ, None)
    for viewer in viewers:
        waits.register(viewer.stream, selectors.EVENT_READ, (viewer, True))
        waits.register(viewer.calls, selectors.EVENT_READ, (viewer, False))
    done = {"events": 0, "answers": 0, "bytes": 0, "longest_ms": 0.0, "ended": 0}
    while True:
        for key, _ in waits.select(timeout=0.1):
            if key.data is None:
                print(json.dumps(done), flush=True)
                return
            viewer, is_stream = key.data
            part = key.fileobj.recv(1 << 18)
            done["bytes"] += len(part)
            if not part:
                waits.unregister(key.fileobj)
                done["ended"] += 1
            elif is_stream:
                done["events"] += part.count(b"event: sequence")
                viewer.news = viewer.news or b"event: sequence" in part
            else:
                viewer.text += part
                while viewer.left and viewer.answered():
                    done["answers"] += 1
                    done["longest_ms"] = max(done["longest_ms"], (time.monotonic() - viewer.asked_s) * 1000)
                    viewer.left.pop(0)
                    if viewer.left:
                        viewer.next_call()
        now_s = time.monotonic()
        for viewer in viewers:
            if viewer.news and not viewer.left and now_s - viewer.last_s >= LEAST_S:
                viewer.begin(now_s)


if __name__ == "__main__":
    main()
