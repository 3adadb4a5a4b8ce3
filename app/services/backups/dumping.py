"""pg_dump and pg_restore as processes: a database goes through a pipe, and no password is on a command line."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from psycopg.conninfo import make_conninfo
from sqlalchemy import URL

from app.domain.errors import UnavailableError

_LINES = 8
_NOT_ON_THE_LINE = ("password", "sslpassword", "application_name", "options")
"""What of an address no list of processes may show, and what the service sets itself."""


@contextmanager
def dumped(pg_dump: Path, url: URL, snapshot: str) -> Iterator[IO[bytes]]:
    """Yield what pg_dump writes of a database as that snapshot has it. Raises UnavailableError where it fails."""
    command = [str(pg_dump), "--format=custom", "--no-owner", f"--snapshot={snapshot}", *_target(url)]
    with _running(command, url, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        yield process.stdout


def restore_dump(pg_restore: Path, url: URL, pieces: Iterable[bytes]) -> None:
    """Give a dump to pg_restore, which fills an empty database. Raises UnavailableError where it fails.

    What it grants is left out: it may be to a role that this server does not have.
    """
    command = [str(pg_restore), "--exit-on-error", "--no-owner", "--no-privileges", *_target(url)]
    with _running(command, url, stdin=subprocess.PIPE) as process:
        assert process.stdin is not None
        try:
            for piece in pieces:
                process.stdin.write(piece)
            process.stdin.close()
        except BrokenPipeError:
            pass  # it has ended, and its status says why


@contextmanager
def _running(
    command: list[str], url: URL, *, stdin: int = subprocess.DEVNULL, stdout: int = subprocess.DEVNULL
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a program for the block; it is gone at its end, and has ended well. Raises UnavailableError otherwise."""
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(command, env=_environment(url), stdin=stdin, stdout=stdout, stderr=said)
        try:
            yield process
            status = process.wait()
        except BaseException:
            process.kill()
            process.wait()
            raise
        finally:
            for pipe in (process.stdin, process.stdout):
                if pipe is not None and not pipe.closed:
                    _close(pipe)
        if status != 0:
            said.seek(0)
            lines = said.read().decode(errors="replace").strip().splitlines()[-_LINES:]
            raise UnavailableError(
                "\n".join([f"{Path(command[0]).name} ended with status {status}:", *lines])
            )


def _close(pipe: IO[bytes]) -> None:
    with suppress(BrokenPipeError):
        pipe.close()


def _target(url: URL) -> list[str]:
    """Return the options that name the database, and how it is reached: all of the address but its secrets."""
    query = {
        name: value if isinstance(value, str) else ",".join(value)
        for name, value in url.query.items()
        if name not in _NOT_ON_THE_LINE
    }
    named = {"host": url.host, "port": url.port, "user": url.username, "dbname": url.database}
    named = {name: value for name, value in named.items() if value}
    return ["--no-password", f"--dbname={make_conninfo('', **{**query, **named})}"]


def _environment(url: URL) -> dict[str, str]:
    password = url.password or url.query.get("password")
    secret = {"PGPASSWORD": str(password)} if password else {}
    return os.environ | {"PGAPPNAME": "ratchet-backup"} | secret
