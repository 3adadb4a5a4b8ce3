"""The accelerators of a week as people read them: what was held and idle, for what, at what cost, how well it went."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from markupsafe import Markup

from app.domain.device_use import IDLE_BELOW, Drawn
from app.domain.weekly import Money
from app.domain.weekly_fleet import (
    CONTAMINATED,
    Activity,
    ClassWeek,
    DeviceWeek,
    Energy,
    FleetWeek,
    Queue,
    Unheld,
    Use,
    Waits,
)
from app.reports import quantities
from app.reports.text import Name, name, plain
from app.reports.weekly.parts import (
    MOST,
    Link,
    Rest,
    address,
    hours,
    kwh,
    link,
    money,
    moneys,
    rest,
    share_bar,
)
from app.reports.words import count, explain, listing

PURPOSES = {
    "pull_request": "pull requests",
    "merge_group": "merge queue",
    "push": "pushes",
    "schedule": "schedules",
    "manual": "asked for by hand",
    "confirm": "confirming changes",
    "self_check": "devices against themselves (A/A)",
    "calibrate": "calibration",
    "bridge": "histories across a changed machine",
    "": "not known",
}
"""What jobs are for, by the trigger of their request or the purpose of a device's own."""

IDLE = "Idle"
PARTS = ("Used by others", IDLE, "Not known")
"""What becomes of the time that nobody held."""

OTHER_PROJECTS = "other projects"
USES = 8
"""Suites that are told one by one."""


@dataclass(frozen=True)
class ClassRow:
    """One device class."""

    device_class: Link
    devices: str
    held: str
    share: str
    bar: Markup
    idle: str
    cost: str
    wait: str
    waiting: str
    active: str


@dataclass(frozen=True)
class Cell:
    """An amount, and below what it costs, empty where nobody stated a price, and what else is to be said of it."""

    amount: str
    cost: str = ""
    note: str = ""


@dataclass(frozen=True)
class UnheldRow:
    """What became of the time that nobody held on the devices of a class, and what they drew while idle."""

    device_class: Name
    parts: tuple[tuple[str, Cell], ...]
    """Each under its title."""
    drawn: Cell


@dataclass(frozen=True)
class DeviceRow:
    """One device."""

    device: Link
    device_class: Name
    worker: Name
    held: str
    share: str
    bar: Markup
    idle: tuple[tuple[str, Cell], ...]
    """What nobody held: idle time, or where DCGM tells what others used and what is not known, too."""
    health: str
    grade: str


@dataclass(frozen=True)
class QuarantineRow:
    """One device in quarantine."""

    device: Link
    device_class: Name
    since: str
    why: str


@dataclass(frozen=True)
class UseRow:
    """Device time of one suite or purpose; `where` leads to it."""

    project: Link | None
    what: Name
    held: str
    share: str
    bar: Markup
    cost: str


@dataclass(frozen=True)
class FleetView:
    """The section; `is_empty` where nothing was there and nothing was measured."""

    is_empty: bool
    is_whole: bool
    headline: str
    classes: tuple[ClassRow, ...]
    classes_rest: Rest | None
    unheld: tuple[UnheldRow, ...]
    unheld_rest: Rest | None
    parts: tuple[str, ...]
    """Titles of what nobody held, in the rows of devices."""
    idle_below: str
    devices: tuple[DeviceRow, ...]
    devices_rest: Rest | None
    quarantined: tuple[QuarantineRow, ...]
    quarantined_rest: Rest | None
    suites: tuple[UseRow, ...]
    suites_rest: Rest | None
    purposes: tuple[UseRow, ...]
    facts: tuple[tuple[str, str], ...]
    runs: str
    """Where runs are listed."""


