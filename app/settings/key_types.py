"""What keys may hold, as data: how each type is documented, what a refusal asks for, and how it is read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from app.settings import conversions
from app.settings.positions import Path
from app.settings.wording import nearest, shown

MAX_ITEMS = 200
"""The most elements of a list, and keys of a table of the writer's choice."""


class UnfitError(Exception):
    """A value that its key cannot take; `at` leads to the element of a list or table that is wrong."""

    def __init__(self, wanted: str, found: object, *, hint: str = "", at: Path = ()) -> None:
        super().__init__(f"expected {wanted}, found {shown(found)}" + (f": {hint}" if hint else ""))
        self.at = at


@dataclass(frozen=True)
class KeyType:
    """A type: `label` names it in the documentation, `wanted` completes "expected …" in a refusal.

    `convert` returns what a TOML value stands for, or raises ValueError with a hint.
    """

    label: str
    wanted: str
    convert: Callable[[object], Any]

    def read(self, found: object, at: Path = ()) -> Any:
        """Return the value that `found` stands for.

        Raises:
            UnfitError: it stands for none; it was found `at` this place within the key's value.
        """
        try:
            return self.convert(found)
        except ValueError as reason:
            raise UnfitError(self.wanted, found, hint=str(reason), at=at) from None


def choice(*words: str) -> KeyType:
    """Return the type of a key that takes one of `words`."""

    def convert(found: object) -> str:
        if isinstance(found, str) and found in words:
            return found
        near = nearest(found, words) if isinstance(found, str) else None
        raise ValueError(f"did you mean {shown(near)}?" if near else "")

    wanted = " or ".join(shown(word) for word in words)
    return KeyType(" or ".join(f"`{shown(word)}`" for word in words), wanted, convert)


def list_of(item: KeyType, label: str, wanted: str, *, least: int = 0) -> KeyType:
    """Return the type of a list of `item`, from `least` elements up; it is read as a tuple."""

    def convert(found: object) -> tuple[Any, ...]:
        if not isinstance(found, list):
            raise ValueError
        if len(found) < least:
            raise ValueError(f"at least {least} is needed")
        if len(found) > MAX_ITEMS:
            raise ValueError(f"at most {MAX_ITEMS} elements, not {len(found)}")
        return tuple(item.read(element, at=(index,)) for index, element in enumerate(found))

    return KeyType(label, wanted, convert)


def one_or_list_of(item: KeyType, label: str, wanted: str) -> KeyType:
    """Return the type of one `item` or a list of at least one; it is read as a tuple."""
    several = list_of(item, label, wanted, least=1)

    def convert(found: object) -> tuple[Any, ...]:
        if isinstance(found, str):
            return (item.convert(found),)
        elements: tuple[Any, ...] = several.convert(found)
        return elements

    return KeyType(label, wanted, convert)


def table_of(name: KeyType, item: KeyType, label: str, wanted: str) -> KeyType:
    """Return the type of a table whose keys are `name`s and whose values are `item`s."""

    def convert(found: object) -> dict[str, Any]:
        if not isinstance(found, dict):
            raise ValueError
        if len(found) > MAX_ITEMS:
            raise ValueError(f"at most {MAX_ITEMS} keys")
        return {name.read(key, at=(key,)): item.read(value, at=(key,)) for key, value in found.items()}

    return KeyType(label, wanted, convert)


NAME = KeyType("text", 'a name such as "inference"', conversions.name)
BENCHMARK = KeyType("text", 'the name of a benchmark such as "resize"', conversions.name)
PROJECT = KeyType("text", 'a name such as "owner/repository"', conversions.project)
BRANCH = KeyType("text", 'the name of a branch such as "main"', conversions.branch)
METRIC = KeyType("text", 'the name of a metric such as "latency_p50"', conversions.name)
UNIT = KeyType("text", 'a unit such as "tokens/s"', conversions.name)
TRIGGER = KeyType("text", 'a trigger such as "pull_request"', conversions.name)
PERSON = KeyType("text", 'a person or team such as "@alice"', conversions.name)
CURRENCY = KeyType("text", 'the three letters of a currency such as "USD"', conversions.currency)
COMMAND = KeyType("text", 'a shell command such as "pip install -e ."', conversions.filled_text)
TEXT = KeyType("text", 'a text such as "1"', conversions.any_text)
VARIABLE = KeyType(
    "text", 'the name of an environment variable such as "OMP_NUM_THREADS"', conversions.variable
)
FILE = KeyType("path", 'a path within the repository such as "out.jsonl"', conversions.path)
BENCHMARK_GLOB = KeyType(
    "glob", 'a glob within the repository such as "benchmarks/bench_*.py"', conversions.path_glob
)
PATH_GLOB = KeyType("glob", 'a glob within the repository such as "src/**"', conversions.path_glob)
BENCHMARK_NAMES = KeyType("glob", 'a glob on benchmarks such as "serve_*"', conversions.name)
DEVICE_GLOB = KeyType("glob", 'a glob on device classes such as "nvidia-*"', conversions.name)
FLAG = KeyType("true or false", "true or false", conversions.flag)
PRICE = KeyType("number", "a number of at least 0 such as 2.49", conversions.price)
DEVICE_COUNT = KeyType(
    "whole number", f"a whole number from 1 to {conversions.MAX_DEVICES}", conversions.device_count
)
DEVICE_MINUTES = KeyType(
    "number",
    f"a number of minutes above 0 and at most {conversions.MAX_DEVICE_MINUTES:g}",
    conversions.device_minutes,
)
EFFECT = KeyType(
    "percentage", 'a percentage such as "0.5%" (or 0.005), at least 0 and below 100%', conversions.effect
)
DURATION = KeyType("duration", 'a duration such as "20m" (units s, m, h)', conversions.duration)
AMOUNT = KeyType(
    "quantity", 'a number above 0, with or without what it counts, such as "2.5e9 tokens"', conversions.amount
)
PUE = KeyType("number", "a number from 1 to 10 such as 1.3", conversions.pue)
QUANTITY = KeyType("quantity", 'a number with its unit such as "50 ms"', conversions.quantity)
CRON = KeyType("cron expression", 'five fields of cron such as "0 2 * * *"', conversions.cron)
DATE = KeyType("date", "a date such as 2026-01-31", conversions.day)

BENCHMARK_FILES = one_or_list_of(
    BENCHMARK_GLOB, "glob, or list of globs", 'a glob such as "benchmarks/bench_*.py", or a list of globs'
)
COMMANDS = list_of(COMMAND, "list of texts", 'a list of shell commands such as ["pip install -e ."]')
PATH_GLOBS = list_of(PATH_GLOB, "list of globs", 'a list of globs such as ["src/**"]')
DEVICE_GLOBS = list_of(DEVICE_GLOB, "list of globs", 'a list of globs such as ["nvidia-*"]', least=1)
TRIGGERS = list_of(TRIGGER, "list of texts", 'a list of triggers such as ["pull_request", "nightly"]')
METRICS = list_of(METRIC, "list of texts", 'a list of metrics such as ["latency_p99"]', least=1)
PEOPLE = list_of(PERSON, "list of texts", 'a list of people such as ["@alice"]', least=1)
ENVIRONMENT = table_of(VARIABLE, TEXT, "table of texts", 'a table of texts such as { OMP_NUM_THREADS = "1" }')
