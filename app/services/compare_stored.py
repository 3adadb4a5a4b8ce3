"""Stored numbers of two commits, branches or device classes side by side. Nothing is judged here."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

from sqlalchemy.orm import Session

from app.domain.costs import Costs
from app.domain.errors import NotFoundError, UsageError
from app.domain.hardware import HardwareComparison
from app.domain.results import case_label
from app.services.access import Principal
from app.services.commits_named import commits_named, looks_like_commit
from app.services.visibility import visible_project
from app.services.weigh_hardware import ClassNumbers, weigh_hardware
from app.store.repositories import projects, sides
from app.store.repositories.sides import Side, StoredNumber
from app.store.tables import Project


@dataclass(frozen=True)
class Wanted:
    """One side as somebody names it: a commit by its digits, a branch or a device class; and a class, or "" for all."""

    at: str
    device_class: str = ""


@dataclass(frozen=True)
class Pair:
    """One metric of one case on both sides, or on one."""

    base: StoredNumber | None
    head: StoredNumber | None

    @property
    def either(self) -> StoredNumber:
        """The side that there is, for what both have in common."""
        either = self.head or self.base
        assert either is not None
        return either

    @property
    def name(self) -> str:
        """The case and the metric as people read them, with the device class."""
        its = self.either
        return f"{case_label(its.benchmark, its.params)} {its.metric} {its.device_class}"

    @property
    def change(self) -> float | None:
        """head/base − 1; None where one is missing, or base is 0."""
        if self.base is None or self.head is None or self.base.value == 0:
            return None
        change = self.head.value / self.base.value - 1
        return change if math.isfinite(change) else None

    @property
    def is_worse(self) -> bool:
        """Whether head's number is on the wrong side of base's."""
        change = self.change or 0.0
        return change > 0 if self.either.better == "lower" else change < 0

    @property
    def is_apart(self) -> bool:
        """Whether no value of one side is among those of the other."""
        if self.base is None or self.head is None:
            return False
        return self.head.low > self.base.high or self.head.high < self.base.low

    @property
    def loss(self) -> float:
        """How much worse head is, in logarithms; below zero where it is better. 0 where that cannot be said."""
        size = math.log1p(self.change) if self.change is not None and self.change > -1 else 0.0
        return size if self.either.better == "lower" else -size


def worst_first(pairs: Iterable[Pair]) -> list[Pair]:
    """Return the pairs with those first whose values are apart, and of either kind the worse ones first."""
    return sorted(pairs, key=lambda pair: (not pair.is_apart, -pair.loss))


@dataclass(frozen=True)
class Compared:
    """Both sides: what they are called (a commit's whole id, a branch, a device class), and their pairs, by name."""

    project: Project
    base: str
    head: str
    commits: tuple[str, ...]
    """The ids of those sides that are commits."""
    pairs: tuple[Pair, ...]
    only_base: tuple[Pair, ...]
    only_head: tuple[Pair, ...]
    hardware: HardwareComparison | None = None
    """What the sides' device classes do, draw and cost; None unless both name one, and not the same."""

    @property
    def means(self) -> tuple[MetricMean, ...]:
        """The geometric mean of each metric's ratios, over the pairs that have one, in the order of the metrics."""
        logs: dict[tuple[str, str], list[float]] = defaultdict(list)
        for pair in self.pairs:
            if pair.change is not None and pair.change > -1:
                logs[pair.either.metric, pair.either.better].append(math.log1p(pair.change))
        return tuple(
            MetricMean(metric, better, len(its), math.expm1(math.fsum(its) / len(its)))
            for (metric, better), its in sorted(logs.items())
        )


@dataclass(frozen=True)
class MetricMean:
    """What a metric's ratios head/base are in the geometric mean, less 1, over `n` pairs."""

    metric: str
    better: str
    n: int
    change: float


def compare_stored(
    session: Session,
    principal: Principal | None,
    project: str,
    base: Wanted,
    head: Wanted,
    installation: Costs,
) -> Compared:
    """Return the newest numbers of both sides, paired by case and metric, and by device class unless both name one.

    Prices of `installation` hold where the project's settings state none.

    Raises:
        NotFoundError: there is no such project or commit.
        UsageError: what is named is no commit, branch or device class, or it is ambiguous.
    """
    its_project = visible_project(session, principal, project)
    first, last = _side(session, its_project, "base", base), _side(session, its_project, "head", head)
    is_across = bool(first[0].device_class and last[0].device_class)
    newest = [sides.newest_of(session, side) for side, _ in (first, last)]
    numbers = [_by_key(found, is_across=is_across) for found in newest]
    pairs = [Pair(numbers[0].get(key), numbers[1].get(key)) for key in numbers[0] | numbers[1]]
    return Compared(
        its_project,
        first[1],
        last[1],
        tuple(sha for side, sha in (first, last) if side.commit_id is not None),
        tuple(pair for pair in pairs if pair.base and pair.head),
        tuple(pair for pair in pairs if not pair.head),
        tuple(pair for pair in pairs if not pair.base),
        _hardware(session, its_project, (first[0], last[0]), newest, installation),
    )


def _hardware(
    session: Session,
    project: Project,
    compared: Sequence[Side],
    newest: Sequence[Sequence[StoredNumber]],
    installation: Costs,
) -> HardwareComparison | None:
    classes = [side.device_class for side in compared]
    if not all(classes) or len(set(classes)) < 2:
        return None
    base, head = (ClassNumbers(name or "", found) for name, found in zip(classes, newest, strict=True))
    return weigh_hardware(session, project, _main(session, project), base, head, installation)


def _by_key(numbers: Sequence[StoredNumber], *, is_across: bool) -> dict[Hashable, StoredNumber]:
    return {
        (one.case_id, one.metric, one.unit, one.version, "" if is_across else one.device_class): one
        for one in numbers
    }


def _side(session: Session, project: Project, name: str, wanted: Wanted) -> tuple[Side, str]:
    """Return the side, and what it is called."""
    device_class = wanted.device_class or None
    found = commits_named(session, project.id, wanted.at)
    if len(found) == 1:
        commit = found[0]
        return Side(project.id, commit_id=commit.id, device_class=device_class), commit.sha
    if wanted.at.isprintable() and projects.has_branch(session, project.id, wanted.at):
        return Side(project.id, branch=wanted.at, device_class=device_class), wanted.at
    if device_class is None and wanted.at in projects.device_classes(session, project.id):
        return Side(project.id, branch=_main(session, project), device_class=wanted.at), wanted.at
    raise _unknown(project, name, wanted.at, is_ambiguous=len(found) > 1)


def _main(session: Session, project: Project) -> str:
    """Return the branch that a device class is compared on: the project's, else the one with the most histories."""
    if projects.has_branch(session, project.id, project.branch):
        return project.branch
    return next(iter(projects.branches(session, project.id)), project.branch)


def _unknown(project: Project, name: str, text: str, *, is_ambiguous: bool) -> NotFoundError | UsageError:
    if is_ambiguous:
        return UsageError(
            f"{name}: {text} is the beginning of several commits; give more digits", code="ambiguous_commit"
        )
    if looks_like_commit(text):
        return NotFoundError(f"{name}: {project.name!r} has no commit {text.lower()}")
    return UsageError(
        f"{name}={text[:80]!r} is no commit, and no branch or device class that has a history: "
        "give at least 7 hexadecimal digits, a branch or a device class",
        code="bad_commit",
    )
