"""`ratchet doctor`: what makes this machine a bad place to measure, and its grade by its own nightly A/A."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from app.commands.devices import asking_this_host, print_document

CLOCKS_UNKNOWN = "clocks_unknown"
"""The advice that a measurement of the device against itself makes superfluous."""


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead of text.")
def doctor(as_json: bool) -> int:
    """Say what is wrong with this machine for measuring: what, its cost, and the command that mends it.

    The grade comes from the service: RATCHET_URL, else the one on the default data folder, if it runs. Exit status 0,
    whatever was found.
    """
    from app.reports.doctor_text import doctor_lines
    from workers.devices.inspection.examination import examine

    known, service = _service_devices()
    examined = asking_this_host(examine)
    grades = [known.get(device["hardware_id"]) for device in examined["devices"]]
    print_document(
        {
            **examined,
            "advice": _open(examined["advice"], known),
            "grades": grades,
            "service": service,
            "sandbox": _sandbox(),
        },
        as_json,
        doctor_lines,
    )
    return 0


def _sandbox() -> dict[str, Any]:
    """Return the level of isolation that an agent of this user could give to strangers' code, and why it is no more."""
    import tempfile
    from pathlib import Path

    from workers.programs.sandbox.probe import probe

    with tempfile.TemporaryDirectory(prefix="ratchet-doctor-") as folder:
        found = probe(Path(folder))
    return {"level": found.level, "reason": found.reason or None}


def _open(advice: list[dict[str, Any]], known: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the advice without what the last A/A has answered: that the clocks stood."""
    stood = {
        hardware_id
        for hardware_id, device in known.items()
        if device["self_check"] and device["self_check"]["clocks_locked"]
    }
    return [one for one in advice if one["code"] != CLOCKS_UNKNOWN or one["where"] not in stood]


def _service_devices() -> tuple[dict[str, dict[str, Any]], dict[str, str | None]]:
    """Return the service's devices by hardware id, and which service that is, or why there is none.

    Raises:
        UsageError: RATCHET_URL is no address.
    """
    from app.commands.connection import running_service
    from app.domain.errors import RatchetError

    client = running_service()
    if client is None:
        return {}, {"url": None, "trouble": "no service runs on the default data folder"}
    try:
        return {one["hardware_id"]: one for one in client.devices()}, {"url": client.url, "trouble": None}
    except RatchetError as error:
        trouble = str(error).rstrip(".")
    except (ValueError, KeyError, TypeError, AssertionError):
        trouble = f"what answers at {client.url} is no service of Ratchet, or of another release"
    return {}, {"url": client.url, "trouble": trouble}
