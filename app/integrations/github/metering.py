"""How often GitHub was called, and how much it still takes: noted of every answer, until somebody keeps it."""

from __future__ import annotations

import threading
from collections import Counter
from datetime import UTC, datetime
from typing import Any

from app.integrations.forge import Quota, Usage

CORE = "core"
"""The quota of all calls that we make; GitHub has others, of searches and the like."""


class Meter:
    """What calls came to; for any thread, each of which makes one call at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._of_thread = threading.local()
        self._calls: Counter[str] = Counter()
        self._quotas: dict[str, Quota] = {}

    def answered(self, whose: str, response: Any) -> None:
        """Note an answer; `whose` quota it counts against."""
        self._of_thread.is_open = False
        quota = quota_of(response.headers)
        with self._lock:
            self._calls[str(response.status_code)] += 1
            if quota is not None:
                self._quotas[whose] = quota

    def asked(self, _request: Any) -> None:
        """Note a call that begins: whichever this thread began before it, and heard nothing of, had no answer."""
        self._settle(is_open=True)

    def _settle(self, *, is_open: bool) -> None:
        if getattr(self._of_thread, "is_open", False):
            with self._lock:
                self._calls["none"] += 1
        self._of_thread.is_open = is_open

    def take(self) -> Usage:
        """Return what came together since this was last asked, and begin anew; this thread makes no call just now."""
        self._settle(is_open=False)
        with self._lock:
            usage = Usage(dict(self._calls), dict(self._quotas))
            self._calls.clear()
            self._quotas.clear()
        return usage


def quota_of(headers: Any) -> Quota | None:
    """Return what an answer says of the quota; None where it says nothing that can be read."""
    if headers.get("x-ratelimit-resource", CORE) != CORE:
        return None
    try:
        until = datetime.fromtimestamp(int(headers["x-ratelimit-reset"]), UTC)
        return Quota(int(headers["x-ratelimit-remaining"]), until)
    except (KeyError, ValueError, OverflowError, OSError):
        return None
