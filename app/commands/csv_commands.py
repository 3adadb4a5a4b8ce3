"""What the commands over a CSV file share: their options, reading the file, printing."""

from __future__ import annotations

import errno
import gc
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import click

from app.commands.share import share
from app.domain.errors import DataError, UsageError

STANDARD_INPUT = "-"

Command = Callable[..., Any]


def csv_options(command: Command) -> Command:
    """Add the options that every command over a CSV file has."""
    decorators = [
        click.option("--json", "as_json", is_flag=True, help="Print JSON Lines instead of a table."),
        click.option("--csv", "as_csv", is_flag=True, help="Print CSV instead of a table."),
        click.option(
            "--minimum-effect",
            type=share,
            metavar="PERCENTAGE",
            default=0.0,
            help='Smaller changes are none: "0.5%" or 0.005 (default: 0).',
        ),
    ]
    for decorator in reversed(decorators):
        command = decorator(command)
    return command


def refuse_two_outputs(as_json: bool, as_csv: bool) -> None:
    """Raise UsageError where both forms are asked for."""
    if as_json and as_csv:
        raise UsageError("--json and --csv exclude each other; give one of them", code="two_outputs")


def shown_name(file: str) -> str:
    """Return what messages call the file."""
    return "standard input" if file == STANDARD_INPUT else click.format_filename(file)


def read_bytes(file: str) -> bytes:
    """Return the content of a file, of standard input for `-`. Raises DataError where it cannot be read."""
    try:
        if file != STANDARD_INPUT:
            return Path(file).read_bytes()
        if sys.stdin is None:
            raise DataError("standard input is closed; name a file", code="unreadable")
        return sys.stdin.buffer.read()
    except (OSError, ValueError) as error:
        reason = (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
        raise DataError(f"cannot read {shown_name(file)}: {reason}", code="unreadable") from None


@contextmanager
def without_garbage_collection() -> Iterator[None]:
    """Keep the collector from looking through millions of rows that hold no cycle, again and again."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def one_thread_a_process() -> None:
    """Keep numpy's BLAS from starting threads that nothing here uses; call it before numpy is imported."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def table_width() -> int | None:
    """Return the terminal's columns; None where standard output is none."""
    import shutil

    return shutil.get_terminal_size().columns if _is_terminal() else None


def use_color() -> bool:
    """Tell whether to print colours: on a terminal, unless NO_COLOR is set or the terminal is dumb (no-color.org)."""
    return _is_terminal() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def print_pieces(pieces: Iterable[str]) -> None:
    """Write text to standard output piece by piece, in whatever characters it can take.

    That the reader has closed it ends the writing, and is no fault.
    """
    if sys.stdout is None:
        return
    encoding = sys.stdout.encoding or "utf-8"
    try:
        for piece in pieces:
            sys.stdout.write(piece.encode(encoding, "replace").decode(encoding))
            sys.stdout.flush()
    except OSError as error:
        if error.errno != errno.EPIPE:
            raise
        discard_output()


def _is_terminal() -> bool:
    return sys.stdout is not None and sys.stdout.isatty()


def discard_output() -> None:
    """Have the interpreter's last flush find a place for what is still buffered."""
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
