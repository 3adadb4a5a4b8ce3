"""The file of an export, which has its name once it is whole, and goes on where it was left before.

Until then FILE.part has what came, and FILE.part.state says how much of it is whole runs, of which export, and where
that goes on. Whatever ends the process, the two are good for `--resume`: what is behind the last whole run is cut off.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import BinaryIO

from app.domain.errors import DataError, UnavailableError, UsageError

_AT_ONCE_B = 2**20


@dataclass(frozen=True)
class ExportState:
    """What is known of a part: which service was asked what (as typed and as sent), and how much of it is whole.

    `mark` is where the service goes on; None: nothing is there yet.
    """

    url: str
    asked: dict[str, str]
    wanted: dict[str, str]
    mark: str | None = None
    documents: int = 0
    bytes: int = 0
    sha256: str = hashlib.sha256().hexdigest()


class ExportFile:
    """A part that is open; `state` says how much of it is whole."""

    def __init__(self, out: Path, file: BinaryIO, state: ExportState) -> None:
        self.state = state
        self._out, self._file = out, file
        self._digest = _digest(file, state.bytes)
        self._documents = state.documents

    @property
    def is_as_noted(self) -> bool:
        """Tell whether what is whole according to the state is what was written."""
        return self._digest.hexdigest() == self.state.sha256

    def begin(self) -> None:
        """Cut off what is not known to be whole, and write behind the rest."""
        self._file.truncate(self.state.bytes)
        self._file.seek(self.state.bytes)

    def write(self, line: bytes) -> None:
        """Write a document."""
        self._file.write(line)
        self._digest.update(line)
        self._documents += 1

    def keep(self, mark: str) -> None:
        """Note that all up to here is whole, and that the service goes on at the mark."""
        self._file.flush()
        self.state = replace(
            self.state,
            mark=mark,
            documents=self._documents,
            bytes=self._file.tell(),
            sha256=self._digest.hexdigest(),
        )
        new = self._out.with_name(f"{self._out.name}.part.new")
        new.write_text(json.dumps(asdict(self.state)))
        new.replace(_state_of(self._out))

    def finish(self) -> None:
        """Give the file its name."""
        self._file.flush()
        os.fsync(self._file.fileno())
        _state_of(self._out).unlink(missing_ok=True)
        _part_of(self._out).replace(self._out)

    def leave(self) -> bool:
        """Keep what is whole; tell whether there is anything."""
        with suppress(OSError):  # the disk may be full
            self.begin()
        if self.state.mark is None:
            _part_of(self._out).unlink(missing_ok=True)
        return self.state.mark is not None


@contextmanager
def export_file(
    out: Path, url: str, asked: Mapping[str, str], wanted: Mapping[str, str], *, resume: bool
) -> Iterator[ExportFile]:
    """Yield the file to write; one that is not finished is left as a part that can go on.

    Args:
        out: the name that it gets.
        url: the address of the service.
        asked: what is asked of it, as typed: a part goes on for the same words, with the times that they meant then.
        wanted: the same as it is sent.
        resume: go on with what is there, if there is anything.

    Raises:
        UsageError: what is there is of another question or service, or another process writes it.
        DataError: what is there is not what was written.
    """
    state = ExportState(url, dict(asked), dict(wanted))
    with _part_of(out).open("a+b") as file:
        _lock(file, out)
        if resume:
            state = _known(out, state)
        else:
            _state_of(out).unlink(missing_ok=True)
        its = ExportFile(out, file, state)
        if not its.is_as_noted:
            raise DataError(
                f"{_part_of(out)} is not what was written: without --resume the export begins anew"
            )
        its.begin()
        try:
            yield its
        except (UnavailableError, OSError, KeyboardInterrupt):
            if its.leave():
                _say(
                    f"{its.state.documents} runs are kept in {_part_of(out)}: with --resume the export goes on"
                )
            raise
        except BaseException:
            its.leave()
            raise


def _known(out: Path, now: ExportState) -> ExportState:
    """Return the state of the part that is there, else that of none. Raises UsageError for another export's."""
    try:
        then = ExportState(**json.loads(_state_of(out).read_text()))
    except FileNotFoundError:
        return now
    except (ValueError, TypeError):
        raise DataError(f"{_state_of(out)} cannot be read: without --resume the export begins anew") from None
    for what, before, after in (
        ("the service", then.url, now.url),
        ("the export", _words(then), _words(now)),
    ):
        if before != after:
            raise UsageError(
                f"{_part_of(out)} is part of another export: {what} was {before}, and now is {after}. "
                "Ask as before, or begin anew without --resume"
            )
    return then


def _words(state: ExportState) -> str:
    return " ".join(f"--{name} {value!r}" for name, value in state.asked.items())


def _lock(file: BinaryIO, out: Path) -> None:
    """Have the part for this process alone, as long as it is open. Raises UsageError where another one has it."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        is_the_part = os.path.samestat(os.fstat(file.fileno()), _part_of(out).stat())
    except (BlockingIOError, FileNotFoundError):
        is_the_part = False
    if not is_the_part:
        raise UsageError(
            f"another export is writing {_part_of(out)}: wait for its end, or name another --out"
        )


def _digest(file: BinaryIO, size: int) -> hashlib._Hash:
    """Return the digest of the first bytes of a file."""
    digest = hashlib.sha256()
    file.seek(0)
    while size and (piece := file.read(min(size, _AT_ONCE_B))):
        digest.update(piece)
        size -= len(piece)
    return digest


def _part_of(out: Path) -> Path:
    return out.with_name(f"{out.name}.part")


def _state_of(out: Path) -> Path:
    return out.with_name(f"{out.name}.part.state")


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
