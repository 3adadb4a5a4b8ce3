"""Workers and their devices as people look after them: who is there, in what health, doing what."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy.orm import Session

from app.reports.fingerprints import FactGroup, fact_groups
from app.services.read_moved import Moved, read_moved
from app.services.read_quarantine import Quarantine, read_quarantines
from app.store.repositories import clock, fleet, machines
from app.store.repositories.fleet import Occupation
from app.store.tables import Device, Epoch, SelfCheck, Worker


@dataclass(frozen=True)
class DeviceLine:
    """One device; `now` is None while it is free, `rests_until` is set after a lost lease."""

    id: int
    device_class: str
    kind: str
    model: str
    hardware_id: str
    health: str
    quarantine: Quarantine | None
    moved: Moved | None
    grade: str | None
    self_check: SelfCheck | None
    """Its last A/A; withheld from readers that may not see every project, as it may be another's run."""
    epoch: Epoch | None
    now: Occupation | None
    is_hidden: bool
    """It works for a project that the reader may not see: `now` is withheld."""
    rests_until: datetime | None
    fingerprint: tuple[FactGroup, ...]
    machine_hash: str


@dataclass(frozen=True)
class WorkerLine:
    """One worker with its devices; live ones were heard of lately and have not signed off."""

    id: int
    name: str
    host: str
    version: str
    is_live: bool
    has_left: bool
    """Whether it was stopped, and said so."""
    last_seen_at: datetime
    created_at: datetime
    takes_trusted: bool
    takes_untrusted: bool
    sandbox: int
    """The level of isolation that it can give to strangers' code."""
    devices: tuple[DeviceLine, ...]


def list_workers(
    session: Session, *, live_for: timedelta, project_ids: Collection[int] | None = None
) -> tuple[WorkerLine, ...]:
    """Return all workers, live ones first, then by name, in a fixed number of statements.

    Args:
        session: the session.
        live_for: how long after its last contact a worker counts as live.
        project_ids: the projects that the reader may see; what devices do for others is withheld. None for all.
    """
    now = clock.now(session)
    occupied = {occupation.device_id: occupation for occupation in fleet.occupations(session)}
    checks, epochs = machines.last_self_checks(session), machines.last_epochs(session)
    known = fleet.all_devices(session)
    quarantines = read_quarantines(session, known)
    moved = read_moved(session, known)
    devices: dict[int, list[DeviceLine]] = {}
    for device in known:
        machine = (checks.get(device.id), epochs.get(device.id), quarantines.get(device.id))
        line = _device(device, machine, moved.get(device.id), occupied.get(device.id), project_ids, now)
        devices.setdefault(device.worker_id, []).append(line)
    lines = [
        _worker(worker, tuple(devices.get(worker.id, ())), heard_since=now - live_for)
        for worker in fleet.all_workers(session)
    ]
    return tuple(sorted(lines, key=lambda line: not line.is_live))


def _worker(worker: Worker, devices: tuple[DeviceLine, ...], *, heard_since: datetime) -> WorkerLine:
    return WorkerLine(
        id=worker.id,
        name=worker.name,
        host=worker.host,
        version=worker.agent_version,
        is_live=worker.left_at is None and worker.last_seen_at > heard_since,
        has_left=worker.left_at is not None,
        last_seen_at=worker.last_seen_at,
        created_at=worker.created_at,
        takes_trusted=worker.takes_trusted,
        takes_untrusted=worker.takes_untrusted,
        sandbox=worker.sandbox,
        devices=devices,
    )


def _device(
    device: Device,
    machine: tuple[SelfCheck | None, Epoch | None, Quarantine | None],
    moved: Moved | None,
    occupation: Occupation | None,
    project_ids: Collection[int] | None,
    now: datetime,
) -> DeviceLine:
    check, epoch, quarantine = machine
    is_hidden = (
        occupation is not None and project_ids is not None and occupation.project_id not in project_ids
    )
    rests = device.available_at if device.available_at and device.available_at > now else None
    return DeviceLine(
        id=device.id,
        device_class=device.device_class,
        kind=device.kind,
        model=device.model,
        hardware_id=device.hardware_id,
        health=device.health,
        quarantine=quarantine,
        moved=moved,
        grade=check.grade if check else None,
        self_check=check if project_ids is None else None,
        epoch=epoch,
        now=None if is_hidden else occupation,
        is_hidden=is_hidden,
        rests_until=rests,
        fingerprint=fact_groups(device.fingerprint),
        machine_hash=device.machine_hash,
    )
