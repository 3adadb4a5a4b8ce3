"""Answers of the service as records. What a newer service tells beyond them is left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from datetime import datetime
from typing import Any, TypeVar

from ratchet_perf.frames import Records
from ratchet_perf.records import (
    Alert,
    AlertChange,
    Budget,
    Change,
    Comparison,
    Control,
    Epoch,
    Fact,
    FailedRun,
    FoundSeries,
    Hardware,
    HardwareCase,
    HardwareMean,
    HardwareSide,
    Level,
    Pair,
    Point,
    Posted,
    PostedSeries,
    Price,
    Project,
    Quantity,
    Run,
    RunDetail,
    Sample,
    Series,
    Side,
    Trend,
    VoidValues,
)

Told = Mapping[str, Any]
Record = TypeVar("Record")


def project(told: Told) -> Project:
    """Read a project."""
    return _record(Project, told)


def series(told: Told) -> Series:
    """Read a series."""
    return _record(Series, told)


def found_series(told: Told) -> FoundSeries:
    """Read a series of a list, with its newest point."""
    last = told["last"] or {}
    return _record(
        FoundSeries,
        told,
        last_commit=last.get("commit"),
        last_time=_time(last.get("time")),
        last_value=last.get("value"),
    )


def trend(told: Told) -> Trend:
    """Read a trend, whose points come as columns."""
    its, columns = series(told["series"]), told["points"]
    rows = (dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True))
    points = (_record(Point, row, time=_time(row["time"]), flags=tuple(row["flags"])) for row in rows)
    changes = (
        _record(Change, change, series=its, branch=told["branch"], index=change["row"])
        for change in told["changes"]
    )
    return _record(
        Trend,
        told,
        series=its,
        branches=tuple(told["branches"]),
        points=Records(points),
        changes=Records(changes),
        **_marks(told),
    )


def _marks(told: Told) -> dict[str, Any]:
    """Read what stands beside the points."""
    control, budget = told["control"], told["budget"]
    return {
        "epochs": Records(
            _record(Epoch, one, changes=tuple(_record(Fact, fact) for fact in one["changes"]))
            for one in told["epochs"]
        ),
        "control": Records(map(Control, control["row"], control["deviation"])),
        "void": Records(
            _record(VoidValues, one, reasons=None if one["reasons"] is None else tuple(one["reasons"]))
            for one in told["void"]
        ),
        "failed": Records(_record(FailedRun, one) for one in told["failed"]),
        "budget": None if budget is None else _record(Budget, budget),
    }


def change(told: Told) -> Change:
    """Read a change of a project's."""
    return _record(Change, told, series=series(told["series"]), machine=None)


def alert(told: Told) -> Alert:
    """Read an alert, in a list or whole."""
    commit = told["commit"]
    changes = Records(_record(AlertChange, one) for one in told["changes"])
    return _record(
        Alert,
        told,
        commit=commit["sha"],
        subject=commit["subject"],
        opened_at=_time(told["opened_at"]),
        changes=changes,
    )


def comparison(told: Told) -> Comparison:
    """Read a comparison."""
    sides = {name: Records(map(_pair, told[name])) for name in ("only_base", "only_head")}
    its = told.get("hardware")
    hardware = None if its is None else _hardware(its)
    return _record(Comparison, told, pairs=Records(map(_pair, told["series"])), hardware=hardware, **sides)


def _hardware(told: Told) -> Hardware:
    classes = {side: _record(HardwareSide, told[side], price=_price(told[side])) for side in ("base", "head")}
    means = {name: _record(HardwareMean, mean) for name, mean in told["means"].items()}
    return _record(Hardware, told, means=means, cases=Records(map(_hardware_case, told["cases"])), **classes)


def _price(told: Told) -> Price | None:
    return None if told["price"] is None else _record(Price, told["price"])


def _hardware_case(told: Told) -> HardwareCase:
    names = ("performance", "energy", "perf_per_watt", "cost")
    return _record(HardwareCase, told, **{name: _quantity(told[name]) for name in names})


def _quantity(told: Told) -> Quantity:
    levels = {side: None if told[side] is None else _record(Level, told[side]) for side in ("base", "head")}
    return _record(Quantity, told, why=tuple(told["why"]), **levels)


def _pair(told: Told) -> Pair:
    return Pair(series(told), _side(told, "base_"), _side(told, "head_"), told["change"])


def _side(told: Told, prefix: str) -> Side | None:
    if told[f"{prefix}median"] is None:
        return None
    return Side(**{one.name: told[f"{prefix}{one.name}"] for one in fields(Side)})


def run(told: Told) -> Run:
    """Read a run of a list."""
    return _record(Run, told, created_at=_time(told["created_at"]), ended_at=_time(told["ended_at"]))


def run_detail(told: Told, samples: Records[Sample]) -> RunDetail:
    """Read a run that has these samples."""
    return _record(RunDetail, told, samples=samples, told=told)


def sample(told: Told) -> Sample:
    """Read a result with its values."""
    return _record(
        Sample,
        told,
        series=series(told["series"]),
        values=tuple(told["values"]),
        void=tuple(told["void"]),
        flags=tuple(told["flags"]),
        measured_at=_time(told["measured_at"]),
    )


def posted(told: Told, *, is_new: bool) -> Posted:
    """Read the answer to a post."""
    return Posted(told["run"], Records(_record(PostedSeries, one) for one in told["series"]), is_new)


def _record(kind: type[Record], told: Told, /, **read: Any) -> Record:
    """Return a record of the fields that were told, those that were `read` in their place."""
    known = {one.name: told[one.name] for one in fields(kind) if one.name in told}  # type: ignore[arg-type]
    return kind(**known | read)


def _time(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)
