"""The dashboards, one a module; `ALL` has them by the name of their file."""

from __future__ import annotations

from collections.abc import Callable

from grafana_foundation_sdk.builders.dashboard import Dashboard

from dashboards.grafana.boards.efficiency import efficiency
from dashboards.grafana.boards.fleet import fleet
from dashboards.grafana.boards.series import series
from dashboards.grafana.boards.service import service

ALL: dict[str, Callable[[str], Dashboard]] = {
    "ratchet-series": series,
    "ratchet-efficiency": efficiency,
    "ratchet-fleet": fleet,
    "ratchet-service": service,
}
"""By uid: what makes the dashboard, given the address of Ratchet's pages."""
