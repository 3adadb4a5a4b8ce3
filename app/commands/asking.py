"""What the commands share that ask a running service: which one, and how what they are given is read."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import click

from app.domain.errors import UsageError

if TYPE_CHECKING:
    from app.integrations.service_client import ServiceClient

_UNITS = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}


def service_to_ask() -> ServiceClient:
    """Return a client of the service that runs already, closed when the command ends. Raises UsageError without one."""
    from app.commands.connection import running_service

    service = running_service()
    if service is None:
        raise UsageError(
            "no service runs on the default data folder: set RATCHET_URL to one, or start one with `ratchet up`"
        )
    click.get_current_context().call_on_close(service.close)
    return service


class Moment(click.ParamType[str]):
    """A point in time: ISO 8601, without an offset UTC, or how long ago: `36h`, `30d`, `2w`."""

    name = "TIME"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the time as the API takes it."""
        if value[-1:] in _UNITS and value[:-1].isdecimal() and value.isascii() and len(value) < 7:
            return (datetime.now(UTC) - int(value[:-1]) * _UNITS[value[-1]]).isoformat()
        try:
            time = datetime.fromisoformat(value)
        except ValueError:
            self.fail(f"{value!r} is no time: right is 2026-01-31, 2026-01-31T12:00:00Z or 30d", param, ctx)
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).isoformat()


MOMENT = Moment()
