"""Waiting for what another process or thread brings about."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

Answer = TypeVar("Answer")


def wait_for(told: Callable[[], Answer], seconds: float = 60.0) -> Answer:
    """Return the first answer that is true, asked again and again."""
    deadline = time.monotonic() + seconds
    while not (answer := told()):
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)
    return answer
