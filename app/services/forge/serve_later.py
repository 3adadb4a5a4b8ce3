"""What no worker could take when it was its turn is measured once one can: nobody has to ask for it again."""

from __future__ import annotations

from dataclasses import asdict
from itertools import groupby

from sqlalchemy.orm import Session

from app.config import ServiceSettings
from app.services.forge.receive_delivery import want_look
from app.services.plan_check import Wish
from app.settings import matching_classes
from app.store.repositories import access, fleet, pulls
from app.store.tables import Job

MOST_RETRIES = 3
"""Of one head: a worker that comes and goes must not have it measured for ever."""


def find_unserved(session: Session, settings: ServiceSettings) -> int:
    """Have measured what waits for a device that is there now; return of how many pull requests."""
    found = 0
    for pull, its in groupby(pulls.unserved(session, MOST_RETRIES), key=lambda row: row[0]):
        wishes = {wish for _, job in its if (wish := _wish(session, settings, job)) is not None}
        if not wishes:
            continue
        told = sorted(map(asdict, wishes), key=lambda wish: (wish["suite"], wish["device"]))
        pull.wishes = [*pull.wishes, *told]
        pull.retries += 1
        want_look(session, pull.repository_id, pull.number)
        what = f"pull/{pull.repository_id}/{pull.number}"
        access.audit(session, "service", "pull.measured_later", what, wishes=told, head=pull.head_sha)
        found += 1
    return found


def _wish(session: Session, settings: ServiceSettings, job: Job) -> Wish | None:
    """Return what is to be measured where a worker has the devices now: the job's class, or all of a suite without one.

    A job that matched no device has its globs in place of a class.
    """
    within = settings.worker_live_for
    live = fleet.live_classes(session, within=within, untrusted=job.is_untrusted)
    classes = matching_classes(job.device_class.split(", "), live)
    most = (
        fleet.most_devices_of_one_worker(session, one, within=within, untrusted=job.is_untrusted)
        for one in classes
    )
    if max(most, default=0) < job.devices_needed:
        return None
    return Wish(job.suite, job.device_class if job.device_class in live else "")
