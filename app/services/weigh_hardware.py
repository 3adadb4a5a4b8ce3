"""Two device classes held against each other by their stored numbers: speed, energy, work per joule, cost of work."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy.orm import Session

from app.analysis.efficiency.cost import no_price
from app.analysis.efficiency.hardware import compare_hardware
from app.analysis.efficiency.watched import is_number
from app.domain.costs import Costs
from app.domain.hardware import HardwareComparison, HardwareSide, Measured, MeasuredCase, Source
from app.services.costs import stated_costs
from app.services.query_runs import name_of_run
from app.store.repositories import jobs, made_on
from app.store.repositories.made_on import MadeOn
from app.store.repositories.sides import StoredNumber
from app.store.tables import Job, Project

CaseVersion = tuple[int, str]
"""A case and the version of its benchmark."""


@dataclass(frozen=True)
class ClassNumbers:
    """A device class with the newest numbers that it has."""

    device_class: str
    numbers: Sequence[StoredNumber]


def weigh_hardware(
    session: Session,
    project: Project,
    branch: str,
    base: ClassNumbers,
    head: ClassNumbers,
    installation: Costs,
) -> HardwareComparison:
    """Return both device classes over the cases that both have.

    Args:
        session: the session.
        project: the project.
        branch: where settings have to have landed for their prices to count: those of a proposal do not.
        base: one device class.
        head: another.
        installation: prices that hold where the project's settings state none.
    """
    return weigh_classes(session, project.id, branch, base, [head], installation)[0]


def weigh_classes(
    session: Session,
    project_id: int,
    branch: str,
    base: ClassNumbers,
    heads: Sequence[ClassNumbers],
    installation: Costs,
) -> list[HardwareComparison]:
    """Return one device class against each of some others, as `weigh_hardware` does, in as many statements."""
    made = _made_on(session, [*base.numbers, *(one for head in heads for one in head.numbers)])
    landed = jobs.newest_settled(session, project_id, branch)
    of_base = _by_case(base.numbers)
    return [
        compare_hardware(
            _side(base.device_class, landed, installation),
            _side(head.device_class, landed, installation),
            (_case(its, other, made) for its, other in _common(of_base, _by_case(head.numbers))),
        )
        for head in heads
    ]


# --- prices ---------------------------------------------------------------------------------------------------


def _side(device_class: str, landed: Job | None, installation: Costs) -> HardwareSide:
    own = stated_costs(landed.policy) if landed else Costs()
    price = own.or_else(installation).price(device_class)
    if price is None and landed is None:
        return HardwareSide(device_class, None, "no ratchet.toml is known that has landed")
    return HardwareSide(device_class, price, "" if price else no_price(device_class).origin)


# --- numbers --------------------------------------------------------------------------------------------------


def _by_case(numbers: Sequence[StoredNumber]) -> dict[CaseVersion, list[StoredNumber]]:
    found: dict[CaseVersion, list[StoredNumber]] = defaultdict(list)
    for one in numbers:
        found[one.case_id, one.version].append(one)
    return found


def _common(
    base: Mapping[CaseVersion, list[StoredNumber]], head: Mapping[CaseVersion, list[StoredNumber]]
) -> list[tuple[list[StoredNumber], list[StoredNumber]]]:
    """Return what both sides have of each case, of its versions the newest that both have."""
    newest: dict[int, CaseVersion] = {}
    both = [key for key in base if key in head]
    for key in sorted(both, key=lambda key: max(one.series_id for one in (*base[key], *head[key]))):
        newest[key[0]] = key
    return [(base[key], head[key]) for key in both if newest[key[0]] == key]


def _case(
    base: Sequence[StoredNumber], head: Sequence[StoredNumber], made: Mapping[str, MadeOn]
) -> MeasuredCase:
    return MeasuredCase(
        benchmark=base[0].benchmark,
        params=base[0].params,
        base=tuple(_measured(base, made)),
        head=tuple(_measured(head, made)),
    )


def _measured(numbers: Sequence[StoredNumber], made: Mapping[str, MadeOn]) -> Iterator[Measured]:
    for its in numbers:
        run = name_of_run(its.run_id, its.upload_id)
        source, energy = (Source.POSTED,) * 2 if its.upload_id is not None else _sources(made[run])
        yield Measured(
            metric=its.metric,
            unit=its.unit,
            better=its.better,
            value=its.value,
            low=its.low,
            high=its.high,
            n=its.n,
            run=run,
            commit=its.sha,
            source=source,
            energy=energy,
            devices=made[run].devices,
        )


def _sources(made: MadeOn) -> tuple[Source, Source]:
    """Return where a run of ours has its times and its energy from."""
    if made.is_simulated:
        return Source.SIMULATED, Source.SIMULATED
    if made.idle and all(_tells(reading, "energy_j_total") for reading in made.idle):
        return Source.MEASURED, Source.ENERGY_COUNTER
    is_sampled = made.idle and all(_tells(reading, "power_w") for reading in made.idle)
    return Source.MEASURED, Source.POWER_SAMPLES if is_sampled else Source.MEASURED


def _tells(reading: Mapping[str, Any], name: str) -> bool:
    return is_number(reading.get(name))


def _made_on(session: Session, numbers: Sequence[StoredNumber]) -> dict[str, MadeOn]:
    """Return by the name of their run what is told of the devices, in two statements."""
    runs = {one.run_id for one in numbers if one.run_id is not None}
    uploads = {one.upload_id for one in numbers if one.upload_id is not None}
    of_runs = made_on.of_runs(session, runs) if runs else {}
    of_uploads = made_on.of_uploads(session, uploads) if uploads else {}
    return {name_of_run(run, None): its for run, its in of_runs.items()} | {
        name_of_run(None, upload): its for upload, its in of_uploads.items()
    }
