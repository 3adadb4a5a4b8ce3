"""One process of the service under its keeper: started, watched, started again after a fall, stopped."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from workers.keeper import Kept

MAX_LOG_B = 10 * 2**20
_FIRST_PAUSE_S = 0.5
_LONGEST_PAUSE_S = 30.0
_STEADY_S = 60.0
"""A process that ran this long fell for a new reason: the pause before its restart begins anew."""


class Child:
    """A process by name. Its output goes to `log`; it ends with whoever made this object, however that ends."""

    def __init__(
        self, name: str, command: Sequence[str], *, env: Mapping[str, str], log: Path, grace_s: float = 10.0
    ) -> None:
        self.name = name
        self.falls = 0
        self._command, self._env, self._log, self._grace_s = list(command), dict(env), log, grace_s
        self._kept: Kept | None = None
        self._started_at = 0.0
        self._pause_s = _FIRST_PAUSE_S
        self._restart_at: float | None = None

    def start(self) -> None:
        """Start the process."""
        _rotate(self._log)
        with self._log.open("ab") as log:
            self._kept = Kept(
                self._command, grace_s=self._grace_s, env=self._env, stdout=log, stderr=subprocess.STDOUT
            )
        self._started_at, self._restart_at = time.monotonic(), None

    def watch(self) -> str | None:
        """Start the process again if it has fallen, after a pause that grows with each fall; say of a new fall."""
        now = time.monotonic()
        if self._kept is None or self._kept.poll() is None:
            return None
        if self._restart_at is None:
            steady = now - self._started_at > _STEADY_S
            self._pause_s = _FIRST_PAUSE_S if steady else min(2 * self._pause_s, _LONGEST_PAUSE_S)
            self._restart_at = now + self._pause_s
            self.falls += 1
            return f"{self.name} ended with status {self.status} and is started again; see {self._log}"
        if now >= self._restart_at:
            self._kept.close()
            self.start()
        return None

    @property
    def status(self) -> int | None:
        """The exit status of the last start, its keeper's; None while it runs or was never started."""
        return None if self._kept is None else self._kept.poll()

    def alive(self) -> bool:
        """Say whether the process runs."""
        return self._kept is not None and self._kept.poll() is None

    def ask_to_stop(self) -> None:
        """Ask the process to end, and do not wait for it."""
        if self._kept is not None and self._kept.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._kept.pid, signal.SIGTERM)

    def stop(self) -> None:
        """Ask the process to end and wait until it and all that it started are gone."""
        if self._kept is not None:
            self._kept.close()

    def last_words(self, lines: int = 8) -> str:
        """Return the end of what the process printed."""
        try:
            with self._log.open("rb") as log:
                log.seek(max(0, log.seek(0, os.SEEK_END) - 8192))
                return "\n".join(log.read().decode(errors="replace").splitlines()[-lines:])
        except OSError:
            return ""


def _rotate(log: Path) -> None:
    if log.exists() and log.stat().st_size > MAX_LOG_B:
        os.replace(log, log.with_suffix(".1.log"))
