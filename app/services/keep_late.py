"""A post of a lease that has ended is refused, and kept in the audit log: somebody may ask for it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy.orm import Session

from app.domain.errors import StaleLeaseError
from app.services.access import Principal
from app.store.repositories import access
from app.store.session import Database

ACTION = "lease.late_post"

MOST_B = 64 * 1024
"""So much of a document is kept; its size and SHA-256 in any case."""

MOST_A_DAY = 1_000
"""So many are kept of one token's within a day: whoever posts nonsense fills no disk."""


@contextmanager
def keeping_late(
    database: Database, session: Session, principal: Principal, lease_id: str, what: str, body: bytes
) -> Iterator[None]:
    """Keep the body where the block refuses it because its lease has ended. Raises what the block raises."""
    try:
        yield
    except StaleLeaseError:
        session.rollback()  # so that this takes no second connection
        with database.session() as own:
            keep_late(own, principal, lease_id, what, body)
        raise


def keep_late(session: Session, principal: Principal, lease_id: str, what: str, body: bytes) -> bool:
    """Keep a refused document, once; say whether it was new."""
    digest = hashlib.sha256(body).hexdigest()
    object_ = f"token/{principal.name}"
    if access.is_audited(session, ACTION, object_, lease=lease_id, sha256=digest):
        return False
    if access.audited_today(session, ACTION, object_) >= MOST_A_DAY:
        return False
    text = body[:MOST_B].decode(errors="replace").replace("\x00", "\ufffd").replace("\\u0000", "\\ufffd")
    its: dict[str, Any] = {
        "lease": lease_id,
        "what": what,
        "bytes": len(body),
        "sha256": digest,
        "document": text,
    }
    access.audit(session, principal.name, ACTION, object_, **its)
    return True
