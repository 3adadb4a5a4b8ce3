"""`ratchet check --project`: the service fetches what is to be measured itself; here it is asked for and watched."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import click

from app.commands.connection import running_service
from app.commands.progress import watch
from app.domain.errors import DataError, UsageError
from app.domain.verdicts import EXIT_STATUS, Conclusion
from app.integrations.service_client import PATIENCE_S, ServiceClient


@dataclass(frozen=True)
class Narrowed:
    """The suites and device classes that are measured; empty means all."""

    suites: tuple[str, ...]
    devices: tuple[str, ...]


def remote_request(
    pull: int | None, head: str | None, base: str | None, narrowed: Narrowed
) -> dict[str, Any]:
    """Return what is asked of the service. Raises click.UsageError for neither pull nor head, and for both."""
    if (pull is None) == (head is None):
        raise click.UsageError("with --project give either --pull or --head")
    if pull is not None and base is not None:
        raise click.UsageError("--base goes with --head: a pull request has its own")
    named = {"pull": pull, "head": head, "base": base}
    told = {name: value for name, value in named.items() if value is not None}
    return told | {"suites": list(narrowed.suites), "devices": list(narrowed.devices)}


@dataclass(frozen=True)
class NotMeasured:
    """There is no check, as of a fork's pull request, or of one that touches no path of a suite."""

    why: str

    @property
    def document(self) -> dict[str, Any]:
        """What `--json` prints."""
        conclusion = Conclusion.NOT_MEASURED
        told = {"check": None, "conclusion": str(conclusion), "status": EXIT_STATUS[conclusion]}
        return told | {"reason": self.why, "suites": [], "report": None}


def check_at_service(project: str, wanted: dict[str, Any]) -> tuple[dict[str, Any], str] | NotMeasured:
    """Have it measured; return the check's document and report, or why there is none.

    Raises UsageError where no service is known, DataError for what is refused.
    """
    client = running_service(PATIENCE_S)
    if client is None:
        raise UsageError("which service has the project is not known: set RATCHET_URL")
    found = _outcome(client, project, client.ask_measure(project, wanted))
    if found["state"] == "refused":
        raise DataError(str(found["message"]))
    if found["check"] is None:
        return NotMeasured(str(found["message"]))
    return watch(client, int(found["check"]))


def _outcome(client: ServiceClient, project: str, request_id: int) -> dict[str, Any]:
    """Wait until something came of a request, and return that."""
    print(f"{project}: fetching the commits", file=sys.stderr, flush=True)
    found = client.measure(project, request_id)
    while found["state"] == "waiting":
        found = client.measure(project, request_id)
    return found
