"""A service that was restored observes: nothing is measured, and the forge is told nothing, until somebody resumes.

What the backup holds is not what the world has seen since: work that it has as queued may have ended, and the forge may
have been told so. The leases that it has as standing end with it: their agents' posts are refused, and kept in the
audit log.
"""

from __future__ import annotations

from sqlalchemy.orm import Session

from app.domain.jobs import JobState, Outcome
from app.services.backups.archive import Manifest
from app.services.lease_jobs import end_job
from app.store.repositories import access, clock, leases, restorations
from app.store.tables import Restoration

REASON = "restored"
MESSAGE = "the service was restored from a backup while this was measured"


def observe(session: Session, manifest: Manifest, backup: str) -> int:
    """Note that the database was restored, and end every lease; return how many stood.

    An attempt that ends so is nobody's fault, and its job has it anew.
    """
    session.add(
        Restoration(
            backup=backup, backup_at=manifest.at, version=manifest.version, revision=manifest.revision
        )
    )
    restorations.note_backup(session, manifest.at)
    held = restorations.held_jobs(session)
    for job, attempt in held:
        attempt.outcome, attempt.reason, attempt.message = str(Outcome.LOST), REASON, MESSAGE
        attempt.ended_at = clock.now(session)
        leases.release_devices(session, attempt.lease_id)
        if job.cancel_requested_at is not None:
            end_job(session, job, JobState.CANCELLED, reason="cancelled")
            continue
        job.state, job.lease_id, job.lease_until, job.attempt_until = JobState.QUEUED, None, None, None
        job.reason, job.message = REASON, MESSAGE
        job.max_attempts += 1
    leases.release_all(session)
    restorations.put_off_deadlines(session, manifest.at)
    session.flush()
    access.audit(session, "restore", "service.restored", backup, at=manifest.at.isoformat(), leases=len(held))
    return len(held)