def fleet_view(week: FleetWeek, base: str) -> FleetView:
    """Return the section with links to the service at `base`."""
    quarantined = week.quarantined
    unheld = [(its.device_class, its.unheld) for its in week.classes if its.unheld]
    workers = address(base, "/workers")
    return FleetView(
        is_empty=not week,
        is_whole=week.is_whole,
        headline=_headline(week),
        classes=tuple(_class_row(its, base) for its in week.classes[:MOST]),
        classes_rest=rest(len(week.classes) - MOST, "class", "classes", workers),
        unheld=tuple(_unheld_row(name, its) for name, its in unheld[:MOST]),
        unheld_rest=rest(len(unheld) - MOST, "class", "classes", workers),
        idle_below=f"{100 * IDLE_BELOW:g} %",
        parts=tuple(PARTS) if week.is_seen else (IDLE,),
        devices=tuple(_device_row(its, base, is_seen=week.is_seen) for its in week.devices[:MOST]),
        devices_rest=rest(len(week.devices) - MOST, "device", "devices, less idle than these", workers),
        quarantined=tuple(_quarantine_row(its, base) for its in quarantined[:MOST]),
        quarantined_rest=rest(len(quarantined) - MOST, "device", "devices", workers),
        suites=tuple(_use_row(use, week.held_s, base) for use in week.suites[:USES]),
        suites_rest=rest(len(week.suites) - USES, "suite", "suites", address(base, "/runs")),
        purposes=tuple(_purpose_row(use, week.held_s) for use in week.purposes),
        facts=tuple(_facts(week)),
        runs=address(base, "/runs"),
    )


def _headline(week: FleetWeek) -> str:
    if not week.is_whole:
        devices = sum(its.n_devices for its in week.classes)
        spent = _sum(its.held_cost for its in week.classes)
        costs = f", which costs {moneys(spent)} at the stated prices" if spent else ""
        return f"{hours(week.held_s)} of device time on {count(devices, 'device')}{costs}."
    there = sum(its.there_s or 0.0 for its in week.classes)
    held = sum(its.held_s for its in week.classes)
    idle = _sum(its.idle_cost for its in week.classes)
    costs = f" Idle time costs {moneys(idle)} at the stated prices." if idle else ""
    of_all = f" ({quantities.percent(held / there)})" if there else ""
    return f"{hours(held)} of {hours(there)} of device time were held{of_all}.{_rest(week)}{costs}{_why_not(week)}"


def _rest(week: FleetWeek) -> str:
    """Return what became of the time that nobody held, and who says so; empty where leases alone do."""
    its = week.watched
    if its is None or not week.is_seen:
        return ""
    unheld = [one.unheld for one in week.classes if one.unheld]
    used = sum(one.used.seconds for one in unheld)
    unknown = sum(one.unknown.seconds for one in unheld)
    idle = sum(one.idle_s or 0.0 for one in week.classes)
    others = "; of other devices leases alone tell, and what nobody held counts as idle"
    beside = others if week.has_unseen else ""
    return (
        f" Of the rest others used {hours(used)}, {hours(idle)} were idle, and of {hours(unknown)} nothing is known:"
        f" DCGM tells of {its.n_told} of {count(its.n, 'GPU')}{beside}."
    )


def _why_not(week: FleetWeek) -> str:
    """Say why DCGM tells less than it was asked, where something is known of that."""
    if week.watched is None or week.watched.reason is None:
        return ""
    if week.is_seen:
        return f" Not all was told: {plain(week.watched.reason)}."
    return f" By leases alone, what others used counts as idle: {plain(week.watched.reason)}."


def _sum(amounts: Iterable[Money | None]) -> list[Money]:
    by_currency: dict[str, float] = {}
    for its in amounts:
        if its is not None:
            by_currency[its.currency] = by_currency.get(its.currency, 0.0) + its.amount
    return [Money(amount, currency) for currency, amount in sorted(by_currency.items())]


# --- devices --------------------------------------------------------------------------------------------------


def _class_row(its: ClassWeek, base: str) -> ClassRow:
    return ClassRow(
        device_class=link(its.device_class, base, "/series", device_class=its.device_class),
        devices=str(its.n_devices),
        held=hours(its.held_s),
        share=quantities.percent(its.share) if its.share is not None else "",
        bar=share_bar(its.share, label=f"held {quantities.percent(its.share)} of the time"),
        idle=hours(its.idle_s),
        cost=money(its.idle_cost if its.there_s is not None else its.held_cost),
        wait=_wait(its.waits),
        waiting=_waiting(its.queue),
        active=_active(its.activity),
    )


