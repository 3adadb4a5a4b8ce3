"""The same work on several device classes: how fast, with how much energy, at what cost, by the newest stored numbers.

As on the page that compares two classes, case by case and in the geometric mean: `weigh_hardware` does it. It is asked
of the projects and classes with the most cases, as a page has room for few.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from sqlalchemy.orm import Session

from app.analysis.efficiency.hardware import COSTS, SPEEDS
from app.domain.costs import Costs
from app.domain.week import Week
from app.domain.weekly_hardware import HardwareWeek
from app.services.weekly.bottlenecks import RECENT
from app.services.weekly.scope import Scope
from app.services.weigh_hardware import ClassNumbers, weigh_classes
from app.store.repositories import weekly_newest
from app.store.repositories.sides import StoredNumber
from app.store.repositories.weekly_newest import ClassOfProject
from app.store.tables import Project

PROJECTS = 5
"""Projects that are compared: those with most cases on two classes at least."""

OTHERS = 5
"""Device classes that a project's reference is held against."""

TOLD = (*SPEEDS, "energy_per_iter", "perf_per_watt", *COSTS)
"""Metrics by which device classes are compared."""


@dataclass(frozen=True)
class _Chosen:
    """A project with its reference, the other classes that are compared, and how many are not."""

    project: Project
    reference: ClassOfProject
    others: Sequence[ClassOfProject]
    n_left_out: int


def hardware_week(
    session: Session, scope: Scope, week: Week, installation: Costs
) -> tuple[HardwareWeek, ...]:
    """Return the projects that have cases on several device classes, those with most of them first.

    Prices of `installation` hold where a project states none. Two statements, and for each of `PROJECTS` projects as
    many as one comparison takes.
    """
    chosen = _chosen(scope, weekly_newest.classes(session, scope.project_ids))
    if not chosen:
        return ()
    numbers = _numbers(session, chosen, week)
    weeks = (_week(session, its, numbers, installation) for its in chosen)
    return tuple(its for its in weeks if its.compared)


def _chosen(scope: Scope, classes: Iterable[ClassOfProject]) -> list[_Chosen]:
    by_project: dict[int, list[ClassOfProject]] = defaultdict(list)
    for one in classes:
        by_project[one.project_id].append(one)
    found = [
        _choice(project, by_project[project.id]) for project in scope.projects if project.id in by_project
    ]
    several = [its for its in found if its.others]
    return sorted(several, key=lambda its: (-len(its.reference.case_ids), its.project.name))[:PROJECTS]


def _choice(project: Project, classes: Sequence[ClassOfProject]) -> _Chosen:
    ranked = sorted(classes, key=lambda one: (-len(one.case_ids), one.device_class))
    reference, cases = ranked[0], set(ranked[0].case_ids)
    common = [one for one in ranked[1:] if cases.intersection(one.case_ids)]
    common.sort(key=lambda one: (-len(cases.intersection(one.case_ids)), one.device_class))
    return _Chosen(project, reference, common[:OTHERS], len(common[OTHERS:]))


Numbers = dict[tuple[int, str], list[StoredNumber]]
"""By project and device class."""


def _numbers(session: Session, chosen: Collection[_Chosen], week: Week) -> Numbers:
    names = {one.device_class for its in chosen for one in (its.reference, *its.others)}
    numbers: Numbers = defaultdict(list)
    for one in weekly_newest.newest(
        session,
        [its.project.id for its in chosen],
        TOLD,
        since=week.end - RECENT,
        before=week.end,
        device_classes=names,
    ):
        numbers[one.project_id, one.number.device_class].append(one.number)
    return numbers


def _week(session: Session, its: _Chosen, numbers: Numbers, installation: Costs) -> HardwareWeek:
    def of_class(one: ClassOfProject) -> ClassNumbers:
        return ClassNumbers(one.device_class, numbers.get((its.project.id, one.device_class), []))

    base, heads = of_class(its.reference), [of_class(one) for one in its.others]
    told = [head for head in heads if head.numbers] if base.numbers else []
    where = its.project.id, its.project.branch
    compared = weigh_classes(session, *where, base, told, installation) if told else []
    return HardwareWeek(
        project=its.project.name,
        reference=its.reference.device_class,
        n_cases=len({one.case_id for one in base.numbers}),
        compared=tuple(one for one in compared if one.cases),
        n_left_out=its.n_left_out,
    )
