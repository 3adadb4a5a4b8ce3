"""What was imported, as documents that `POST /api/v1/results/batch` takes, judged as the service will judge them.

A result that would be refused is left out of its document and told with its place in the file, so that it keeps nothing
else out. Points are backdated to the date of their commit, unless the file knows better.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any

from app.domain.errors import PayloadError, Problem
from app.domain.results import Better
from app.formats.fields import FORBIDDEN, MAX_NAME_B
from app.formats.imported.lineage import Lineage
from app.formats.imported.model import BadValueError, ImportedCommit, ImportedResult, Measured
from app.formats.imported.portions import (
    MOST_RESULTS,
    MOST_VALUES,
    SUMMARISED,
    is_too_large,
    portions,
    summarised,
)
from app.formats.problems import shown
from app.formats.results_payload import read_payload

_OF_RESULT = re.compile(r"results\[(\d+)\]\.?(.*)")

NO_COMMIT = "the file names no commit: give --commit"
NO_DATE = "neither the file nor a clone tells the date of the commit: give --date, or --repo"
GIVE_REPO = "write all its digits, or give --repo, a clone that knows them"

_ABBREVIATED = re.compile("[0-9a-fA-F]{4,39}")


class _NotWantedError(Exception):
    """A commit that stays out; the message says why, behind a number of results."""


@dataclass(frozen=True)
class ImportWishes:
    """What the caller says of an import; what is None or empty is left to the files."""

    project: str
    branch: str | None = None
    device_class: str | None = None
    commit: str | None = None
    date: datetime | None = None
    higher: tuple[str, ...] = ()
    """Globs of benchmarks of which more is better, whatever their format says; and `lower` the other way."""
    lower: tuple[str, ...] = ()


@dataclass
class PreparedDocument:
    """A document as it is posted: `line` is its JSON, `places` are those of its results in the file."""

    file: str
    line: bytes
    places: list[str]

    @classmethod
    def of(cls, file: str, body: dict[str, Any], places: list[str]) -> PreparedDocument:
        """Return the document with this content."""
        document = cls(file, b"", places)
        document._become(body)
        return document

    @cached_property
    def body(self) -> dict[str, Any]:
        """What is in it; it is read only for a document of which something is refused."""
        found: dict[str, Any] = json.loads(self.line)
        return found

    @property
    def order(self) -> tuple[int, datetime]:
        """Where it stands among others: by its commit's position, then by its date."""
        return self.body.get("position", -1), datetime.fromisoformat(self.body["measured_at"])

    def without(self, indices: Iterable[int]) -> None:
        """Take results out of it."""
        bad = set(indices)
        self.places = [place for i, place in enumerate(self.places) if i not in bad]
        results = [r for i, r in enumerate(self.body["results"]) if i not in bad]
        self._become(self.body | {"results": results})

    def _become(self, body: dict[str, Any]) -> None:
        self.body = body
        # Escaped, so that even half a character of UTF-16 comes as far as the judge, who names its place.
        self.line = json.dumps(body, separators=(",", ":")).encode()


@dataclass(frozen=True)
class Refused:
    """Something of a file that does not come in: where it stands, what is wrong with it, and how much it is."""

    file: str
    place: str
    message: str
    results: int = 0


