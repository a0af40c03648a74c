"""One address for several replicas, as a Service of Kubernetes is: a relay of TCP connections on loopback."""

import os
import socket
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
from cutter import Cutter  # noqa: E402


class Relay(Cutter):
    """Each new connection goes to the first of `ports` that takes it."""

    def __init__(self, ports):
        self.ports = list(ports)
        self.takes = True  # False: a new connection ends at once
        super().__init__(None)
        self.url = f"http://127.0.0.1:{self.port}"

    def reach(self):
        for port in self.ports if self.takes else ():
            try:
                return socket.create_connection(("127.0.0.1", port))
            except OSError:
                continue
        raise OSError("no replica takes the connection")
