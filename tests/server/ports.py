"""Ports for servers of tests that must know them before they start."""

import socket


def free_ports(count):
    """Ports that nobody has now; all are asked for before the first is given back."""
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports
