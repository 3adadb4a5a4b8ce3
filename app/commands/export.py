"""`ratchet export`: a project's histories as JSON Lines, which `ratchet import` brings into another service."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING

import click

from app.commands.asking import MOMENT, service_to_ask
from app.commands.csv_commands import discard_output
from app.domain.errors import UnavailableError

if TYPE_CHECKING:
    from app.formats.exported import Tally


@click.command()
@click.option("--project", required=True, help="The project to export.")
@click.option("--benchmark", help="Only results of this benchmark.")
@click.option(
    "--since", type=MOMENT, help="Only what was measured then or later: 2026-01-31, 2026-01-31T12:00Z, 30d."
)
@click.option("--until", type=MOMENT, help="Only what was measured before.")
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The file to write, which is there once it is whole (default: standard output).",
)
def export(
    project: str, benchmark: str | None, since: str | None, until: str | None, out: Path | None
) -> int:
    """Write a project's histories as JSON Lines.

    A line is what one run measured of a commit, as `POST /api/v1/results/batch` takes it, the oldest first; values are
    those that are stored, to the last bit. `ratchet import FILE --project P` brings it into another service. What is on
    no branch is left out. The exit status is 0, or 70 where the service broke off: FILE is then as it was.
    """
    given = {"project": project, "benchmark": benchmark, "since": since, "until": until}
    wanted = {name: value for name, value in given.items() if value is not None}
    with service_to_ask().export(wanted) as lines, _output(out) as file:
        _write(lines, file)
    return 0


@contextmanager
def _output(out: Path | None) -> Iterator[IO[bytes]]:
    """Yield where to write; a file gets its name when everything is in it."""
    if out is None:
        try:
            yield sys.stdout.buffer
            sys.stdout.buffer.flush()
        except BrokenPipeError:
            discard_output()
        return
    part = out.with_name(f".{out.name}.{os.getpid()}.part")
    try:
        with part.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        part.replace(out)
    finally:
        with suppress(FileNotFoundError):
            part.unlink()


def _write(lines: Iterator[bytes], file: IO[bytes]) -> None:
    """Write the documents. Raises UnavailableError where they are not all that the service has."""
    from app.commands.progress_line import ProgressLine
    from app.formats.exported import Tally, read_end

    tally, progress = Tally(), ProgressLine()
    for line in lines:
        end = read_end(line)
        if end is not None and tally.is_whole(end):
            progress.tell(_told(tally), is_last=True)
            return
        file.write(line)
        tally.add(line)
        progress.tell(_told(tally))
    raise UnavailableError(
        f"the export broke off after {tally.documents} runs: what was written is not whole; try again"
    )


def _told(tally: Tally) -> str:
    return f"exported {tally.documents} runs, {tally.bytes / 1e6:.1f} MB"