@dataclass
class Preparing:
    """Makes documents of what files say; what came of it is in `refused`, `left_out` and `noted`."""

    wishes: ImportWishes
    now: datetime
    lineage: Lineage | None = None
    refused: list[Refused] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    noted: Counter[str] = field(default_factory=Counter)
    machines: dict[str, str] = field(default_factory=dict)
    """Device class -> the machine that has it; of several machines of one class only the first does."""

    def prepare(self, file: str, measured: Measured) -> list[PreparedDocument]:
        """Return the documents of one run: more than one where it is too large, or has a case twice."""
        commit = self._commit(file, measured)
        if commit is None:
            return []
        head = self._head(commit, measured)
        documents = [
            PreparedDocument.of(
                file, head | {"results": [self._result(one) for one in some]}, [one.place for one in some]
            )
            for some in portions(map(self._within_limits, measured.results), MOST_RESULTS, MOST_VALUES)
        ]
        good = [document for document in documents if self._judge(document)]
        for note in measured.notes:
            self.noted[note] += sum(len(document.places) for document in good)
        return good

    def _commit(self, file: str, measured: Measured) -> ImportedCommit | None:
        """Return the commit with everything that is known of it; None where it cannot be told, or is not wanted."""
        n = len(measured.results)
        try:
            return self._completed(measured)
        except _NotWantedError as reason:
            self.left_out[str(reason)] += n
        except BadValueError as error:
            self.refused.append(Refused(file, measured.place, str(error), n))
        return None

    def _completed(self, measured: Measured) -> ImportedCommit:
        commit = measured.commit
        sha = (commit.sha or self.wishes.commit or "").lower()
        known = self._known(sha)
        told = known or commit
        return ImportedCommit(
            sha=told.sha or sha,
            time=self._commit_time(measured, known),
            parent=told.parent or commit.parent,
            branch=self._branch(commit, known),
            author=told.author or commit.author,
            subject=told.subject or commit.subject,
            position=told.position,
        )

    def _known(self, sha: str) -> ImportedCommit | None:
        """Return the commit as the clone knows it, where there is one."""
        if not sha:
            raise BadValueError(NO_COMMIT)
        if self.lineage is None:
            if is_abbreviated(sha):
                raise BadValueError(f"commit {shown(sha)} is abbreviated: {GIVE_REPO}")
            return None
        known = self.lineage.find(sha)
        if known is None:
            name = self.lineage.name
            raise _NotWantedError(f"of commits that are not on the line of first parents of {name}")
        return known

    def _commit_time(self, measured: Measured, known: ImportedCommit | None) -> datetime | None:
        time = measured.commit.time or self.wishes.date or (known.time if known else None)
        if time is None and not measured.is_exact:
            time = measured.measured_at
            if time is None:
                raise BadValueError(NO_DATE)
        return time

    def _branch(self, commit: ImportedCommit, known: ImportedCommit | None) -> str | None:
        branch = self.wishes.branch or (None if known else commit.branch)
        if branch == "":
            raise _NotWantedError("of pull requests whose branch is not told: --branch names one")
        return branch

    def _within_limits(self, one: ImportedResult) -> ImportedResult:
        if not is_too_large(one):
            return one
        self.noted[SUMMARISED] += 1
        return summarised(one)

    def _head(self, commit: ImportedCommit, measured: Measured) -> dict[str, Any]:
        measured_at = self._point_time(commit, measured)
        assert measured_at is not None
        head = {
            "project": self.wishes.project,
            "commit": commit.sha,
            "parent": commit.parent,
            "branch": commit.branch,
            "time": commit.time and commit.time.isoformat(),
            "author": label(commit.author),
            "subject": label(commit.subject),
            "position": commit.position,
            "measured_at": measured_at.isoformat(),
            "device_class": self._device_class(measured),
            "environment": measured.environment,
        }
        return {name: value for name, value in head.items() if value not in (None, "")}

    def _point_time(self, commit: ImportedCommit, measured: Measured) -> datetime | None:
        """Return when the point counts: whatever a file says goes before a clone, so that it is the same with one."""
        if measured.is_exact:
            return measured.measured_at
        return measured.commit.time or self.wishes.date or measured.measured_at or commit.time

    def _device_class(self, measured: Measured) -> str:
        if self.wishes.device_class:
            return self.wishes.device_class
        name = measured.device_class or measured.machine.device_class
        first = self.machines.setdefault(name, measured.machine.name)
        if first == measured.machine.name:
            return name
        own = f"{name}-{'-'.join(re.findall('[a-z0-9]+', measured.machine.name.lower()))}"
        self.machines.setdefault(own, measured.machine.name)
        return own

    def _result(self, one: ImportedResult) -> dict[str, Any]:
        result = {
            "benchmark": one.benchmark,
            "params": one.params,
            "metric": one.metric,
            "unit": one.unit,
            "better": self._better(one),
            "values": one.values,
            "low": one.low,
            "high": one.high,
            "version": one.version or None,
        }
        return {name: value for name, value in result.items() if value is not None}

    def _better(self, one: ImportedResult) -> Better:
        if any(fnmatchcase(one.benchmark, glob) for glob in self.wishes.higher):
            return "higher"
        return "lower" if any(fnmatchcase(one.benchmark, glob) for glob in self.wishes.lower) else one.better

    def _judge(self, document: PreparedDocument) -> bool:
        """Take out of the document what the service would refuse; tell whether anything is left."""
        while document.places:
            try:
                read_payload(document.line, now=self.now)
            except PayloadError as error:
                self.drop(document, error.problems)
            else:
                return True
        return False

    def drop(self, document: PreparedDocument, problems: Sequence[Problem]) -> None:
        """Take out of the document the results that the problems are about, or all where one is about none."""
        found = [(problem, _OF_RESULT.fullmatch(problem.path)) for problem in problems]
        whole = [problem for problem, match in found if match is None]
        if whole:
            message = f"{whole[0].path}: {whole[0].message}"
            self.refused.append(Refused(document.file, document.places[0], message, len(document.places)))
            document.without(range(len(document.places)))
            return
        by_index: dict[int, str] = {}
        for problem, match in found:
            assert match is not None
            index = int(match[1])
            if index not in by_index:
                by_index[index] = self._told(document, index, match[2], problem.message)
        self.refused += [
            Refused(document.file, document.places[index], message, 1) for index, message in by_index.items()
        ]
        document.without(by_index)

    def _told(self, document: PreparedDocument, index: int, key: str, message: str) -> str:
        """Return what is wrong with a field of a result, with its value."""
        value = document.body["results"][index].get(key)
        written = f"{key} {shown(value)}" if isinstance(value, str) and shown(value) not in message else key
        return f"{written}: {message}" if written else message


def is_abbreviated(sha: str) -> bool:
    """Tell the beginning of a commit's id."""
    return _ABBREVIATED.fullmatch(sha) is not None


def label(text: str) -> str:
    """Return an author's name or a commit's subject as the service keeps it: in normal form C, and cut if need be."""
    plain = FORBIDDEN.sub(" ", unicodedata.normalize("NFC", text)).encode("utf-8", "replace")
    return plain[:MAX_NAME_B].decode("utf-8", "ignore").strip()
