"""`ratchet doctor`: what makes this machine a bad place to measure, and its grade by its own nightly A/A."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import click


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead of text.")
def doctor(as_json: bool) -> int:
    """Say what is wrong with this machine for measuring: what, its cost, and the command that mends it.

    The grade comes from the service: RATCHET_URL, else the one on the default data folder, if it runs.
    """
    from app.commands.csv_commands import table_width, use_color
    from app.reports.doctor_text import doctor_lines
    from app.reports.grid import Paint
    from workers.devices.examination import examine

    examined = examine(_host())
    grades = _grades()
    if as_json:
        known = [(grades or {}).get(device["hardware_id"]) for device in examined["devices"]]
        document = {**examined, "grades": [one and {**one} for one in known]}
        click.echo(json.dumps(document, indent=1, allow_nan=False, ensure_ascii=False))
        return 0
    for line in doctor_lines(examined, grades, table_width(), Paint(use_color())):
        click.echo(line)
    return 0


def _host() -> Any:
    import os
    from pathlib import Path

    from workers.config import default_data_dir
    from workers.devices.base import Host
    from workers.host.locks import shared_folder

    script = os.environ.get("RATCHET_SIMULATED")
    return Host(default_data_dir(), shared_folder(), Path(script) if script else None)


def _grades() -> Mapping[str, Mapping[str, Any]] | None:
    """Return the service's devices by hardware id; None where no service answers."""
    from app.commands.connection import running_service
    from app.domain.errors import RatchetError

    client = running_service()
    try:
        return {one["hardware_id"]: one for one in client.devices()} if client is not None else None
    except RatchetError:
        return None
