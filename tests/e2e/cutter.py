"""A relay of bytes on loopback whose connections can all be cut: to see what a lost watch does."""

import socket
import threading

CHUNK = 65536


class Cutter:
    """Relays `port` to the API server at `to`. TLS goes through it unread."""

    def __init__(self, to):
        self.to, self.lock, self.pairs = to, threading.Lock(), set()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.cuts = 0
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return  # closed
            try:
                far = self.reach()
            except OSError:
                near.close()
                continue
            with self.lock:
                self.pairs.add((near, far))
            for source, sink in ((near, far), (far, near)):
                threading.Thread(target=self.relay, args=(source, sink, (near, far)), daemon=True).start()

    def reach(self):
        """A connection to the other side."""
        far = socket.create_connection(("127.0.0.1", self.to), timeout=10)
        far.settimeout(None)
        return far

    def relay(self, source, sink, pair):
        try:
            while data := source.recv(CHUNK):
                sink.sendall(data)
        except OSError:
            pass
        self.close(pair)

    def close(self, pair):
        with self.lock:
            self.pairs.discard(pair)
        for end in pair:
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            end.close()

    def cut(self):
        """All connections end now, in the middle of whatever they carry."""
        self.cuts += 1
        with self.lock:
            pairs = list(self.pairs)
        for pair in pairs:
            self.close(pair)

    def stop(self):
        self.listener.close()
        self.cut()
