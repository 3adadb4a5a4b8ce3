"""What needs somebody's attention: open alerts, and machines that are not well."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy.orm import Session

from app.config import ServiceSettings
from app.services.access import Principal
from app.services.alerts.read_alerts import AlertLine, newest_open
from app.services.read_health import Part, fleet_troubles

NEWEST = 3
"""Alerts that are told; of the others how many there are."""


@dataclass(frozen=True)
class Attention:
    """The newest open alerts, how many are open, and what is not well of the machines."""

    alerts: tuple[AlertLine, ...]
    n_alerts: int
    troubles: tuple[Part, ...]

    def __bool__(self) -> bool:
        """Whether there is anything."""
        return bool(self.alerts or self.troubles)


def read_attention(
    session: Session, settings: ServiceSettings, principal: Principal | None, *, project: str | None = None
) -> Attention:
    """Return what needs attention, of one project or of all that the reader may see.

    Raises NotFoundError for an unknown project.
    """
    lines, n_open = newest_open(session, principal, settings=settings, project=project, limit=NEWEST)
    return Attention(alerts=lines, n_alerts=n_open, troubles=fleet_troubles(session, settings))