def _wait(waits: Waits | None) -> str:
    if waits is None:
        return quantities.ABSENT
    return f"half within {quantities.duration(waits.p50_s)}, 95 % within {quantities.duration(waits.p95_s)}"


def _waiting(queue: Queue | None) -> str:
    if queue is None:
        return ""
    return f"{count(queue.n, 'job')} now, the oldest since {quantities.moment(queue.oldest_at)}"


def _active(activity: Activity | None) -> str:
    if activity is None:
        return ""
    told = (("SM", activity.sm_active), ("tensor", activity.tensor_active))
    return " · ".join(f"{title} {quantities.percent(share)}" for title, share in told if share is not None)


def _unheld_row(device_class: str, its: Unheld) -> UnheldRow:
    return UnheldRow(
        device_class=name(device_class, 40),
        parts=_parts(its),
        drawn=Cell(
            _drawn(its.drawn_idle) if its.drawn_idle else quantities.ABSENT, _paid(its.drawn_idle_cost)
        ),
    )


def _parts(its: Unheld) -> tuple[tuple[str, Cell], ...]:
    used, idle, unknown = (
        Cell(hours(part.seconds), _paid(part.cost)) for part in (its.used, its.idle, its.unknown)
    )
    if its.used.seconds:
        used = replace(used, note=f"busy {quantities.percent(its.busy_s / its.used.seconds)}")
    return tuple(zip(PARTS, (used, idle, unknown), strict=True))


def _paid(cost: Money | None) -> str:
    return money(cost) if cost else ""


def _idle(its: DeviceWeek) -> tuple[tuple[str, Cell], ...]:
    """Return the parts of what nobody held, of a device of which leases alone tell only that it was idle."""
    if its.unheld is not None:
        return _parts(its.unheld)
    return tuple((title, Cell(hours(its.idle_s) if title == IDLE else quantities.ABSENT)) for title in PARTS)


def _drawn(its: Drawn) -> str:
    """Return an energy with its range, where it is an estimate."""
    return kwh(its.joules) if its.is_counted else f"{kwh(its.joules)} ({kwh(its.low)} … {kwh(its.high)})"


def _device_row(its: DeviceWeek, base: str, *, is_seen: bool) -> DeviceRow:
    return DeviceRow(
        device=link(its.hardware_id, base, "/workers"),
        device_class=name(its.device_class, 40),
        worker=name(its.worker, 40),
        held=hours(its.held_s),
        share=quantities.percent(its.share),
        bar=share_bar(its.share, label=f"held {quantities.percent(its.share)} of the time"),
        idle=_idle(its) if is_seen else ((IDLE, Cell(hours(its.idle_s))),),
        health=plain(its.health),
        grade=plain(its.grade or "") or quantities.ABSENT,
    )


def _quarantine_row(its: DeviceWeek, base: str) -> QuarantineRow:
    return QuarantineRow(
        device=link(its.hardware_id, base, "/workers"),
        device_class=name(its.device_class, 40),
        since=quantities.moment(its.quarantined_at),
        why=plain(its.why) or "nothing tells why",
    )


# --- what it was used for -------------------------------------------------------------------------------------


def _use_row(use: Use, all_s: float, base: str) -> UseRow:
    if not use.project:
        return _row(use, OTHER_PROJECTS, None, all_s)
    return _row(use, use.what or "jobs of devices", link(use.project, base, "/", project=use.project), all_s)


def _purpose_row(use: Use, all_s: float) -> UseRow:
    return _row(use, PURPOSES.get(use.what, use.what.replace("_", " ")), None, all_s)


