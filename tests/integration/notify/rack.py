"""Machines of a class that the project uses, quarantined and released as runs and people do."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

from sqlalchemy import select, text
from sqlalchemy.orm import Session

from app.domain.incidents import IncidentEnd
from app.services.notify.plan_machines import plan_machines
from app.services.quarantine import quarantine, release
from app.store.repositories import projects
from app.store.tables import Device, Job, Worker
from tests.integration.notify.conftest import PROJECT, Crowd

OFF = {"probe": "gemm_bf16", "seconds": 0.01041, "usual_s": 0.01, "deviation": 0.041}


@dataclass
class Rack:
    """Machines of the class h100, which the project uses, and who is told of them."""

    crowd: Crowd

    def device(self, session: Session, n: int = 1, device_class: str = "h100") -> Device:
        """Return the n-th device, of an agent of its own."""
        name = f"gpu-{n}"
        found = session.scalars(select(Device).where(Device.hardware_id == name)).one_or_none()
        if found is not None:
            return found
        worker = Worker(name=f"agent-{n}", host="rack", instance="i")
        session.add(worker)
        session.flush()
        device = Device(
            hardware_id=name, worker_id=worker.id, kind="nvidia", device_class=device_class, fingerprint={}
        )
        session.add(device)
        session.flush()
        return device

    def used_by(self, project: str = PROJECT, device_class: str = "h100", *, days_ago: int = 1) -> None:
        """Have a project have had a job for a class."""
        with self.crowd.service.database.session() as session:
            its = projects.project(session, project)
            head = projects.commit(session, its.id, "c" * 40)
            job = Job(
                project_id=its.id,
                key=uuid4().hex,
                suite="main",
                device_class=device_class,
                head_commit_id=head.id,
                spec={},
                policy={},
                budget_s=60,
                max_pairs=8,
                created_at=datetime.now(UTC) - timedelta(days=days_ago),
            )
            session.add(job)

    def stops_using(self) -> None:
        """Have every job that there was be from two months ago."""
        with self.crowd.service.database.session() as session:
            session.execute(text("update job set created_at = created_at - interval '60 days'"))

    def quarantine(self, *numbers: int, device_class: str = "h100", **seen: Any) -> None:
        """Have devices put into quarantine, all at once."""
        with self.crowd.service.database.session() as session:
            for n in numbers:
                quarantine(session, self.device(session, n, device_class), **(seen or OFF))

    def release(self, *numbers: int, by: IncidentEnd = IncidentEnd.CALIBRATION) -> None:
        with self.crowd.service.database.session() as session:
            for n in numbers:
                release(session, self.device(session, n), by)

    def settle(self) -> None:
        """Have the sweep look, and all that is due done, windows being over."""
        with self.crowd.service.database.session() as session:
            plan_machines(session)
        self.crowd.settle(sweep=True)

    def come(self) -> None:
        """Have it be time for what is due, digests and ends of quiet hours among it."""
        with self.crowd.service.database.session() as session:
            plan_machines(session)
            session.execute(text("update notifier set due_at = clock_timestamp() where due_at is not null"))
        self.crowd.settle(sweep=True)

    @property
    def posts(self) -> list[dict[str, Any]]:
        return [post.json for post in self.crowd.hook.posts]
