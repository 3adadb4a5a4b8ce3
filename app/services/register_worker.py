"""An agent introduces itself and its devices."""

from __future__ import annotations

from sqlalchemy.orm import Session

from app.config import ServiceSettings
from app.domain.errors import ConflictError
from app.services.access import Principal, Scope
from app.services.lease_jobs import note_pools
from app.store.repositories import access, fleet
from app.store.tables import Worker
from workers.protocol import DeviceReport, Register, Registered


def register_worker(
    session: Session, settings: ServiceSettings, principal: Principal, message: Register
) -> Registered:
    """Store the agent and its devices and return what it needs to know.

    Raises ConflictError `device_in_use` when another live agent has one of the devices: a device is measured by
    one agent, whatever copies of a disk image or a second start say.
    """
    for report in message.devices:
        _refuse_twin(session, settings, principal, message, report)
    worker = fleet.worker_named(session, message.name, host=message.host, instance=message.instance)
    _refuse_namesake(session, settings, worker, message)
    if fleet.is_live(session, worker.id, within=settings.worker_live_for):
        _refuse_lesser(worker, principal)
    worker.host, worker.instance = message.host, message.instance
    worker.agent_version, worker.token_id = message.agent_version, principal.token_id
    worker.sandbox, worker.left_at = message.sandbox, None
    note_pools(worker, principal)
    fleet.touch(session, worker.id)
    for report in message.devices:
        _store_device(session, worker, report)
    fleet.retire_others(session, worker.id, [report.hardware_id for report in message.devices])
    access.audit(session, principal.name, "worker.registered", message.name, devices=len(message.devices))
    return Registered(
        worker_id=worker.id,
        heartbeat_s=settings.heartbeat_s,
        lease_ttl_s=settings.lease_ttl_s,
        self_fence_s=settings.self_fence_s,
    )


def _refuse_lesser(worker: Worker, principal: Principal) -> None:
    """Refuse to an agent of the untrusted pool what a live worker of the trusted one has: its name, its devices."""
    if worker.token_id is not None and worker.takes_trusted and not principal.may(Scope.WORKER):
        raise ConflictError(
            f"the live worker {worker.name!r} is of the trusted pool, and the token {principal.name!r} is not; stop "
            "that agent first, or give this one another name with --name",
            code="name_in_use",
        )


def _refuse_twin(
    session: Session,
    settings: ServiceSettings,
    principal: Principal,
    message: Register,
    report: DeviceReport,
) -> None:
    owner = fleet.live_owner(session, report.hardware_id, within=settings.worker_live_for)
    if owner is None:
        return
    _, worker = owner
    _refuse_lesser(worker, principal)
    if worker.name != message.name or worker.host != message.host:
        raise ConflictError(
            f"device {report.hardware_id} ({report.device_class}) is already measured by the live worker "
            f"{worker.name!r} on {worker.host!r}; stop that agent, or wait "
            f"{settings.worker_live_for.total_seconds():.0f} s after it has ended",
            code="device_in_use",
        )


def _refuse_namesake(session: Session, settings: ServiceSettings, worker: Worker, message: Register) -> None:
    """Refuse the name of a live agent on another host: taking it over would end that agent."""
    if worker.host != message.host and fleet.is_live(session, worker.id, within=settings.worker_live_for):
        raise ConflictError(
            f"the name {message.name!r} is in use by the live worker on {worker.host!r}; "
            "give this one another with --name",
            code="name_in_use",
        )


def _store_device(session: Session, worker: Worker, report: DeviceReport) -> None:
    device = fleet.device(
        session,
        report.hardware_id,
        worker_id=worker.id,
        kind=report.kind,
        device_class=report.device_class,
    )
    device.worker_id, device.kind, device.device_class = worker.id, report.kind, report.device_class
    device.model, device.machine_hash = report.model, report.machine_hash
    device.fingerprint = report.fingerprint
    if device.health == "retired":
        device.health = "good"
