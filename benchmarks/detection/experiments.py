"""What is measured of every detector and comparer: one function an experiment, each from cells to plain numbers.

`Effort` says how many series each gets. Detectors with an online form of their own are cheap there and get more series
than those that are run again on every prefix; `series` beside a figure says how many it rests on.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from statistics import fmean, median
from typing import Any

import numpy as np

from benchmarks.detection import annotated, comparers, online, oracle, peers
from benchmarks.detection.annotated import AnnotatedSeries
from benchmarks.detection.checks import CheckCell, make_check
from benchmarks.detection.comparers import CheckScore, score_check
from benchmarks.detection.families import MODELS
from benchmarks.detection.generator import CVS, LENGTHS, Cell, cells, make
from benchmarks.detection.peers import Detector
from benchmarks.detection.scoring import Score, by_noise, score, total
from benchmarks.detection.workers import PROCESSES, Workers

ORACLE = "oracle"
Numbers = dict[str, Any]
"""Of one detector or comparer: name of the figure -> number, or a dict of them."""


@dataclass(frozen=True)
class Effort:
    """How much is measured."""

    quick: bool = False
    per_cell: int = 3
    lengths: tuple[int, ...] = LENGTHS
    cvs: tuple[float, ...] = CVS
    speed_lengths: tuple[int, ...] = (1000, 2500, 5000, 10_000)
    speed_s: float = 4.0
    """Seconds of work aimed at for each length and core; two series at least."""
    speed_most: int = 1000
    """Most series of one length that are timed."""
    online_native: int = 4
    online_prefixes: int = 4
    checks: int = 300
    stopping: int = 5


FULL = Effort()
QUICK = Effort(
    quick=True,
    per_cell=1,
    lengths=(30, 60, 125, 250),
    cvs=(0.01,),
    speed_lengths=(1000, 2500),
    speed_s=0.5,
    speed_most=200,
    online_native=1,
    online_prefixes=1,
    checks=20,
    stopping=1,
)


@dataclass(frozen=True)
class Plan:
    """Which series, and how many."""

    family: str
    seed: int
    effort: Effort


# --- offline -------------------------------------------------------------------------------------------------------


def offline(workers: Workers, name: str, plan: Plan) -> Numbers:
    """Return F1, false alarms on flat series, ramps found and alarms per reverting spike."""
    effort = plan.effort
    todo = list(cells(plan.family, plan.seed, effort.per_cell, ("steps", "flat"), effort.lengths, effort.cvs))
    todo += cells(plan.family, plan.seed, effort.per_cell, ("ramp", "spike"), cvs=effort.cvs)
    scores = workers.map(f"{name}, offline", _offline_one, [(name, cell) for cell in todo])
    of_kind: dict[str, list[tuple[Cell, Score]]] = {}
    for cell, one in zip(todo, scores, strict=True):
        of_kind.setdefault(cell.kind, []).append((cell, one))
    steps = total(one for _, one in of_kind["steps"])
    models = by_noise(of_kind["steps"])
    worst = min(models, key=lambda model: models[model].f1)
    return {
        "f1": steps.f1,
        "precision": steps.precision,
        "recall": steps.recall,
        "visible_changes": steps.hits + steps.misses,
        "f1_worst": models[worst].f1,
        "f1_worst_noise": worst,
        "f1_by_noise": {model: one.f1 for model, one in models.items()},
        "f1_by_length": _grouped(of_kind["steps"], "n"),
        "f1_by_cv": _grouped(of_kind["steps"], "cv"),
        "flat_offline": total(one for _, one in of_kind["flat"]).false_per_1000,
        "flat_by_noise": {model: one.false_per_1000 for model, one in by_noise(of_kind["flat"]).items()},
        "ramps": total(one for _, one in of_kind["ramp"]).ramps_share,
        "ramp_false_alarms": total(one for _, one in of_kind["ramp"]).false_per_1000,
        "spike_alarms": total(one for _, one in of_kind["spike"]).alarms_per_spike,
        "series": len(todo),
    }


def oracle_offline(workers: Workers, plan: Plan) -> Numbers:
    """Return the oracle's F1; it is asked about steps alone, so its other figures would mean nothing."""
    return {
        key: value
        for key, value in offline(workers, ORACLE, plan).items()
        if key.startswith("f1") or key in ("precision", "recall", "visible_changes")
    }


