"""`ratchet devices`: what this machine, or the one that recorded outputs are from, has to measure on."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from app.domain.errors import DataError, UsageError

T = TypeVar("T")


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead of a table.")
@click.option(
    "--from",
    "folder",
    metavar="DIR",
    help="Read recorded outputs of vendors' tools instead of this machine; they are known by their content.",
)
def devices(as_json: bool, folder: str | None) -> int:
    """List devices, one a line, with which telemetry works, what is missing and how to get it.

    Exit status: 0; 64 where DIR does not exist, 65 where it holds no output of a known tool.
    """
    from app.reports.device_table import device_lines

    print_document(_of_this_machine() if folder is None else _recorded(folder), as_json, device_lines)
    return 0


def print_document(document: Any, as_json: bool, lines_of: Callable[..., list[str]]) -> None:
    """Print a document as JSON, all characters that a terminal may act on escaped, or as the lines of a report."""
    from app.commands.csv_commands import print_pieces, table_width, use_color
    from app.reports.grid import Paint

    if as_json:
        lines = [json.dumps(document, indent=1, allow_nan=False)]
    else:
        lines = lines_of(document, table_width(), Paint(use_color()))
    print_pieces(f"{line}\n" for line in lines)


def asking_this_host(question: Callable[[Any], T]) -> T:
    """Return the answer of the agent's own eyes, which are given what they need of this host.

    Raises:
        UsageError: RATCHET_SIMULATED is wrong.
    """
    import os

    from workers.config import default_data_dir
    from workers.devices.base import Host
    from workers.errors import UsageError as WrongScriptError
    from workers.host.locks import shared_folder

    script = os.environ.get("RATCHET_SIMULATED")
    try:
        return question(Host(default_data_dir(), shared_folder(), Path(script) if script else None))
    except WrongScriptError as error:
        raise UsageError(str(error), code="wrong_script") from error


def checked_kind(kind: str, *others: str) -> str:
    """Return a device kind, or one of the others that may stand in its place. Raises UsageError where it is neither."""
    from workers.devices import KINDS

    if kind in (*KINDS, *others):
        return kind
    known = ", ".join((*KINDS, *others))
    raise UsageError(f"{kind!r} is no kind of device; there are: {known}", code="unknown_kind")


def _of_this_machine() -> dict[str, Any]:
    from workers.devices.inspection.survey import survey_machine

    return asking_this_host(survey_machine)


def _recorded(folder: str) -> dict[str, Any]:
    from workers.devices.inspection.survey import survey_folder

    name = _plain(folder)
    if not folder or not Path(folder).exists():
        raise UsageError(f"--from: there is no {name or 'folder without a name'}", code="no_folder")
    try:
        document = survey_folder(Path(folder))
    except OSError as error:
        raise DataError(f"--from: {name} cannot be read: {error.strerror}", code="unreadable") from error
    if not document["devices"] and not any(one["tool"] for one in document["unread"]):
        raise DataError(
            f"--from: no output of a known device tool in {name}: {_why(document['unread'])}",
            code="nothing_known",
        )
    return document


def _why(unread: list[dict[str, Any]]) -> str:
    """Return what the files are instead: the broken ones by name, the others by number."""
    broken = [one for one in unread if not one["why"].startswith("not an output")]
    told = [f"{_plain(one['file'])}: {_plain(one['why'])}" for one in broken[:5]]
    others = len(unread) - len(told)
    if others:
        rest = "other " * bool(told)
        told.append(f"{others} {rest}file{'s are' if others > 1 else ' is'} none")
    return "; ".join(told) or "it holds no file"


def _plain(text: str) -> str:
    from app.reports.text import plain

    return plain(text)
