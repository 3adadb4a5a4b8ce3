"""Send what the outbox holds; and look for work whose hint was lost on the way.

A message only says that a row wants attention. Consumers are idempotent, so sending twice is harmless, and
whatever Redis forgets is found here again in the database.
"""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import Any, Protocol

from sqlalchemy.orm import Session

from app.config import ServiceSettings
from app.domain.errors import NotFoundError
from app.store.repositories import checks, jobs, outbox

log = logging.getLogger(__name__)

BATCH = 20
"""Messages that one transaction sends; so many rows are locked while a broker dawdles."""

_UNKNOWN_AGAIN = timedelta(minutes=5)
"""When a message is tried again whose topic this release does not know: another release may have put it there."""


class Queue(Protocol):
    """Where messages go: Celery, or a list in tests."""

    def send(self, topic: str, payload: dict[str, Any]) -> None:
        """Send one message. Raises on failure, and then the message stays; NotFoundError if nobody knows its topic."""


def relay_outbox(session: Session, queue: Queue) -> int:
    """Send a batch of what is due and return how many are done with for now; what fails is tried again later."""
    messages = outbox.claim_unsent(session, BATCH)
    done = 0
    for message in messages:
        try:
            queue.send(message.topic, message.payload)
        except NotFoundError as error:
            log.error("message %s cannot be sent: %s", message.key, error)
            outbox.mark_failed(session, message, str(error), again=_UNKNOWN_AGAIN)
        except Exception as error:  # whatever the broker raises: the message stays, and the reason with it
            outbox.mark_failed(session, message, repr(error))
            break  # the broker is away: the rest would only wait for it with their rows locked
        else:
            outbox.mark_sent(session, message)
        done += 1
    return done


def find_lost_hints(session: Session, settings: ServiceSettings) -> int:
    """Put back into the outbox what waits in the database longer than a hint takes; return how many."""
    age = timedelta(seconds=settings.hint_age_s)
    waiting = jobs.waiting(session, age)
    for job_id, device_class in waiting:
        payload = {"job_id": job_id, "device_class": device_class}
        outbox.put_again(session, "job.hint", f"job.hint/{job_id}", payload, sent_before=age)
    ready = checks.ready_to_conclude(session)
    for check_id in ready:
        outbox.put_again(
            session, "check.conclude", f"check.conclude/{check_id}", {"check_id": check_id}, sent_before=age
        )
    keep = timedelta(days=settings.keep_reports_days) if settings.keep_reports_days else None
    unrendered = checks.without_report(session, older_than=age, newer_than=keep)
    for check_id in unrendered:
        outbox.put_again(
            session, "check.render", f"check.render/{check_id}", {"check_id": check_id}, sent_before=age
        )
    return len(waiting) + len(ready) + len(unrendered)
