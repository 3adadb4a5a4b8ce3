"""What the embedded servers have in common: one process tree on one data folder, from start to end.

A server runs under a keeper (`workers.keeper`), so it ends when its owner does, however that happens. As long
as any of its processes lives it holds the lock of its data folder: a second start waits for a server that is
still going down, and gives up when it stays.
"""

from __future__ import annotations

import fcntl
import os
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import IO, ClassVar, Self

from app.domain.errors import ConflictError, UnavailableError
from app.embedded.accounts import Account, server_account
from app.embedded.folders import claim_socket_folder, drop_socket_folder, make_folder, socket_folder
from workers.keeper import Kept

READY_S = 60.0
HANDOVER_S = 30.0
"""How long to wait for an earlier server: longer than the grace of any."""
LOOK_S = 0.02
LOG_LIMIT = 10 * 1024 * 1024
LOG_TAIL_LINES = 15


class EmbeddedServer(ABC):
    """A server of our own on the folder `data_dir`, which is created when it is missing.

    Start, stop and restart it as often as you like; as a context manager it runs for the block.
    """

    title: ClassVar[str]
    stop_signal: ClassVar[str]
    grace_s: ClassVar[float]
    """What an orderly end may take [s]; then the server is killed."""

    def __init__(self, data_dir: Path) -> None:
        self.data_dir = Path(data_dir).resolve()
        self.data = self.data_dir / "data"
        self.log = self.data_dir / "server.log"
        self._kept: Kept | None = None
        self._log_begin = 0

    @cached_property
    def account(self) -> Account:
        """The user that the server runs as."""
        return server_account(self.data)

    @property
    def socket_folder(self) -> Path:
        """The folder of the server's socket, the same for every process that asks for this data folder."""
        return socket_folder(self.data_dir, self.account)

    def start(self, *, ready_s: float = READY_S, handover_s: float = HANDOVER_S) -> None:
        """Start the server and return when it answers; nothing happens when it runs already.

        Args:
            ready_s: How long the server may take until it answers [s]; recovery after a crash counts.
            handover_s: How long to wait for an earlier server on this data folder to go down [s].

        Raises:
            ConflictError: Another server runs on this data folder.
            UnavailableError: The programs are missing, the folder cannot be used, or the server does not come
                up; then the end of its log is part of the message.
        """
        if self.alive():
            return
        self.stop()
        try:
            self._launch(handover_s)
            self._wait_until_ready(ready_s)
        except OSError as error:
            self.stop()
            raise UnavailableError(f"cannot start {self.title} in {self.data_dir}: {error}") from error
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """End the server in good order, by force when that takes longer than its grace."""
        if self._kept is None:
            return
        self._kept.close()
        self._kept = None
        with suppress(ConflictError, OSError), self._lock(0):  # not under the feet of a successor
            drop_socket_folder(self.socket_folder)

    def alive(self) -> bool:
        """Say whether the server that this object started still runs."""
        return self._kept is not None and self._kept.poll() is None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @abstractmethod
    def _prepare(self, lock: int) -> list[str]:
        """Make `data` ready for the server and return the server's command; every process gets the lock."""

    @abstractmethod
    def _answers(self) -> bool:
        """Try the server and say whether it serves."""

    def _launch(self, handover_s: float) -> None:
        make_folder(self.data_dir)
        self._require_passage()
        with self._lock(handover_s) as lock:
            self._begin_log()
            command = self._prepare(lock)
            claim_socket_folder(self.socket_folder, self.account)
            self._kept = self._keep(command, lock)

    def _require_passage(self) -> None:
        barrier = None if self.account.is_self else self.account.barrier(self.data_dir)
        if barrier is not None:
            raise UnavailableError(
                f"{self.title} runs as {self.account.name}, not as root, and {self.account.name} cannot pass "
                f"{barrier} on the way to {self.data_dir}: choose a data folder elsewhere, such as "
                f"/var/lib/ratchet, or open that one with: chmod o+x '{barrier}'"
            )

    @contextmanager
    def _lock(self, wait_s: float) -> Iterator[int]:
        """Hold the data folder's lock; who inherits the descriptor goes on holding it afterwards."""
        lock = os.open(self.data_dir / "lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            deadline = time.monotonic() + wait_s
            while not _try_lock(lock):
                if time.monotonic() >= deadline:
                    raise ConflictError(
                        f"another {self.title} runs on {self.data_dir}: stop the process that started it, "
                        "or choose another data folder"
                    )
                time.sleep(LOOK_S)
            yield lock
        finally:
            os.close(lock)

    def _begin_log(self) -> None:
        with suppress(FileNotFoundError):
            if self.log.stat().st_size > LOG_LIMIT:
                self.log.rename(self.log.with_suffix(".log.1"))
        with self._open_log() as log:
            self._log_begin = log.seek(0, os.SEEK_END)

    def _open_log(self) -> IO[bytes]:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        return open(os.open(self.log, flags, 0o600), "ab")

    def _keep(self, command: list[str], lock: int) -> Kept:
        """Start `command` as the server's account: output to the log, nothing of our environment."""
        with self._open_log() as log:
            return Kept(
                command,
                user=self.account.uid,
                signal=self.stop_signal,
                grace_s=self.grace_s,
                cwd="/",
                env={"PATH": os.defpath, "LC_ALL": "C"},
                stdout=log,
                stderr=subprocess.STDOUT,
                pass_fds=(lock,),
            )

    def _wait_until_ready(self, ready_s: float) -> None:
        deadline = time.monotonic() + ready_s
        while not self._answers():
            if not self.alive():
                raise UnavailableError(self._report("ended while it was starting"))
            if time.monotonic() > deadline:
                raise UnavailableError(self._report(f"did not answer within {ready_s:g} s"))
            time.sleep(LOOK_S)

    def _report(self, what: str) -> str:
        """Return a message with the last lines that the server wrote since it was started."""
        with self.log.open("rb") as log:
            log.seek(max(self._log_begin, log.seek(0, os.SEEK_END) - 16 * 1024))
            lines = log.read().decode(errors="replace").splitlines()[-LOG_TAIL_LINES:]
        return "\n".join([f"{self.title} in {self.data_dir} {what}; the end of {self.log}:", *lines])


def _try_lock(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