def _row(use: Use, what: str, project: Link | None, all_s: float) -> UseRow:
    share = use.held_s / all_s if all_s else None
    return UseRow(
        project=project,
        what=name(what, 48),
        held=hours(use.held_s),
        share=quantities.percent(share),
        bar=share_bar(share, label=f"{quantities.percent(share)} of the device time"),
        cost=moneys(use.costs, unpriced_s=use.unpriced_s),
    )


# --- how it went ----------------------------------------------------------------------------------------------


def _facts(week: FleetWeek) -> Iterable[tuple[str, str]]:
    if week.energy is not None:
        yield "Energy of measuring", _energy(week.energy, week)
    if week.drawn is not None:
        gpu_s = sum(its.there_s or 0.0 for its in week.classes if its.unheld)
        yield "Energy of the GPUs", _of_time(week.drawn, gpu_s, "their time", week.drawn_cost, week.pue)
    if week.drawn_idle is not None:
        idle_s = sum(its.unheld.idle.seconds for its in week.classes if its.unheld)
        yield (
            "Of that, while idle",
            _of_time(week.drawn_idle, idle_s, "idle time", week.drawn_idle_cost, week.pue),
        )
    if week.n_ended:
        yield "Attempts", _attempts(week)
        yield "Faults of machines or agents", _faults(week)
        n = week.outcomes.get(CONTAMINATED, 0)
        yield "Contaminated", f"{n} of {week.n_ended} attempts ({quantities.percent(n / week.n_ended)})"
    if week.spoiled is not None:
        its = week.spoiled
        read = (
            ""
            if its.n_read == its.n_runs
            else f", in {its.n_read} of {count(its.n_runs, 'run')}, evenly chosen"
        )
        share = quantities.percent(its.n_void / its.n)
        yield "Void invocations", f"{its.n_void} of {its.n} ({share}){read}"
    if week.retired_s:
        yield (
            "Retired since",
            f"{hours(week.retired_s)} were held on devices that are retired now, and are in no row",
        )


def _energy(its: Energy, week: FleetWeek) -> str:
    how = (
        "by the devices' counters"
        if its.is_counted
        else "by the devices' counters or readings of their power"
    )
    sampled = "" if its.n_read == its.n_runs else f" of {its.n_read} of {its.n_runs} runs"
    between = f" ({kwh(its.low or 0.0)} … {kwh(its.high or 0.0)})" if not its.is_measured else ""
    word = "measured" if its.is_measured else "an estimate"
    return (
        f"{kwh(its.joules)}{between}, {word} {how}{sampled}, over {hours(its.told_s)} of {hours(its.of_s)} of"
        f" device time; the rest is not known{_energy_cost(week.energy_cost, week.pue)}"
    )


def _of_time(its: Drawn, of_s: float, what: str, cost: Money | None, pue: float) -> str:
    how = (
        "measured by their energy counters"
        if its.is_counted
        else "an estimate by energy counters or samples of the power, between its lowest and highest"
    )
    return (
        f"{_drawn(its)}, {how}, over {hours(its.told_s)} of {hours(of_s)} of {what}; the rest is not known"
        f"{_energy_cost(cost, pue)}"
    )


def _energy_cost(cost: Money | None, pue: float) -> str:
    if cost is None:
        return ""
    drawn = f", {pue:g} times that drawn by the building" if pue != 1 else ""
    return f"; {money(cost)}{drawn}"


def _attempts(week: FleetWeek) -> str:
    ranked = sorted(week.outcomes.items(), key=lambda item: (-item[1], item[0]))
    told = [f"{n} {plain(outcome.replace('_', ' ')) or 'without an outcome'}" for outcome, n in ranked]
    return f"{week.n_ended} ended: {listing(told)}"


def _faults(week: FleetWeek) -> str:
    share = quantities.percent(week.n_infrastructure / week.n_ended)
    why = _commonest(week.reasons)
    return f"{week.n_infrastructure} of {week.n_ended} attempts ({share}){why}"


def _commonest(reasons: Sequence[tuple[str, int]]) -> str:
    told = [f"{plain(explain(reason))} ({n})" for reason, n in reasons[:3]]
    return f"; with those contaminated mostly: {', '.join(told)}" if told else ""
