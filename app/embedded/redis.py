"""The embedded Redis: a broker for hints, reached over a private socket.

It keeps its content in an append-only file, so that a restart does not slow down what was under way; when it
is emptied nothing is lost for good.
"""

from __future__ import annotations

import socket
from pathlib import Path
from urllib.parse import quote

from app.embedded.binaries import find_redis, reachable_folder
from app.embedded.folders import give_folder
from app.embedded.server import EmbeddedServer


class EmbeddedRedis(EmbeddedServer):
    """A Redis server of our own on the folder `data_dir`."""

    title = "Redis"
    stop_signal = "TERM"  # writes out the append-only file
    grace_s = 10.0

    @property
    def socket_path(self) -> Path:
        """The server's socket."""
        return self.socket_folder / "redis.sock"

    def url(self) -> str:
        """Return the URL for Celery; the server need not run."""
        return f"redis+socket://{quote(str(self.socket_path))}?virtual_host=0"

    def client_url(self) -> str:
        """Return the URL for `redis.Redis.from_url`; the server need not run."""
        return f"unix://{quote(str(self.socket_path))}"

    def _prepare(self, lock: int) -> list[str]:
        programs = reachable_folder(find_redis(), self.account, self.data_dir)
        give_folder(self.data, self.account)
        return [
            str(programs / "redis-server"),
            *("--port", "0"),
            *("--unixsocket", str(self.socket_path)),
            *("--unixsocketperm", "700"),
            *("--dir", str(self.data)),
            *("--appendonly", "yes"),
            *("--save", ""),
            *("--maxmemory-policy", "noeviction"),
            *("--hz", "2"),  # it keeps house less often than by default: somebody measures on this machine
        ]

    def _answers(self) -> bool:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(5.0)
            try:
                connection.connect(str(self.socket_path))
                connection.sendall(b"PING\r\n")
                return connection.recv(64).startswith(b"+PONG")
            except OSError:  # not yet: it is starting
                return False
