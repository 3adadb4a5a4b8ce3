"""Links to one check's report that whoever holds them may read without an account, for so many days.

A link names the check and when it ends, and is signed with a key of the installation (HMAC-SHA-256). When it ends
follows from when the check was asked for: the link of a check is always the same, however often it is told.
"""

from __future__ import annotations

import hashlib
import hmac
from datetime import timedelta
from enum import StrEnum

from sqlalchemy.orm import Session

from app.config import ServiceSettings
from app.store.repositories import clock, keys
from app.store.tables import Check

KEY = "report_links"

PATH = "shared/checks"


class Standing(StrEnum):
    """What a link is."""

    GOOD = "good"
    EXPIRED = "expired"
    WRONG = "wrong"


def report_link(session: Session, settings: ServiceSettings, check: Check) -> str:
    """Return the address of a check's report; of its page, which asks for an account, where links are not wanted."""
    if not settings.report_link_days:
        return f"{settings.address}/checks/{check.id}"
    until = int((check.created_at + timedelta(days=settings.report_link_days)).timestamp())
    return f"{settings.address}/{PATH}/{check.id}/{until}/{_signature(session, check.id, until)}"


def standing_of(
    session: Session, settings: ServiceSettings, check_id: int, until: int, signature: str
) -> Standing:
    """Return what a link is, `until` in seconds since 1970. All are wrong where links are not wanted (any more)."""
    expected = _signature(session, check_id, until)
    is_ours = hmac.compare_digest(expected.encode(), signature.encode("utf-8", "replace"))
    if not is_ours or not settings.report_link_days:
        return Standing.WRONG
    return Standing.EXPIRED if clock.now(session).timestamp() >= until else Standing.GOOD


def _signature(session: Session, check_id: int, until: int) -> str:
    key = keys.key(session, KEY)
    return hmac.new(key, f"report {check_id} {until}".encode(), hashlib.sha256).hexdigest()
