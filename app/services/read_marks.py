"""What a trend shows beside its points: where the machine changed, the control, void values, lost runs, the budget."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from app.analysis.arrivals import Arrival, arrivals
from app.reports.fingerprints import FactChange, fact_changes
from app.settings import budget_for
from app.store.repositories.trend_marks import ControlTimes, FailedRow, MachineRow, Marks, VoidRow
from app.store.repositories.trends import History, TrendColumns

MOST_EPOCHS = 40
"""Where machines arrive more often than so in one history, they come and go, and only how many they are is told."""

CONTROL_WIDTH = 2
"""Columns of pixels that a value of the control has for itself: its curve is a thin line in a low strip."""

MOST_FACTS = 20
"""Facts of a machine that are told to have changed; more are left out."""


@dataclass(frozen=True)
class TrendEpoch:
    """A machine that arrives with the point `row`: what differs from the one before it that is most like it.

    `is_back` says that the history had it before.
    """

    row: int
    sha: str
    subject: str
    changes: tuple[FactChange, ...]
    is_back: bool


@dataclass(frozen=True)
class ControlLine:
    """How long the control took at the starts of the runs of some rows: time/usual − 1, usual being the median here.

    `is_thinned` says that rows are left out, as a screen could not show them.
    """

    row: Sequence[int] = ()
    deviation: Sequence[float] = ()
    is_thinned: bool = False


NO_CONTROL = ControlLine()


@dataclass(frozen=True)
class VoidPoint:
    """A point of whose values some do not count, and why; the reasons are codes, None where they were not asked for."""

    row: int
    n_void: int
    n_values: int
    reasons: tuple[str, ...] | None


@dataclass(frozen=True)
class FailedRun:
    """A run that should have brought a point, and did not; it lies before the point `row`, which may be yet to come.

    `run` is None where nothing was begun, `verdict` where the run came to none.
    """

    row: int
    sha: str
    subject: str
    run: str | None
    verdict: str | None
    reason: str | None


@dataclass(frozen=True)
class TrendBudget:
    """The limits [unit] that the newest settings that have landed put on the metric; `benchmark` is their glob."""

    benchmark: str
    max: float | None
    min: float | None


@dataclass(frozen=True)
class TrendMarks:
    """All of it: the control and the void points are those of the rows shown, the rest is of the whole history."""

    n_machines: int = 0
    epochs: tuple[TrendEpoch, ...] = ()
    control: ControlLine = NO_CONTROL
    void: tuple[VoidPoint, ...] = ()
    failed: tuple[FailedRun, ...] = ()
    budget: TrendBudget | None = None


NO_MARKS = TrendMarks()


def arrivals_of(columns: TrendColumns) -> list[Arrival]:
    """Return where machines arrive in the history."""
    return arrivals(columns.machines, most=MOST_EPOCHS)


def rows_to_tell(found: Iterable[Arrival]) -> list[int]:
    """Return the rows whose machines say what changed."""
    return sorted({row for arrival in found for row in (arrival.row, *arrival.before)})


def read_marks(
    its: History, found: Sequence[Arrival], marks: Marks, shown: Collection[int], controls: int
) -> TrendMarks:
    """Return what is marked in the history.

    Args:
        its: the history.
        found: where machines arrive in it.
        marks: what is stored of it.
        shown: those of its rows that are.
        controls: how many values of the control were asked for.
    """
    ids, rows = its.columns.result_ids, sorted(shown)
    return TrendMarks(
        n_machines=len(set(its.columns.machines) - {0}),
        epochs=tuple(_epochs(its.columns, found, marks.machines)),
        control=_control(marks.control, its.columns.sources, rows, controls),
        void=_voids(marks.void, ids, rows),
        failed=tuple(_failed(ids, marks.failed)),
        budget=_budget(marks.budgets, its.case.benchmark, its.series.metric),
    )


# --- machines ---


def _epochs(
    columns: TrendColumns, found: Iterable[Arrival], machines: Iterable[MachineRow]
) -> Iterator[TrendEpoch]:
    told = {row.result_id: row for row in machines}
    for arrival in found:
        new = told.get(columns.result_ids[arrival.row])
        before = [told[its] for row in arrival.before if (its := columns.result_ids[row]) in told]
        changes = _changes([_facts(row.machine) for row in before], _facts(new.machine)) if new else ()
        if new and changes:
            yield TrendEpoch(arrival.row, new.sha, new.subject, changes[:MOST_FACTS], arrival.is_back)


def _facts(machine: dict[str, Any]) -> dict[str, Any]:
    """Return what a fingerprint says of the machine itself; of one that a program elsewhere told, all."""
    its = machine.get("machine")
    return its if isinstance(its, dict) else machine


def _changes(before: Sequence[dict[str, Any]], new: dict[str, Any]) -> tuple[FactChange, ...]:
    """Return what differs from the machine that is most like the new one; nothing where both tell nothing different.

    What only one of them tells is no change.
    """
    compared = [_compared(old, new) for old in before]
    alike = [(n_alike, -len(changes), changes) for n_alike, changes in compared]
    return max(alike, key=lambda one: one[:2])[2] if alike else ()


def _compared(old: dict[str, Any], new: dict[str, Any]) -> tuple[int, tuple[FactChange, ...]]:
    """Return how many facts are the same, and those that both tell differently."""
    groups = fact_changes({"machine": old}, {"machine": new})
    changes = tuple(its for group in groups for its in group.changes if its.kind == "changed")
    return sum(value == new.get(name) for name, value in old.items()), changes


# --- the control ---


def _control(
    found: Iterable[ControlTimes], sources: Sequence[int], rows: Sequence[int], controls: int
) -> ControlLine:
    """Return by how much the control took longer than usual: on average over its probes, of the slowest device."""
    of_run: dict[int, float] = {}
    for times in found:
        of_run |= _deviations(times)
    if not of_run:
        return ControlLine()
    told = [row for row in rows if sources[row] in of_run]
    is_thinned = sum(sources[row] > 0 for row in rows) > controls
    return ControlLine(told, [of_run[sources[row]] for row in told], is_thinned)


def _deviations(times: ControlTimes) -> dict[int, float]:
    """Return the deviation of each run from the others, probe by probe; one that did not run says nothing."""
    usual = [median(told) if (told := [s for s in seconds if s > 0]) else 0.0 for seconds in times.seconds]
    found: dict[int, float] = {}
    for run_id, *taken in zip(times.run_ids, *times.seconds, strict=True):
        ratios = [s / its for s, its in zip(taken, usual, strict=True) if s > 0]
        if ratios:
            deviation = round(math.prod(ratios) ** (1 / len(ratios)) - 1, 4)
            found[run_id] = max(found.get(run_id, deviation), deviation)
    return found


# --- what does not count, and what is not there ---


def _voids(found: Sequence[VoidRow], ids: Sequence[int], rows: Sequence[int]) -> tuple[VoidPoint, ...]:
    """Return the points with void values in the history's order."""
    if not found:
        return ()
    row_of = {ids[row]: row for row in rows}
    told = [
        VoidPoint(
            row_of[its.result_id],
            its.n_void,
            its.n_values,
            None if its.reasons is None else tuple(its.reasons),
        )
        for its in found
        if its.result_id in row_of
    ]
    return tuple(sorted(told, key=lambda one: one.row))


def _failed(result_ids: Sequence[int], found: Sequence[FailedRow]) -> list[FailedRun]:
    """Return the runs without a point in the history's order; those from before its first point are left out."""
    if not found:
        return []
    rows = sorted(range(len(result_ids)), key=result_ids.__getitem__)
    ids = [result_ids[row] for row in rows]
    told = []
    for one in reversed(found):
        at = bisect_right(ids, one.after or 0)
        if at:
            run = None if one.run_id is None else str(one.run_id)
            told.append(FailedRun(rows[at - 1] + 1, one.sha, one.subject, run, one.verdict, one.reason))
    return sorted(told, key=lambda one: one.row)


# --- the budget ---


def _budget(budgets: Sequence[Mapping[str, Any]], benchmark: str, metric: str) -> TrendBudget | None:
    its = budget_for(map(dict, budgets), benchmark, metric)
    return None if its is None else TrendBudget(its["benchmark"], its["max"], its["min"])
