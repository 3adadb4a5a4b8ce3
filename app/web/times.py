"""Times as people say them: `3 minutes ago`, beside the exact time in UTC."""

from __future__ import annotations

from datetime import UTC, datetime

from app.reports.words import count

_UNITS = {"second": 1, "minute": 60, "hour": 3_600, "day": 86_400, "month": 2_629_800, "year": 31_557_600}
"""Lengths [s]; a month is a twelfth of 365.25 days."""

_JUST_NOW_S = 5


def ago(moment: datetime, now: datetime) -> str:
    """Return how long ago `moment` was, in one unit rounded down: `just now`, `3 minutes ago`, `2 days ago`.

    A moment in the future counts as just now: the database's clock and ours may differ a little.
    """
    amount = (now - moment).total_seconds()
    if amount < _JUST_NOW_S:
        return "just now"
    unit, size = max((step for step in _UNITS.items() if step[1] <= amount), key=lambda step: step[1])
    return f"{count(int(amount // size), unit)} ago"


def seconds_between(start: datetime, end: datetime) -> float:
    """Return the time from start to end [s], never negative."""
    return max(0.0, (end - start).total_seconds())


def exact(moment: datetime) -> str:
    """Return the time to the second: `2026-11-21 11:28:03 UTC`."""
    return moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
