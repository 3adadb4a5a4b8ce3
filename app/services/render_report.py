"""A check's HTML report: rendered once when the check is concluded, and afresh while it is going on."""

from __future__ import annotations

import gzip

from sqlalchemy.orm import Session

from app.reports.html import render_report
from app.services.read_check import read_check
from app.store.repositories import checks


def store_report(session: Session, check_id: int) -> int:
    """Render and store the report of the check; return its size [B]."""
    html = render_report(read_check(session, check_id)).encode()
    checks.put_report(session, check_id, gzip.compress(html, 6))
    return len(html)


def report_html(session: Session, check_id: int) -> str:
    """Return the check's report: the stored one, or how things stand just now. Raises NotFoundError."""
    stored = checks.report(session, check_id)
    if stored is not None:
        return gzip.decompress(stored).decode()
    return render_report(read_check(session, check_id))