def _offline_one(task: tuple[str, Cell]) -> Score:
    name, cell = task
    series = make(cell)
    alarms = oracle.detect(series) if name == ORACLE else peers.load(name).find(series)
    return score(series, alarms)


def _grouped(scored: list[tuple[Cell, Score]], by: str) -> dict[str, float]:
    keys = sorted({getattr(cell, by) for cell, _ in scored})
    return {f"{key:g}": total(one for cell, one in scored if getattr(cell, by) == key).f1 for key in keys}


# --- annotated -----------------------------------------------------------------------------------------------------


def on_annotated(workers: Workers, name: str, series: list[AnnotatedSeries]) -> Numbers:
    """Return mean F1 and mean covering over real series, and both of each, with what was found."""
    found = workers.map(f"{name}, annotated", _find_rows, [(name, one) for one in series], 1)
    return _annotated_numbers(series, found)


def nothing_found(series: list[AnnotatedSeries]) -> Numbers:
    """Return the figures of whoever never reports a change, below which no detector should be."""
    return _annotated_numbers(series, [[] for _ in series])


def _annotated_numbers(series: list[AnnotatedSeries], found: list[list[int]]) -> Numbers:
    each = {
        one.name: {
            "f1": annotated.f1(one.annotations, rows),
            "covering": annotated.covering(one.annotations, rows, one.n),
            "found": rows,
        }
        for one, rows in zip(series, found, strict=True)
    }
    means = {key: fmean(numbers[key] for numbers in each.values()) for key in ("f1", "covering")}
    return {**means, "series": each}


def _find_rows(task: tuple[str, AnnotatedSeries]) -> list[int]:
    name, series = task
    return [int(series.x[index]) for index in peers.load(name).find(series)]


# --- online --------------------------------------------------------------------------------------------------------


def watching(workers: Workers, name: str, plan: Plan) -> Numbers:
    """Return false alarms per 1000 commits on flat series while they grow, and delays after a step."""
    native = peers.load(name).online is not None
    copies = plan.effort.online_native if native else plan.effort.online_prefixes
    which = {"cvs": plan.effort.cvs, "lengths": (125, 250) if native and not plan.effort.quick else (125,)}
    flat = list(cells(plan.family, plan.seed, copies, ("flat",), **which))
    counts = workers.map(f"{name}, online, flat", _false_online, [(name, cell) for cell in flat], 1)
    found: Numbers = {"flat_online": 1000 * sum(n for n, _ in counts) / sum(points for _, points in counts)}
    found["online_series"], found["online_commits"] = len(flat), sum(points for _, points in counts)
    for size in (5, 2):
        todo = list(cells(plan.family, plan.seed, copies, (f"delay_{size}",), **which))
        waits = workers.map(f"{name}, {size} % step", _delay_one, [(name, cell) for cell in todo], 1)
        found[f"delay_{size}"] = {
            f"{cv:g}": median(w for cell, w in zip(todo, waits, strict=True) if cell.cv == cv)
            for cv in plan.effort.cvs
        }
    return found


def _false_online(task: tuple[str, Cell]) -> tuple[int, int]:
    """Return false alarms and points at which one could have been raised."""
    name, cell = task
    series = make(cell)
    return online.false_alarms(series, peers.load(name).watch(series)), cell.n - online.FIRST + 1


def _delay_one(task: tuple[str, Cell]) -> float:
    name, cell = task
    return peers.load(name).delay(make(cell))


# --- speed ---------------------------------------------------------------------------------------------------------


