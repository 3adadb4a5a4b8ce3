"""How often the forge was called, kept where every process can tell of it: those that call it are asked by nobody."""

from __future__ import annotations

from sqlalchemy.orm import Session

from app.integrations.forge import Usage
from app.services.metrics.catalogue import FORGE_CALLS, FORGE_QUOTA
from app.store.repositories import tallies


def keep_usage(session: Session, usage: Usage) -> None:
    """Add what was called to what is known, and note how much each identity may still call until its next hour."""
    for whose, quota in sorted(usage.quotas.items()):
        tallies.note(session, FORGE_QUOTA.name, whose, quota.remaining, quota.until)
    if usage.calls:
        tallies.add(session, FORGE_CALLS.name, [(code, n, 0.0) for code, n in usage.calls.items()])
