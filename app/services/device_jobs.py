"""Jobs that look after devices: a commit against itself, a calibration, the last commit on a machine that changed.

They are for one device and come after the pull requests that wait for it. Those that run anybody's commands have the
settings of a head that landed. Asking twice for the same is one job, and a device has one unfinished of a kind.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy.orm import Session

from app.analysis.sequential import ALPHA, ALPHA_PASS
from app.config import ServiceSettings
from app.services.device_purpose import Purpose, purpose_of
from app.services.follow_machine import may_get_well
from app.services.job_sources import source_with
from app.services.lease_jobs import hint
from app.services.quarantine import QUARANTINED
from app.store.repositories import access, clock, fleet, jobs, machines
from app.store.repositories.upsert import get_or_create
from app.store.tables import Commit, Device, Epoch, Job, Request, RequestJob

log = logging.getLogger(__name__)

BANDS = {Purpose.CALIBRATE: 4, Purpose.BRIDGE: 4, Purpose.SELF_CHECK: 20}
"""Before what confirms suspicions (5), which a bridge may explain; after pull requests (0)."""

NO_SOURCE = {"kind": "git", "location": ""}
SELF_CHECK_CASES = 2
MOST_PAIRS = 32
MOST_MINUTES = 10.0
SPACING = timedelta(minutes=5)
"""From the first calibration after a quarantine, which is at once, to the next; then ever twice as long."""

LONGEST_SPACING = timedelta(days=1)
DOUBLINGS = 9
"""More would be longer than a day."""


def tend_devices(session: Session, settings: ServiceSettings) -> int:
    """Ask for whatever the devices of live workers are due for; return how many jobs were made."""
    tending = _Tending(session, settings, clock.now(session))
    made = 0
    for device in fleet.tended_devices(session, within=settings.worker_live_for):
        device_id = device.id
        try:
            with session.begin_nested():
                made += tending.tend(device)
        except Exception:
            log.exception("device %d could not be looked after; it is tried again later", device_id)
    return made


@dataclass
class _Tending:
    session: Session
    settings: ServiceSettings
    now: datetime
    landed: dict[str, Sequence[Job]] = field(default_factory=dict)
    """Device class → for each suite the newest job whose head has landed."""

    def tend(self, device: Device) -> int:
        """Make the jobs that a device is due for; return how many."""
        if device.health == QUARANTINED:
            return self._calibrate(device) if may_get_well(self.session, device) else 0
        return self._bridge(device) + self._self_check(device)

    def _calibrate(self, device: Device) -> int:
        """Have a device in quarantine show its control again, at once and then ever more rarely.

        What disturbed it is often gone in a moment, such as a neighbour on a busy host.
        """
        past = machines.jobs_since_quarantine(self.session, device.id)
        if past:
            spacing = min(SPACING * 2 ** min(len(past) - 1, DOUBLINGS), LONGEST_SPACING)
            if past[-1].finished_at is None or self.now - past[-1].finished_at < spacing:
                return 0
        like = jobs.newest_on(self.session, device.device_class)
        if like is None:
            return 0
        # The control workload needs no commit, so whether one can be had does not matter.
        source, head = NO_SOURCE, self.session.get_one(Commit, like.head_commit_id)
        entry = machines.quarantine_of(self.session, device.id)
        occasion = f"{entry and entry.created_at}, {len(past)}"
        return self._make(device, _Wanted(Purpose.CALIBRATE, occasion, like, source, None, head))

    def _self_check(self, device: Device) -> int:
        """Have a device measure a commit against itself, once in a night."""
        night = night_at(self.now, self.settings.self_check_from, self.settings.self_check_until)
        if night is None:
            return 0
        occasion = f"{night[0]:%Y-%m-%d}"
        if self._is_known(device, Purpose.SELF_CHECK, occasion):
            return 0
        for like in self._landed(device)[:1]:
            head = self.session.get_one(Commit, like.head_commit_id)
            source = source_with(self.session, self.settings, like, [head])
            if source is not None:
                wanted = _Wanted(Purpose.SELF_CHECK, occasion, like, source, head, head, until=night[1])
                return self._make(device, wanted)
        return 0

    def _bridge(self, device: Device) -> int:
        """Have the last commits of histories measured on a machine that has changed since.

        Not where a bridge itself was the first to see the change: what it measured is measured.
        """
        epoch = machines.last_epoch(self.session, device.id)
        if epoch is None or epoch.run_id is None or not epoch.changes:
            return 0
        if not fleet.is_trusted(self.session, device):  # a bridge is a point of a history
            return 0
        is_late = self.now - epoch.began_at > timedelta(seconds=self.settings.queue_deadline_s)
        if is_late or self._is_known(device, Purpose.BRIDGE, _occasion(epoch, 0)):
            return 0
        if purpose_of(machines.job_of_run(self.session, epoch.run_id)) is Purpose.BRIDGE:
            return 0
        wanted = [w for like in self._landed(device) if (w := self._bridged(like, epoch)) is not None]
        for i, one in enumerate(wanted):
            self._make(device, one.on(_occasion(epoch, i)))
        return len(wanted)

    def _bridged(self, like: Job, epoch: Epoch) -> _Wanted | None:
        last = machines.last_commit_before(self.session, like, epoch.began_at)
        if last is None:
            return None
        head = self.session.get_one(Commit, last[0])
        source = source_with(self.session, self.settings, like, [head])
        if source is None:
            return None
        return _Wanted(Purpose.BRIDGE, "", like, source, None, head, history=last[1])

    def _is_known(self, device: Device, purpose: Purpose, occasion: str) -> bool:
        return jobs.is_made(self.session, _key(device, purpose, occasion)) or machines.has_unfinished(
            self.session, device.id, purpose
        )

    def _landed(self, device: Device) -> Sequence[Job]:
        known = self.landed.get(device.device_class)
        if known is None:
            known = self.landed[device.device_class] = jobs.landed_on(self.session, device.device_class)
        return known

    def _make(self, device: Device, wanted: _Wanted) -> int:
        key, like = _key(device, wanted.purpose, wanted.occasion), wanted.like
        deadline = clock.now(self.session, plus_s=self.settings.queue_deadline_s)
        job, is_new = get_or_create(
            self.session,
            Job,
            {"key": key},
            project_id=like.project_id,
            suite=like.suite,
            device_class=device.device_class,
            device_id=device.id,
            base_commit_id=wanted.base.id if wanted.base else None,
            head_commit_id=wanted.head.id,
            spec=like.spec | wanted.spec,
            policy=wanted.policy,
            budget_s=min(like.budget_s, MOST_MINUTES * 60),
            max_pairs=MOST_PAIRS,
            band=BANDS[wanted.purpose],
            deadline_at=min(deadline, wanted.until or deadline),
        )
        if not is_new:
            return 0
        asked = {"project_id": like.project_id, "trigger": str(wanted.purpose), "asked_by": "service"}
        request, _ = get_or_create(self.session, Request, {"key": key}, **asked)
        self.session.add(RequestJob(request_id=request.id, job_id=job.id))
        self.session.flush()
        hint(self.session, job)
        access.audit(self.session, "service", f"device.{wanted.purpose}", f"device/{device.id}", job=job.id)
        return 1


@dataclass(frozen=True)
class _Wanted:
    """A job of a device's own: with the settings of `like`, these commits, and the branch of the history it is for."""

    purpose: Purpose
    occasion: str
    like: Job
    source: dict[str, str]
    base: Commit | None
    head: Commit
    history: str | None = None
    until: datetime | None = None

    def on(self, occasion: str) -> _Wanted:
        return replace(self, occasion=occasion)

    @property
    def spec(self) -> dict[str, Any]:
        """What its agent has to know that is not as in `like`."""
        return {
            "source": self.source,
            "base_sha": self.base.sha if self.base else None,
            "head_sha": self.head.sha,
            "benchmarks_from": "head",
            "purpose": str(self.purpose),
            "sandbox": 0,
        }

    @property
    def policy(self) -> dict[str, Any]:
        """What its judge has to know."""
        policy = {**self.like.policy, "purpose": str(self.purpose), "alpha": ALPHA, "alpha_pass": ALPHA_PASS}
        policy.pop("history", None)
        if self.history is not None:
            policy["history"] = self.history
        if self.purpose is Purpose.SELF_CHECK:
            policy |= {"most_cases": SELF_CHECK_CASES, "budgets": []}
        return policy


def night_at(now: datetime, begins: int, ends: int) -> tuple[datetime, datetime] | None:
    """Return the beginning and the end of the night that it is; None by day, and where both are the same hour.

    Args:
        now: the time, in UTC.
        begins: hour of the day from which on it is night.
        ends: hour by which it is not any more, of the next day where that is before `begins`.
    """
    hours = (ends - begins) % 24 or (24 if ends == 24 else 0)
    began = now.replace(minute=0, second=0, microsecond=0) - timedelta(hours=(now.hour - begins) % 24)
    return (began, began + timedelta(hours=hours)) if now < began + timedelta(hours=hours) else None


def _occasion(epoch: Epoch, nth: int) -> str:
    return f"epoch {epoch.id}" + (f", {nth}" if nth else "")


def _key(device: Device, purpose: Purpose, occasion: str) -> str:
    return f"{purpose}/{device.id}/{occasion}"
