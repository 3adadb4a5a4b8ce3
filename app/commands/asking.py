"""What the commands share that ask a running service: which one, and how what they are given is read."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import click

from app.domain.errors import UsageError

if TYPE_CHECKING:
    from app.integrations.service_client import ServiceClient

_UNITS = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}


def known_service() -> ServiceClient | None:
    """Return a client of the service that runs; None where none is known of.

    Where the environment names address and token, or the service's packages are not installed, that is all that is
    looked at: to look for a service on this machine takes many imports.
    """
    if os.environ.get("RATCHET_URL") and os.environ.get("RATCHET_TOKEN"):
        return _service_elsewhere()
    try:
        from app.commands.connection import running_service
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] in ("app", "workers"):
            raise
        return _service_elsewhere()
    return running_service()


def _service_elsewhere() -> ServiceClient | None:
    from app.integrations.service_client import ServiceClient

    url = os.environ.get("RATCHET_URL")
    return ServiceClient(checked_address(url), os.environ.get("RATCHET_TOKEN"), patience_s=0) if url else None


def checked_address(url: str) -> str:
    """Return the address of a service. Raises UsageError where it is none."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(f"RATCHET_URL={url!r} is no address of a service: right is http://host:8440")
    return url


def service_to_ask() -> ServiceClient:
    """Return a client of the service that runs already, closed when the command ends. Raises UsageError without one."""
    service = known_service()
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
