"""Addresses of badges: a README is read by everyone, so that where reading is not open an address is signed.

The signature is of the badge's path, with a key of the installation (HMAC-SHA-256), and opens that badge alone. It
has no end, as nobody renews a README; they are all wrong where links are not wanted (RATCHET_REPORT_LINK_DAYS=0).
"""

from __future__ import annotations

import hashlib
import hmac
from urllib.parse import quote, unquote, urlencode

from sqlalchemy.orm import Session

from app.config import ServiceSettings
from app.domain.results import case_label
from app.reports.pull_request.markdown import words
from app.store.repositories import keys
from app.store.tables import BenchmarkCase, Project, Series

KEY = "badge_links"
_DIGITS = 32


def series_path(series: Series) -> str:
    """Return the path of a series' badge."""
    return f"/badge/series/{series.id}.svg"


def project_path(project: Project) -> str:
    """Return the path of a project's badge."""
    return f"/badge/project/{quote(project.name)}.svg"


def series_link(
    session: Session, settings: ServiceSettings, series: Series, case: BenchmarkCase
) -> dict[str, str]:
    """Return `{image, page, markdown}` of a series' badge: its address, where it leads to, and what a README has."""
    alt = f"{case_label(case.benchmark, case.params)} {series.metric}"
    return _link(session, settings, series_path(series), f"/series/{series.id}", alt)


def project_link(session: Session, settings: ServiceSettings, project: Project) -> dict[str, str]:
    """Return the same of a project's badge, which leads to its series."""
    page = f"/series?{urlencode({'project': project.name})}"
    return _link(session, settings, project_path(project), page, f"performance of {project.name}")


def _link(session: Session, settings: ServiceSettings, path: str, page: str, alt: str) -> dict[str, str]:
    image, leads_to = f"{settings.address}{path}", f"{settings.address}{page}"
    if not settings.anonymous_read and settings.report_link_days:
        image += f"?key={_signature(session, path)}"
    return {"image": image, "page": leads_to, "markdown": f"[![{words(alt)}]({image})]({leads_to})"}


def is_signed(session: Session, settings: ServiceSettings, path: str, key: str) -> bool:
    """Say whether a key opens the badge of this path."""
    if not key or not settings.report_link_days:
        return False
    return hmac.compare_digest(_signature(session, path).encode(), key.encode("utf-8", "replace"))


def _signature(session: Session, path: str) -> str:
    key = keys.key(session, KEY)
    return hmac.new(key, f"badge {unquote(path)}".encode(), hashlib.sha256).hexdigest()[:_DIGITS]
