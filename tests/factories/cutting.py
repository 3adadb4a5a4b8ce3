"""A network that gives up: connections to a service that end in the middle of an answer."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit


class Network:
    """Passes connections on; of the answers of each only the first `left` bytes, None: all.

    `address` is that of the near end, `passed` what the last connection brought [B].
    """

    def __init__(self, address: str) -> None:
        self.left: int | None = None
        self.passed = 0
        self._there = (urlsplit(address).hostname, urlsplit(address).port)
        self._near = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self._near.getsockname()[1]}"
        self._serving = threading.Thread(target=self._serve, daemon=True)
        self._serving.start()

    def close(self) -> None:
        """Take no more connections."""
        # Whoever waits at a descriptor that is closed may take the connections of what has its number next.
        self._near.shutdown(socket.SHUT_RDWR)
        self._serving.join()
        self._near.close()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._near.accept()
                try:
                    there = socket.create_connection(self._there)
                except OSError:
                    near.close()
                    continue
                self.passed = 0
                threading.Thread(target=self._pass, args=(near, there, None, False), daemon=True).start()
                threading.Thread(target=self._pass, args=(there, near, self.left, True), daemon=True).start()

    def _pass(self, source: socket.socket, target: socket.socket, left: int | None, is_answer: bool) -> None:
        with suppress(OSError):
            while piece := source.recv(4096 if left is None else min(left, 4096)):
                self.passed += len(piece) if is_answer else 0
                target.sendall(piece)
                left = None if left is None else left - len(piece)
                if left == 0:
                    break
        for one in (source, target):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()


@contextmanager
def network(address: str) -> Iterator[Network]:
    """Yield a network before the service of this address."""
    its = Network(address)
    try:
        yield its
    finally:
        its.close()
