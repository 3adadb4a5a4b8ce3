"""Wake-ups through PostgreSQL: they shorten a wait, and nothing relies on them."""

from __future__ import annotations

from sqlalchemy import text
from sqlalchemy.orm import Session

CHANNEL = "ratchet"


def job_queued(session: Session, device_class: str) -> None:
    """Wake the claims that wait for work on this device class; sent when the transaction commits."""
    _notify(session, f"job:{device_class}")


def request_ended(session: Session, request_id: int) -> None:
    """Wake whoever waits for what comes of a request; sent when the transaction commits."""
    _notify(session, f"measure:{request_id}.")


def _notify(session: Session, payload: str) -> None:
    session.execute(text("select pg_notify(:channel, :payload)"), {"channel": CHANNEL, "payload": payload})
