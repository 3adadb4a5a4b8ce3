"""PostgreSQL's own programs for dumping and restoring, of a version that fits a server.

`pg_dump` reads servers of its own major version and of older ones; what it wrote is read by a `pg_restore` that is not
older. So the server's own major is taken where it is there, else the next newer.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from app.domain.errors import UnavailableError
from app.embedded.binaries import Programs, postgres_of_wheel, version_of

DEBIAN = Path("/usr/lib/postgresql")
"""Where Debian has each major version in a folder of its own."""

PROGRAMS = ("pg_dump", "pg_restore")


def find_clients(at_least: int) -> Programs:
    """Return the programs of the lowest major version from `at_least` on.

    Raises UnavailableError where there are none, saying what to install.
    """
    found = [programs for programs in _all() if programs.major >= at_least]
    if found:
        return min(found, key=lambda programs: programs.major)
    have = ", ".join(sorted({programs.version for programs in _all()}))
    raise UnavailableError(
        f"no pg_dump and pg_restore of PostgreSQL {at_least} or later found{f' (there is {have})' if have else ''}: "
        f"install ratchet-perf[backup], or Debian's postgresql-client-{at_least}, or put them on PATH"
    )


def _all() -> Iterator[Programs]:
    yield from postgres_of_wheel()
    folders = sorted(DEBIAN.glob("*/bin"))
    if on_path := shutil.which("pg_dump"):
        folders.append(Path(os.path.dirname(on_path)))
    for folder in folders:
        if all((folder / name).exists() for name in PROGRAMS) and (version := version_of(folder / "pg_dump")):
            yield Programs(folder, version)
