"""A week as ISO 8601 numbers it, in UTC: from Monday's midnight to the next, written `2026-W47`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from app.domain.errors import UsageError

_FORM = re.compile(r"(\d{4})-?W(\d{2})", re.ASCII | re.IGNORECASE)

SPAN = timedelta(days=7)

OLDEST_YEAR, NEWEST_YEAR = 1970, 9990
"""Commits are of no other years, and months before and after a week are dates as well."""


@dataclass(frozen=True, order=True)
class Week:
    """A week, told by its Monday."""

    monday: date

    @property
    def start(self) -> datetime:
        """Its first moment."""
        return datetime.combine(self.monday, time(), UTC)

    @property
    def end(self) -> datetime:
        """The first moment of the next week."""
        return self.start + SPAN

    @property
    def sunday(self) -> date:
        """Its last day."""
        return self.monday + timedelta(days=6)

    def before(self, n: int = 1) -> Week:
        """Return the week `n` weeks earlier."""
        return Week(self.monday - n * SPAN)

    def __contains__(self, moment: datetime) -> bool:
        """Whether a moment is in it."""
        return self.start <= moment < self.end

    def __str__(self) -> str:
        """Return it as ISO 8601 does: `2026-W47`."""
        year, number, _ = self.monday.isocalendar()
        return f"{year:04d}-W{number:02d}"


def week_of(moment: datetime) -> Week:
    """Return the week that a moment is in."""
    day = moment.astimezone(UTC).date()
    return Week(day - timedelta(days=day.weekday()))


def parse_week(text: str) -> Week:
    """Return the week that a text names. Raises UsageError where it names none."""
    found = _FORM.fullmatch(text.strip())
    try:
        if found is None:
            raise ValueError
        year = int(found[1])
        if not OLDEST_YEAR <= year <= NEWEST_YEAR:
            raise ValueError
        return Week(date.fromisocalendar(year, int(found[2]), 1))
    except ValueError:
        raise UsageError(f"{text!r} is no week; write its year and number as in 2026-W47") from None
