"""Whether a change in a history is the machine's: it came with a new epoch of its device, or the control shares it.

Such a change is kept and labelled `machine_change`; nobody is alerted, nobody is asked to measure it.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from sqlalchemy.orm import Session

from app.analysis.machine import shared_shift
from app.domain.changes import MACHINE_CHANGE
from app.services.history_window import Found
from app.store.repositories import machines
from app.store.repositories.history import Examined
from app.store.repositories.machines import MeasuredPoint

AROUND = 10
"""Points on either side whose runs are looked at."""

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
    return _by_epoch(session, before[-1], after[0]) or _by_control(session, series, found, before, after)


def _by_epoch(session: Session, last: MeasuredPoint, first: MeasuredPoint) -> Cause | None:
    devices = machines.devices_of_runs(session, [first.run_id]).get(first.run_id, [])
    begun = machines.epochs_between(session, devices, last.measured_at, first.measured_at)
    if not begun:
        return None
    epoch = begun[-1]
    return Cause(MACHINE_CHANGE, {"epoch": epoch.id, "device": epoch.device_id, "changes": epoch.changes})


def _by_control(
    session: Session, series: Examined, found: Found, before: list[MeasuredPoint], after: list[MeasuredPoint]
) -> Cause | None:
    change = _slower_by(series, found)
    if change is None:
        return None
    old = machines.control_times(session, [point.run_id for point in before])
    new = machines.control_times(session, [point.run_id for point in after])
    for key in sorted(old.keys() & new.keys()):
        shared = shared_shift(change, old[key], new[key])
        if shared is not None:
            device, probe, version = key
            evidence = {"device": device, "probe": probe, "control_version": version, **vars(shared)}
            return Cause(MACHINE_CHANGE, evidence)
    return None


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
