"""The data folder of a service on one machine: what lies where, and who runs on it.

DATA_DIR/
  lock            held by the running service
  service.json    its address, while it runs
  admin-token     the administrator's token (mode 0600)
  worker-token    the local agent's token (mode 0600)
  postgres/ redis/ worker/ bundles/ logs/
"""

from __future__ import annotations

import fcntl
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from app.domain.errors import UnavailableError


@dataclass(frozen=True)
class RunningService:
    """Where the service of a data folder can be reached, and the process that supervises it."""

    url: str
    pid: int


class DataDir:
    """A data folder; it is made on first use, and one service at a time holds it."""

    def __init__(self, path: Path) -> None:
        self.path = path.expanduser().resolve()
        self._lock: int | None = None

    @property
    def postgres(self) -> Path:
        """PostgreSQL's folder."""
        return self.path / "postgres"

    @property
    def redis(self) -> Path:
        """Redis' folder."""
        return self.path / "redis"

    @property
    def worker(self) -> Path:
        """The local agent's folder: mirrors, environments, spool."""
        return self.path / "worker"

    @property
    def logs(self) -> Path:
        """What the processes print."""
        return self.path / "logs"

    @property
    def admin_token(self) -> Path:
        """The administrator's token."""
        return self.path / "admin-token"

    @property
    def worker_token(self) -> Path:
        """The local agent's token."""
        return self.path / "worker-token"

    def make(self) -> None:
        """Make the folder. Raises UnavailableError if that is not possible, naming another way."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            self.logs.mkdir(exist_ok=True)
        except OSError as error:
            raise UnavailableError(
                f"cannot use {self.path} as data folder: {error.strerror}; name another with --data-dir"
            ) from error

    def acquire(self) -> bool:
        """Take the folder for this process; return False if another process has it."""
        handle = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            return False
        self._lock = handle
        self._address.unlink(missing_ok=True)
        return True

    def release(self) -> None:
        """Give the folder back."""
        if self._lock is not None:
            self._address.unlink(missing_ok=True)
            os.close(self._lock)
            self._lock = None

    def announce(self, url: str) -> None:
        """Leave word of where the service can be reached."""
        _write(self._address, json.dumps(asdict(RunningService(url, os.getpid()))), 0o644)

    def running(self) -> RunningService | None:
        """Return the service that runs on this folder, None if there is none (or it has just begun)."""
        try:
            found = json.loads(self._address.read_text())
            os.kill(found["pid"], 0)
        except (OSError, ValueError, KeyError):
            return None
        return RunningService(found["url"], found["pid"])

    @property
    def _address(self) -> Path:
        return self.path / "service.json"


def write_secret(path: Path, text: str) -> None:
    """Write a secret that only its owner can read."""
    _write(path, text + "\n", 0o600)


def read_secret(path: Path) -> str | None:
    """Return the secret in the file, or None where it is missing or not ours to read."""
    try:
        return path.read_text().strip() or None
    except OSError:
        return None


def _write(path: Path, text: str, mode: int) -> None:
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    handle = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
    with os.fdopen(handle, "w") as file:
        file.write(text)
    os.replace(partial, path)
