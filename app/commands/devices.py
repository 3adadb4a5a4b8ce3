"""`ratchet devices`: what this machine, or the one that recorded outputs are from, has to measure on."""

from __future__ import annotations

import json
from pathlib import Path

import click

from app.domain.errors import DataError, UsageError


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead of a table.")
@click.option(
    "--from",
    "folder",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Read recorded outputs of vendors' tools instead of this machine; they are known by their content.",
)
def devices(as_json: bool, folder: Path | None) -> int:
    """List devices, one a line, with which telemetry works, what is missing and how to get it."""
    from app.commands.csv_commands import table_width, use_color
    from app.reports.device_table import device_lines
    from app.reports.grid import Paint

    document = _recorded(folder) if folder is not None else _of_this_machine()
    if as_json:
        click.echo(json.dumps(document, indent=1, allow_nan=False, ensure_ascii=False))
        return 0
    for line in device_lines(document, table_width(), Paint(use_color())):
        click.echo(line)
    return 0


def _of_this_machine() -> dict[str, object]:
    import os

    from workers.config import default_data_dir
    from workers.devices.base import Host
    from workers.devices.survey import survey_machine
    from workers.host.locks import shared_folder

    script = os.environ.get("RATCHET_SIMULATED")
    return survey_machine(Host(default_data_dir(), shared_folder(), Path(script) if script else None))


def _recorded(folder: Path) -> dict[str, object]:
    from workers.devices.survey import survey_folder

    if not folder.exists():
        raise UsageError(f"--from: there is no {folder}; name a folder of recorded outputs", code="no_folder")
    document = survey_folder(folder)
    if not document["devices"]:
        troubles = "; ".join(f"{one['file']}: {one['why']}" for one in document["unread"][:5])
        raise DataError(
            f"--from: no output of a known device tool in {folder}: {troubles or 'it holds no file'}",
            code="nothing_known",
        )
    return document
