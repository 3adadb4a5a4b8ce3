"""The accelerators in a week: how long they were there, who held them, what that cost, and how well they measured.

What nobody held is idle by leases alone, for others may have used it; where DCGM told what GPUs did, it is split into
what others used, what was idle, and what nobody knows.

There is no history of contact: a device counts as there from its registration to its worker's last contact, or until
now where that is live. Time in which it was away and came back is therefore taken for idle time, and devices that are
retired are left out, as nothing tells when they went; what was measured on them is told apart. Health, quarantine and
grade are those of now.

A price is what its owner pays for a device's hour, used or not: what held time costs is a part of it, not more on top,
and so is the energy where a price includes it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from math import isfinite
from typing import NamedTuple

from sqlalchemy.orm import Session

from app.analysis.efficiency.fleet import span_there, total_of_sample, weighted_mean
from app.analysis.efficiency.outside_leases import outside_leases
from app.domain.costs import Costs
from app.domain.device_use import Drawn, Seen, Span, Split, Told, sum_of
from app.domain.week import Week
from app.domain.weekly import Money
from app.domain.weekly_fleet import (
    CONTAMINATED,
    INFRASTRUCTURE,
    Activity,
    ClassWeek,
    DeviceWeek,
    Energy,
    FleetWeek,
    Part,
    Queue,
    Spoiled,
    Unheld,
    Use,
    Waits,
    Watched,
)
from app.services.ask_activity import KIND
from app.services.read_quarantine import Quarantine, read_quarantines
from app.services.weekly.scope import Scope
from app.store.repositories import clock, weekly_fleet
from app.store.repositories.weekly_fleet import Held, KnownDevice, RunRead, RunsRead

HOUR_S = 3600.0
KWH_J = 3.6e6


def fleet_week(
    session: Session,
    scope: Scope,
    week: Week,
    costs: Costs,
    *,
    live_for: timedelta,
    told: Told | None = None,
) -> FleetWeek:
    """Return what the devices did in a week, in a fixed number of statements.

    Of the whole installation it is of every device, whoever used it. Of one project, or of some, it is what these used:
    what devices do for others is withheld.

    Args:
        session: the session.
        scope: what the report is of.
        week: the week.
        costs: prices of devices and of energy, as somebody stated them.
        live_for: how long after its last contact a worker counts as live.
        told: what DCGM told of the GPUs in the week; None where it was not asked.
    """
    whose = None if scope.is_installation else scope.project_ids
    span = (session, week.start, week.end, whose)
    held = weekly_fleet.held(*span)
    read = weekly_fleet.runs_read(*span)
    seen = told.seen if told else {}
    devices = _devices(session, week, held, costs, live_for, seen) if scope.is_installation else ()
    ended = weekly_fleet.ended(*span)
    energy = _energy(read)
    classes = _classes(devices, held, costs, _waits(*span), _queues(session, whose), _activity(read))
    fleet = FleetWeek(
        is_whole=scope.is_installation,
        classes=classes,
        devices=devices,
        suites=_suites(held, scope, costs),
        purposes=_purposes(held, costs),
        retired_s=sum(one.seconds for one in held if one.device_id is not None and one.is_retired),
        outcomes=_outcomes(ended),
        reasons=_reasons(ended),
        spoiled=_spoiled(read),
        energy=energy,
        energy_cost=_energy_cost(energy, costs),
        pue=costs.power.pue if costs.power else 1.0,
        watched=_watched(devices, told),
    )
    return replace(
        fleet,
        drawn_cost=_energy_cost(fleet.drawn, costs),
        drawn_idle_cost=_energy_cost(fleet.drawn_idle, costs),
    )


# --- devices and their classes --------------------------------------------------------------------------------


def _devices(
    session: Session,
    week: Week,
    held: Iterable[Held],
    costs: Costs,
    live_for: timedelta,
    seen: Mapping[str, Seen],
) -> tuple[DeviceWeek, ...]:
    now = clock.now(session)
    spans = weekly_fleet.held_spans(session, KIND, week.start, week.end) if seen else {}
    seconds = {one.device_id: one.seconds for one in held if one.device_id is not None}
    known = weekly_fleet.known_devices(session)
    quarantines = read_quarantines(session, [its.device for its in known])

    def line(its: KnownDevice) -> DeviceWeek:
        device, there = its.device, _there(its, week, now, live_for)
        line = _device(its, there, seconds.get(device.id, 0.0), quarantines.get(device.id))
        if not seen or device.kind != KIND:
            return line
        split = _split(seen.get(device.hardware_id), spans.get(device.id, ()), there, line.idle_s)
        return replace(line, unheld=_unheld(split, device.device_class, costs))

    lines = map(line, known)
    shown = [line for line in lines if line.there_s > 0 or line.held_s > 0 or line.quarantined_at]
    return tuple(sorted(shown, key=lambda line: (-line.idle_s, line.device_id)))


def _there(its: KnownDevice, week: Week, now: datetime, live_for: timedelta) -> Span:
    last_seen = its.worker.last_seen_at
    first, last = span_there(
        week.start,
        week.end,
        since=its.device.created_at,
        last_seen=last_seen,
        now=now,
        is_live=last_seen > now - live_for,
    )
    return first.timestamp(), last.timestamp()


def _device(its: KnownDevice, there: Span, held_s: float, quarantine: Quarantine | None) -> DeviceWeek:
    device, worker, grade = its
    there_s = there[1] - there[0]
    return DeviceWeek(
        device_id=device.id,
        hardware_id=device.hardware_id,
        device_class=device.device_class,
        worker=worker.name,
        health=device.health,
        grade=grade,
        there_s=max(there_s, held_s),
        held_s=held_s,
        quarantined_at=quarantine.since if quarantine else None,
        why=quarantine.why if quarantine else "",
    )


def _classes(
    devices: Sequence[DeviceWeek],
    held: Sequence[Held],
    costs: Costs,
    waits: Mapping[str, Waits],
    queues: Mapping[str, Queue],
    activity: Mapping[str, Activity],
) -> tuple[ClassWeek, ...]:
    names = (
        {its.device_class for its in devices}
        | {its.device_class for its in held}
        | waits.keys()
        | queues.keys()
    )
    lines = [
        replace(
            _class(name, devices, held, costs),
            waits=waits.get(name),
            queue=queues.get(name),
            activity=activity.get(name),
        )
        for name in names
    ]
    return tuple(sorted(lines, key=lambda line: (-(line.idle_s or 0.0), -line.held_s, line.device_class)))


def _class(name: str, devices: Sequence[DeviceWeek], held: Iterable[Held], costs: Costs) -> ClassWeek:
    its = [device for device in devices if device.device_class == name]
    used = [one for one in held if one.device_id is not None and one.device_class == name]
    held_s = sum(one.seconds for one in used if not one.is_retired)
    there_s = sum(device.there_s for device in its) if its else None
    idle_s = sum(device.idle_s for device in its) if its else None
    unheld = [device.unheld for device in its if device.unheld]
    return ClassWeek(
        device_class=name,
        n_devices=len(its) or len(used),
        held_s=held_s,
        there_s=there_s,
        idle_s=idle_s,
        idle_cost=None if idle_s is None else _cost(costs, name, idle_s),
        held_cost=_cost(costs, name, held_s),
        unheld=_unheld(_together(unheld), name, costs) if unheld else None,
    )


# --- what was not held ----------------------------------------------------------------------------------------


def _split(seen: Seen | None, held: Sequence[Span], there: Span, unheld_s: float) -> Split:
    return outside_leases(seen, held, there) if seen else Split(0.0, 0.0, unheld_s)


def _together(parts: Sequence[Unheld]) -> Split:
    return Split(
        sum(its.used.seconds for its in parts),
        sum(its.idle.seconds for its in parts),
        sum(its.unknown.seconds for its in parts),
        sum(its.busy_s for its in parts),
        sum_of(its.drawn for its in parts),
        sum_of(its.drawn_idle for its in parts),
    )


def _unheld(split: Split, device_class: str, costs: Costs) -> Unheld:
    used, idle, unknown = (Part(seconds, _cost(costs, device_class, seconds)) for seconds in split[:3])
    drawn_cost = _energy_cost(split.drawn_idle, costs)
    return Unheld(used, idle, unknown, split.busy_s, split.drawn, split.drawn_idle, drawn_cost)


def _watched(devices: Iterable[DeviceWeek], told: Told | None) -> Watched | None:
    """Return of how many of the devices that were there something was told; of none leases alone tell."""
    if told is None:
        return None
    ids = [device.hardware_id for device in devices if device.unheld]
    return Watched(sum(hardware_id in told.seen for hardware_id in ids), len(ids), told.reason)


def _cost(costs: Costs, device_class: str, seconds: float) -> Money | None:
    price = costs.price(device_class)
    return Money(price.hour * seconds / HOUR_S, price.currency) if price else None


# --- what it was used for -------------------------------------------------------------------------------------


class _Part(NamedTuple):
    project: str
    what: str
    device_class: str
    seconds: float


def _suites(held: Iterable[Held], scope: Scope, costs: Costs) -> tuple[Use, ...]:
    names = {project.id: project.name for project in scope.projects}
    return _uses(
        (
            _Part(names[one.project_id], one.suite or "", one.device_class, one.seconds)
            if one.project_id in names
            else _Part("", "", one.device_class, one.seconds)
            for one in held
            if one.project_id is not None
        ),
        costs,
    )


def _purposes(held: Iterable[Held], costs: Costs) -> tuple[Use, ...]:
    parts = (_Part("", one.purpose, one.device_class, one.seconds) for one in held if one.purpose is not None)
    return _uses(parts, costs)


def _uses(parts: Iterable[_Part], costs: Costs) -> tuple[Use, ...]:
    """Return the parts of a project and suite, or of a purpose, as one each, the longest first."""
    together: dict[tuple[str, str], list[_Part]] = defaultdict(list)
    for part in parts:
        together[part.project, part.what].append(part)
    uses = [_use(*names, its, costs) for names, its in together.items()]
    return tuple(
        sorted((use for use in uses if use.held_s > 0), key=lambda use: (-use.held_s, use.project, use.what))
    )


def _use(project: str, what: str, parts: Iterable[_Part], costs: Costs) -> Use:
    held_s = unpriced_s = 0.0
    paid: dict[str, float] = defaultdict(float)
    for part in parts:
        held_s += part.seconds
        cost = _cost(costs, part.device_class, part.seconds)
        if cost is None:
            unpriced_s += part.seconds
        else:
            paid[cost.currency] += cost.amount
    money = tuple(Money(amount, currency) for currency, amount in sorted(paid.items()))
    return Use(project, what, held_s, money, unpriced_s)


# --- how it went ----------------------------------------------------------------------------------------------


def _waits(
    session: Session, start: datetime, end: datetime, whose: Collection[int] | None
) -> dict[str, Waits]:
    found = weekly_fleet.waits(session, start, end, whose)
    return {its.device_class: Waits(its.n, its.p50_s, its.p95_s) for its in found}


def _queues(session: Session, whose: Collection[int] | None) -> dict[str, Queue]:
    return {name: Queue(n, oldest) for name, n, oldest in weekly_fleet.waiting(session, whose)}


def _outcomes(ended: Iterable[tuple[str, str, int]]) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for outcome, _, n in ended:
        counts[outcome] += n
    return dict(counts)


def _reasons(ended: Iterable[tuple[str, str, int]]) -> tuple[tuple[str, int], ...]:
    counts: Counter[str] = Counter()
    for outcome, reason, n in ended:
        if outcome in (*INFRASTRUCTURE, CONTAMINATED):
            counts[reason or outcome] += n
    return tuple(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def _spoiled(read: RunsRead) -> Spoiled | None:
    n = sum(run.n for run in read.runs)
    n_void = sum(run.n_void for run in read.runs)
    return Spoiled(n_void, n, len(read.runs), read.n_all) if n else None


# --- what it drew ---------------------------------------------------------------------------------------------


def _energy(read: RunsRead) -> Energy | None:
    """Return the energy of what was measured; None where no device told any. Simulated devices draw nothing."""
    runs = [run for run in read.runs if not run.is_simulated]
    sizes = [run.size_s for run in read.runs]
    told = [0.0 if run.is_simulated else run.told_s for run in read.runs]
    if not any(told):
        return None

    def total(amounts: Sequence[float]) -> tuple[float, float]:
        return total_of_sample(amounts, sizes, read.n_all, read.size_all_s)

    drawn, half = total([_drawn(run, run.power_j) for run in read.runs])
    low, _ = total([_drawn(run, run.power_low_j) for run in read.runs])
    high, _ = total([_drawn(run, run.power_high_j) for run in read.runs])
    if not isfinite(high + half):
        return None  # an agent told a number that no device draws
    is_counted = not any(run.power_j for run in runs)
    is_estimate = half > 0 or not is_counted
    return Energy(
        joules=drawn,
        low=max(0.0, low - half) if is_estimate else None,
        high=high + half if is_estimate else None,
        told_s=total(told)[0],
        of_s=total([0.0 if run.is_simulated else run.size_s for run in read.runs])[0],
        n_read=len(read.runs),
        n_runs=read.n_all,
        is_counted=is_counted,
    )


def _drawn(run: RunRead, by_power: float) -> float:
    return 0.0 if run.is_simulated else run.counted_j + by_power


def _energy_cost(energy: Energy | Drawn | None, costs: Costs) -> Money | None:
    if energy is None or costs.power is None:
        return None
    return Money(energy.joules / KWH_J * costs.power.pue * costs.power.kwh, costs.power.currency)


def _activity(read: RunsRead) -> dict[str, Activity]:
    """Return what DCGM told of the runs on each class, weighted by their device time."""
    by_class: dict[str, list[RunRead]] = defaultdict(list)
    for run in read.runs:
        if run.sm_active is not None or run.tensor_active is not None:
            by_class[run.device_class].append(run)
    return {
        name: Activity(
            weighted_mean([run.sm_active for run in runs], [run.size_s for run in runs]),
            weighted_mean([run.tensor_active for run in runs], [run.size_s for run in runs]),
            len(runs),
        )
        for name, runs in by_class.items()
    }
