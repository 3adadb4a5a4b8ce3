"""Whether a change in a history is the machine's: it came with a new epoch of its device, or the control shares it.

Such a change is kept and labelled `machine_change`; nobody is alerted, nobody is asked to measure it. A commit of
before that was measured on the new machine, as bridges are, may show later that it was the code after all.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from sqlalchemy.orm import Session

from app.analysis.machine import Placed, came_with, is_majority, shared_shift
from app.domain.changes import MACHINE_CHANGE
from app.services.history_window import Found
from app.store.repositories import machines
from app.store.repositories.history import Examined
from app.store.repositories.machines import MeasuredPoint
from app.store.tables import Epoch

AROUND = 10
"""Points on either side whose runs are looked at."""

EPOCHS = 100
"""The last ones of their devices that are looked at: a machine that goes to and fro may have many."""

TIMES = "s"


class Cause(NamedTuple):
    """The label of a change, and what tells so."""

    label: str
    evidence: dict[str, Any]


def machine_cause(session: Session, series: Examined, branch: str, found: Found) -> Cause | None:
    """Return why the machine is to blame for a change; None where nothing says so."""
    if found.before is None or found.after is None:
        return None
    before, after = machines.points_around(session, series.id, branch, found.result_id, AROUND)
    if not before or not after:
        return None
    return _by_epoch(session, found, before, after) or _by_control(session, series, found, before, after)


def _by_epoch(
    session: Session, found: Found, before: list[MeasuredPoint], after: list[MeasuredPoint]
) -> Cause | None:
    """Return the newest epoch that the change came with, of those that began while these points were measured."""
    assert found.before is not None
    assert found.after is not None
    ran_on = machines.devices_of_runs(session, [point.run_id for point in (*before, *after)])
    times = [point.measured_at for point in (*before, *after)]
    devices = sorted({device for its in ran_on.values() for device in its})
    epochs = machines.epochs_until(session, devices, max(times), most=EPOCHS)
    for i, epoch in reversed(list(enumerate(epochs))):
        if epoch.began_at <= min(times) or not epoch.changes:
            continue
        new = {(later.device_id, later.machine_hash) for later in epochs[i:]}
        placed = [
            Placed(is_after, not new.isdisjoint(_machines(point, ran_on, epochs)), point.value)
            for is_after, side in ((False, before), (True, after))
            for point in side
        ]
        if came_with(placed, found.before, found.after):
            evidence = {"epoch": epoch.id, "device": epoch.device_id, "changes": epoch.changes}
            return Cause(MACHINE_CHANGE, evidence)
    return None


def _machines(
    point: MeasuredPoint, ran_on: dict[int, list[int]], epochs: Sequence[Epoch]
) -> Iterator[tuple[int, str]]:
    """Yield the devices that a point was measured on, each with the machine that it was at the time."""
    for device in ran_on.get(point.run_id, []):
        begun = [e for e in epochs if e.device_id == device and e.began_at <= point.measured_at]
        if begun:
            yield device, begun[-1].machine_hash


def _by_control(
    session: Session, series: Examined, found: Found, before: list[MeasuredPoint], after: list[MeasuredPoint]
) -> Cause | None:
    change = _slower_by(series, found)
    if change is None:
        return None
    old = machines.control_times(session, [point.run_id for point in before])
    new = machines.control_times(session, [point.run_id for point in after])
    common = sorted(old.keys() & new.keys())
    shared = {key: its for key in common if (its := shared_shift(change, old[key], new[key])) is not None}
    if not is_majority(len(shared), len(common)):
        return None
    (device, probe, version), largest = max(shared.items(), key=lambda one: abs(one[1].shift))
    evidence = {"device": device, "probe": probe, "control_version": version, **vars(largest)}
    return Cause(MACHINE_CHANGE, {**evidence, "probes": [len(shared), len(common)]})


def _slower_by(series: Examined, found: Found) -> float | None:
    """Return by how much more time the new regime takes (ln); None for what is neither a time nor a rate."""
    assert found.before is not None
    assert found.after is not None
    if found.before <= 0 or found.after <= 0:
        return None
    change = math.log(found.after / found.before)
    if series.unit == TIMES:
        return change
    return -change if series.unit.endswith("/s") else None