def speed(workers: Workers, name: str, plan: Plan) -> Numbers:
    """Return seconds per 1000 series on two cores by length, from how many series, and the growth exponent.

    Half the processor's seconds of the calls alone, so that a busy machine makes little difference. Both processes
    work at the same time, as they share caches and memory.
    """
    seconds: dict[str, float] = {}
    measured: dict[str, int] = {}
    for n in plan.effort.speed_lengths:
        first = workers.map(
            f"{name}, {n} points, first", _timed, [(name, c) for c in _speed_cells(plan, n, PROCESSES)], 1
        )
        count = min(plan.effort.speed_most, int(plan.effort.speed_s * PROCESSES / max(min(first), 1e-6)))
        tasks = [(name, cell) for cell in _speed_cells(plan, n, count)]
        times = workers.map(f"{name}, {n} points", _timed, tasks, 1) if count > len(first) else first
        seconds[str(n)], measured[str(n)] = 1000 * fmean(times) / PROCESSES, len(times)
    slope = np.polyfit(np.log([int(n) for n in seconds]), np.log(list(seconds.values())), 1)[0]
    return {"seconds_per_1000": seconds, "speed_series": measured, "growth": float(slope)}


def _speed_cells(plan: Plan, n: int, count: int) -> list[Cell]:
    models = list(MODELS[plan.family])
    return [
        Cell(plan.family, "steps", models[i % len(models)], 0.01, n, 1_000_000 + i, plan.seed)
        for i in range(count)
    ]


def _timed(task: tuple[str, Cell]) -> float:
    name, cell = task
    series, detector = make(cell), _warm(name)
    start = detector.cpu_s()
    detector.find(series)
    return detector.cpu_s() - start


@lru_cache
def _warm(name: str) -> Detector:
    """Return a detector that has been used in this process, so that its imports are done."""
    detector = peers.load(name)
    detector.find(make(Cell("tuning", "flat", "gaussian", 0.01, 100)))
    return detector


# --- checks --------------------------------------------------------------------------------------------------------


def checking(workers: Workers, names: tuple[str, ...], plan: Plan, scenario: str) -> dict[str, Numbers]:
    """Return power, false failures and coverage of every comparer, all on the same checks."""
    changes = [changed for changed in (False, True) for _ in range(plan.effort.checks)]
    tasks = [
        (names, CheckCell(plan.family, scenario, changed, copy, plan.seed))
        for copy, changed in enumerate(changes)
    ]
    answers = workers.map(f"checks, {scenario}", _check_one, tasks, 1)
    return {name: _numbers(sum((answer[name] for answer in answers), start=CheckScore())) for name in names}


def _check_one(task: tuple[tuple[str, ...], CheckCell]) -> dict[str, CheckScore]:
    names, cell = task
    check = make_check(cell)
    return {name: score_check(check, comparers.COMPARERS[name]()) for name in names}


def _numbers(one: CheckScore) -> Numbers:
    return {
        "power": one.power,
        "false_failures": one.false_failures,
        "coverage": one.coverage,
        "wrong_per_check": one.wrong / max(1, one.checks),
        "changes": one.changes,
        "checks": one.checks,
    }


def stopping_early(workers: Workers, plan: Plan) -> Numbers:
    """Return the device time saved and the verdicts, flat and 5 % slower."""
    from benchmarks.detection import stopping

    tasks = [CheckCell(plan.family, "long", False, copy, plan.seed) for copy in range(plan.effort.stopping)]
    answers = workers.map("stopping", stopping.run_rule, tasks, 1)
    found: Numbers = {"fixed_pairs": stopping.FIXED_PAIRS}
    for key, parts in zip(("flat", "slower"), zip(*answers, strict=True), strict=True):
        one = sum(parts, start=stopping.Stopping())
        found[key] = {
            "saved": one.saved,
            "regressed": one.regressed / one.cases,
            "no_regression": one.passed / one.cases,
            "cases": one.cases,
        }
    return found
