"""Durations as settings write them: `90s`, `20m`, `1h30m`.

Apart from `app.domain.units`, where `m` is a prefix: here it can only be minutes.
"""

from __future__ import annotations

import re

_AMOUNT = r"([0-9]{1,9}(?:\.[0-9]{1,9})?)"
_DURATION = re.compile(rf"(?:{_AMOUNT}h)?(?:{_AMOUNT}m)?(?:{_AMOUNT}s)?")
_SECONDS = (3600, 60, 1)


def parse_duration(text: str) -> float:
    """Return the duration in seconds; hours come before minutes before seconds, each at most once.

    Raises:
        ValueError: `text` is no duration.
    """
    match = _DURATION.fullmatch(text)
    if match is None or not text:
        raise ValueError("hours, minutes and seconds in this order, such as 1h30m")
    amounts = (float(amount or 0) for amount in match.groups())
    return sum(amount * seconds for amount, seconds in zip(amounts, _SECONDS, strict=True))
