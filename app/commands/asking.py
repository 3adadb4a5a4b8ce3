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


def read_moment(told: str) -> str:
    """Return a point in time as the API takes it, told by ISO 8601, without an offset UTC, or by how long ago it was.

    Raises UsageError for what is neither.
    """
    if told[-1:] in _UNITS and told[:-1].isdecimal() and told.isascii() and len(told) < 7:
        return (datetime.now(UTC) - int(told[:-1]) * _UNITS[told[-1]]).isoformat()
    try:
        time = datetime.fromisoformat(told)
    except ValueError:
        raise UsageError(f"{told!r} is no time: right is 2026-01-31, 2026-01-31T12:00:00Z or 30d") from None
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).isoformat()


class Moment(click.ParamType[str]):
    """A point in time: ISO 8601, without an offset UTC, or how long ago: `36h`, `30d`, `2w`."""

    name = "TIME"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the time as the API takes it."""
        try:
            return read_moment(value)
        except UsageError as error:
            self.fail(str(error), param, ctx)


MOMENT = Moment()
