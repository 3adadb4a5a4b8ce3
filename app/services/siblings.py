"""Series that one wants to see beside another: the same metric of its benchmark, elsewhere or with other parameters."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy.orm import Session

from app.domain.results import Params, case_label
from app.store.repositories import siblings as rows
from app.store.tables import BenchmarkCase, Series

MOST = 40
"""Siblings that are offered."""

BESIDE = 4
"""Series that are drawn beside one: more are not told apart."""


@dataclass(frozen=True)
class Sibling:
    """A series beside another; `differs` says in what: its device class, its parameters, its version."""

    id: int
    differs: str
    is_shown: bool


def siblings_of(
    session: Session, series: Series, case: BenchmarkCase, shown: Collection[int]
) -> list[Sibling]:
    """Return the siblings of a series, those on other devices first."""
    found = rows.of_benchmark(session, series, case.benchmark, MOST)
    return [
        Sibling(its.id, _differs(series, case, its, its_case), its.id in shown) for its, its_case in found
    ]


def _differs(series: Series, case: BenchmarkCase, its: Series, its_case: BenchmarkCase) -> str:
    parts = []
    if its.device_class != series.device_class:
        parts.append(its.device_class)
    if its_case.params != case.params:
        parts.append(case_label("", _changed(case.params, its_case.params)).strip("[]") or "no parameters")
    if its.version != series.version:
        parts.append(f"version {its.version[:12] or 'none'}")
    return " · ".join(parts)


def _changed(params: Params, its: Params) -> Params:
    """Return those of the parameters that are not the same; all where only fewer are left."""
    other = {name: value for name, value in its.items() if params.get(name) != value}
    return other or its
