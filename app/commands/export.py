"""`ratchet export`: a project's histories as JSON Lines, which `ratchet import` brings into another service."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from app.commands.asking import MOMENT, service_to_ask
from app.commands.csv_commands import discard_output
from app.domain.errors import UnavailableError, UsageError

if TYPE_CHECKING:
    from app.integrations.service_client import ServiceClient

Write = Callable[[bytes], object]
Keep = Callable[[str], object]


@click.command()
@click.option("--project", required=True, help="The project to export.")
@click.option("--benchmark", help="Only results of this benchmark.")
@click.option(
    "--since",
    metavar="TIME",
    help="Only what was measured then or later: 2026-01-31, 2026-01-31T12:00Z, 30d.",
)
@click.option("--until", metavar="TIME", help="Only what was measured before.")
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The file to write, which is there once it is whole (default: standard output).",
)
@click.option(
    "--resume", is_flag=True, help="Go on with what an export that broke off has left beside --out."
)
def export(
    project: str, benchmark: str | None, since: str | None, until: str | None, out: Path | None, resume: bool
) -> int:
    """Write a project's histories as JSON Lines.

    A line is what one run measured of a commit, as `POST /api/v1/results/batch` takes it, the oldest first; values are
    those that are stored, to the last bit. `ratchet import FILE --project P` brings it into another service. What is on
    no branch is left out. The exit status is 0, or 70 where the service broke off: FILE is then as it was, and what
    came is in FILE.part, with which the same command and --resume goes on.
    """
    given = {"project": project, "benchmark": benchmark, "since": since, "until": until}
    asked = {name: value for name, value in given.items() if value is not None}
    wanted = {name: _sent(name, value) for name, value in asked.items()}
    if out is not None:
        _write(service_to_ask(), asked, wanted, out, resume)
    elif resume:
        raise UsageError("--resume goes on with a file: name it with --out, as before")
    else:
        _print(service_to_ask(), wanted)
    return 0


def _sent(name: str, value: str) -> str:
    """Return the value of an option as the API takes it."""
    if name not in ("since", "until"):
        return value
    context = click.get_current_context()
    option = next(one for one in context.command.params if one.name == name)
    return MOMENT.convert(value, option, context)


def _print(service: ServiceClient, wanted: dict[str, str]) -> None:
    try:
        with service.export(wanted) as lines:
            _receive(lines, sys.stdout.buffer.write)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        discard_output()


def _write(
    service: ServiceClient, asked: dict[str, str], wanted: dict[str, str], out: Path, resume: bool
) -> None:
    from app.commands.export_file import export_file
    from app.commands.named_file import file_behind

    file_name = file_behind(out)
    with export_file(file_name, service.url, asked, wanted, resume=resume) as file:
        mark = {"after": file.state.mark} if file.state.mark else {}
        with service.export({**file.state.wanted, "marks": "true", **mark}) as lines:
            _receive(lines, file.write, file.keep, begun=file.state.documents)
        file.finish()


def _receive(lines: Iterator[bytes], write: Write, keep: Keep | None = None, *, begun: int = 0) -> None:
    """Write the documents, and keep what is whole at every mark; `begun` is how many there were before.

    Raises UnavailableError where they are not all that the service has.
    """
    from app.commands.progress_line import ProgressLine
    from app.formats.exported import Tally, read_end, read_mark

    tally, progress = Tally(), ProgressLine()
    told = f"exported {begun} runs"
    for line in lines:
        if (mark := read_mark(line)) is not None:
            if keep is not None:
                keep(mark)
            continue
        if (end := read_end(line)) is not None and tally.is_whole(end):
            progress.tell(told, is_last=True)
            return
        write(line)
        tally.add(line)
        told = f"exported {begun + tally.documents} runs, {tally.bytes / 1e6:.1f} MB"
        progress.tell(told)
    raise UnavailableError(
        f"the export broke off after {begun + tally.documents} runs: it is not whole; try again"
    )
