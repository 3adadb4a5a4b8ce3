"""What a file of another tool says, whichever tool it was: what was measured at which commit, on what.

Names, values and units are as the file has them; what of it the service takes is for `app.formats.results_payload` to
say. Every result knows its place in the file, so that whoever refuses it can name the place.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from app.domain.results import Better, Params

UNKNOWN_CLASS = "unknown"
"""Device class of what was measured nobody knows where."""


@dataclass(frozen=True)
class Machine:
    """What it was measured on: model of the processor, how many threads it has, and what people call the machine."""

    cpu: str = ""
    threads: int | None = None
    name: str = ""

    @property
    def device_class(self) -> str:
        """The class as an agent of ours would name it: `cpu-amd-epyc-7763-16t`; `unknown` where nothing is known."""
        words = _slug(self.cpu) or _slug(self.name)
        threads = f"{self.threads}t" if self.threads else ""
        return "-".join(filter(None, ("cpu", words, threads))) if words or threads else UNKNOWN_CLASS


_MARKETING = re.compile(r"\((?:R|TM|C|\d+ cores)\)|\bCPU\b|\bProcessor\b|@.*|\b\d+-Core\b", re.IGNORECASE)
"""What makers write beside a processor's name: trade marks, clocks and core counts."""


def _slug(text: str) -> str:
    return "-".join(re.findall(r"[a-z0-9]+", _MARKETING.sub(" ", text).lower()))[:200]


@dataclass(frozen=True)
class ImportedCommit:
    """A commit as the file names it: its id may be abbreviated, or empty where the file names none.

    `branch` is None for that of the project, and empty for another one of which nobody says the name.
    """

    sha: str = ""
    time: datetime | None = None
    parent: str | None = None
    branch: str | None = None
    author: str = ""
    subject: str = ""
    position: int | None = None


@dataclass(frozen=True)
class ImportedResult:
    """The values of one metric of one case, at least one, and where in the file they stand.

    `low` and `high` are the spread that a summary tells; None where the values themselves are there, or nobody says.
    """

    benchmark: str
    params: Params
    metric: str
    unit: str
    better: Better
    values: tuple[float, ...]
    place: str
    low: float | None = None
    high: float | None = None
    version: str = ""


@dataclass(frozen=True)
class Measured:
    """What one run of a tool measured at one commit. `measured_at` is when, where the file says that.

    `device_class` is empty where only the machine is known. `is_exact` says that its point is of the
    time `measured_at`, and not of the date of its commit. `notes` are what people should know of its results.
    """

    commit: ImportedCommit
    machine: Machine
    environment: dict[str, Any]
    results: tuple[ImportedResult, ...]
    place: str
    measured_at: datetime | None = None
    device_class: str = ""
    is_exact: bool = False
    notes: tuple[str, ...] = ()


class BadValueError(Exception):
    """A value that cannot be what its place in the file asks for; the message says what was found and expected."""


@dataclass
class Reading:
    """What comes of reading a file: what was measured, problems as (place, sentence), and what was left out, counted.

    `take` is given what was measured as soon as it is read, so that what a large file says is never there all at once;
    without it everything is kept in `measured`.
    """

    take: Callable[[Measured], None] | None = None
    measured: list[Measured] = field(default_factory=list)
    problems: list[tuple[str, str]] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)

    @contextmanager
    def at(self, place: str) -> Iterator[None]:
        """Note a bad value that is met inside as a problem of this place, and go on behind it."""
        try:
            yield
        except BadValueError as error:
            self.problems.append((place, str(error)))

    def add(
        self,
        commit: ImportedCommit,
        machine: Machine,
        environment: dict[str, Any],
        results: list[ImportedResult],
        place: str,
        *,
        measured_at: datetime | None = None,
        device_class: str = "",
        is_exact: bool = False,
        notes: Iterable[str] = (),
    ) -> None:
        """Note what was measured, where there is any."""
        if results:
            found = Measured(
                commit,
                machine,
                environment,
                tuple(results),
                place,
                measured_at,
                device_class,
                is_exact,
                tuple(notes),
            )
            (self.take or self.measured.append)(found)
