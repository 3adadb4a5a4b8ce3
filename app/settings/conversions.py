"""From a TOML value to the value that a key holds, one function per kind of value.

Each raises ValueError for what it cannot take; the error's text is a hint for the writer of the file, and is
empty where the description of the kind says enough.
"""

from __future__ import annotations

import math
import re
from datetime import UTC, date, datetime

from app.domain.errors import DataError
from app.domain.projects import stands_in_addresses
from app.domain.units import COUNTED, Quantity, parse_quantity
from app.settings.durations import parse_duration

MAX_TEXT = 8192
MAX_NAME_BYTES = 255
MAX_DURATION_S = 24 * 3600.0
MAX_DEVICE_MINUTES = 24 * 60.0
MAX_DEVICES = 64
MAX_PUE = 10.0

_PERCENTAGE = re.compile(r"([0-9]{1,9}(?:\.[0-9]{0,9})?) ?%")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_CURRENCY = re.compile(r"[A-Z]{3}")
_BRANCH_FAULT = re.compile(r"[\s~^:?*\[\\]|\.\.|@\{|//|^[-/.]|[/.]$|\.lock$")
"""What `git check-ref-format` refuses, and a leading dash, which commands would take for an option."""


def any_text(found: object) -> str:
    """Take a text that can be handed to a program, the empty one included."""
    if not isinstance(found, str):
        raise ValueError
    if "\0" in found:
        raise ValueError("a NUL character cannot be passed on to a program")
    if len(found) > MAX_TEXT:
        raise ValueError(f"at most {MAX_TEXT} characters")
    return found


def filled_text(found: object) -> str:
    """Take a text that is not blank."""
    text = any_text(found)
    if not text.strip():
        raise ValueError
    return text


def name(found: object) -> str:
    """Take a short, printable text, as it may stand in a table and an address."""
    text = filled_text(found)
    if text != text.strip():
        raise ValueError("no blanks around it")
    if len(text.encode()) > MAX_NAME_BYTES:
        raise ValueError(f"at most {MAX_NAME_BYTES} bytes")
    if not text.isprintable():
        raise ValueError("printable characters only")
    return text


def project(found: object) -> str:
    """Take a project's name, which has a place in addresses."""
    text = name(found)
    if not stands_in_addresses(text):
        raise ValueError("no part . or .., which no address keeps")
    return text


def branch(found: object) -> str:
    """Take the name of a git branch."""
    text = name(found)
    if _BRANCH_FAULT.search(text):
        raise ValueError("git allows no such name")
    return text


def path(found: object) -> str:
    """Take a file's path within the repository."""
    text = name(found).removeprefix("./")
    if text.startswith("/") or "\\" in text or ".." in text.split("/"):
        raise ValueError("relative to the repository's root, with forward slashes and without ..")
    if not text or text.endswith("/"):
        raise ValueError("a file, not a folder")
    return text


def path_glob(found: object) -> str:
    """Take a glob of such paths; a folder means everything below it."""
    text = name(found)
    return path(f"{text}**" if text.endswith("/") else text)


def variable(found: object) -> str:
    """Take the name of an environment variable."""
    text = any_text(found)
    if not _VARIABLE.fullmatch(text):
        raise ValueError("letters, digits and underscores, not beginning with a digit")
    return text


def flag(found: object) -> bool:
    """Take true or false."""
    if not isinstance(found, bool):
        raise ValueError
    return found


def number(found: object) -> float:
    """Take a finite number."""
    if isinstance(found, bool) or not isinstance(found, int | float):
        raise ValueError
    try:
        value = float(found)
    except OverflowError:
        raise ValueError from None
    if not math.isfinite(value):
        raise ValueError
    return value


def device_count(found: object) -> int:
    """Take a number of devices of one worker."""
    if isinstance(found, bool) or not isinstance(found, int) or not 1 <= found <= MAX_DEVICES:
        raise ValueError
    return found


def device_minutes(found: object) -> float:
    """Take an amount of device time [min]."""
    minutes = number(found)
    if not 0 < minutes <= MAX_DEVICE_MINUTES:
        raise ValueError
    return minutes


def price(found: object) -> float:
    """Take an amount of money; what is one's own may cost nothing."""
    amount = number(found)
    if amount < 0:
        raise ValueError
    return amount


def pue(found: object) -> float:
    """Take how much a building draws for each kilowatt-hour that its devices do."""
    factor = number(found)
    if not 1 <= factor <= MAX_PUE:
        raise ValueError
    return factor


def amount(found: object) -> Quantity:
    """Take how much of something is done."""
    told = quantity(found)
    if told.value <= 0:
        raise ValueError
    if told.unit not in ("1", *COUNTED):
        raise ValueError(
            "what is counted is tokens, samples, requests and the like, or calls, which have no unit"
        )
    return told


def effect(found: object) -> float:
    """Take a percentage as a fraction; a plain number is the fraction itself."""
    percentage = _PERCENTAGE.fullmatch(found) if isinstance(found, str) else None
    fraction = float(percentage[1]) / 100 if percentage else number(found)
    if not percentage and 1 <= fraction < 100:
        raise ValueError(f'did you mean "{fraction:g}%"?')
    if not 0 <= fraction < 1:
        raise ValueError
    return fraction


def duration(found: object) -> float:
    """Take a duration [s] of up to a day."""
    seconds = parse_duration(any_text(found))
    if not 0 < seconds <= MAX_DURATION_S:
        raise ValueError("above 0 and at most 24 hours")
    return seconds


def quantity(found: object) -> Quantity:
    """Take a number with its unit; a plain number has unit 1."""
    if not isinstance(found, str):
        return Quantity(number(found), "1")
    try:
        return parse_quantity(found)
    except DataError as error:
        raise ValueError(str(error)) from None


def cron(found: object) -> str:
    """Take the five fields of a cron expression."""
    # Imported here: it comes with the service's extra, and a file without schedules can be read without it.
    from cronsim import CronSim, CronSimError

    fields = name(found).split()
    if len(fields) != 5:
        raise ValueError("minute, hour, day of month, month and day of week")
    try:
        CronSim(" ".join(fields), datetime(2000, 1, 1, tzinfo=UTC))
    except CronSimError as error:
        raise ValueError(str(error).lower()) from None
    return " ".join(fields)


def day(found: object) -> date:
    """Take a date without a time."""
    if isinstance(found, str | datetime):
        raise ValueError("without quotes and without a time of day")
    if not isinstance(found, date):
        raise ValueError
    return found


def currency(found: object) -> str:
    """Take a currency's code."""
    text = any_text(found)
    if not _CURRENCY.fullmatch(text):
        raise ValueError
    return text
