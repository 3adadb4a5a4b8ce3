"""Have a database be what a backup holds: filled beside the one that is there, looked at, and put in its place at once.

Until that moment nothing has changed that a user of the service could see, and whatever ends the process leaves the
database that was there; a start anew drops what is left of a broken one. What is restored observes (`observe`).
"""

from __future__ import annotations

import filecmp
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from app.domain.errors import ConflictError, DataError, UnavailableError, UsageError
from app.embedded.clients import find_clients
from app.services.backups.archive import DATA, DUMP, Backup, Manifest
from app.services.backups.dumping import restore_dump
from app.services.backups.observe import observe
from app.store.databases import Server, grant_reader, table_rows
from app.store.migrate import is_known, migrate
from app.store.session import Database, make_engine, take_long

Say = Callable[[str, int, int], None]
"""Is told what is being done, how much of it is [B], and of how much; of nothing that is not known."""

MOST_NAME_B = 40
"""So long may a database's name be [B]: the names beside it are longer, and PostgreSQL cuts all at 63."""

TELLING = ("check", "result", "run", "audit_log")
"""Tables whose rows say how much would be given up."""


@dataclass(frozen=True)
class Restored:
    """What was restored.

    `ended` are the leases that were ended, `aside` is what the database is called now that was there before.
    """

    manifest: Manifest
    ended: int
    aside: str | None
    has_reader: bool


def restore(
    backup: Backup,
    server: Server,
    data_dir: Path,
    say: Say,
    *,
    given_up: str | None = None,
    observes: bool = True,
) -> Restored:
    """Check a backup, fill a database with it, and put that in the place of the server's.

    Args:
        backup: what is restored.
        server: names the database.
        data_dir: where the backup's files go; one that is there and another is kept as NAME.before_TIME.
        say: is told how far it is.
        given_up: the database's name, where what it holds is to be put aside.
        observes: False leaves the rows as the backup has them, to be looked at: no service may run on that.

    Raises:
        DataError: the backup is not whole, or of a later release.
        UsageError: the database is not empty, and `given_up` does not say that it may be put aside, or its name is
            too long.
        ConflictError: a service uses it.
        UnavailableError: the server is away, too old, or does not allow it, or a program is missing.
    """
    manifest = backup.manifest
    if len(server.database.encode()) > MOST_NAME_B:
        raise UsageError(
            f"the name of the database {server.database} is longer than {MOST_NAME_B} bytes, and what is put beside "
            "it and aside has longer ones: restore into one of a shorter name"
        )
    if not is_known(manifest.revision):
        raise DataError(
            f"{backup.path} is of schema {manifest.revision}, which this release does not know: "
            f"restore it with the release that made it ({manifest.version}) or a later one"
        )
    clients = find_clients(max(manifest.dumped_by, server.major()))
    if server.major() < manifest.major:
        raise UnavailableError(
            f"the backup is of PostgreSQL {manifest.major}, and the server is {server.major()}: "
            "a dump goes to the same major version or a later one"
        )
    there = _look_at(server, given_up)
    with _progress(say, "checking the backup", manifest.bytes) as told:
        backup.check(told)
    names = backup.files()
    has_reader = server.make_reader()
    with _beside(server) as fresh, _parts(backup, data_dir, names) as parts:
        with _progress(say, "restoring the database", _size(manifest)) as told:
            pieces = _counted(backup.pieces(DUMP), told)
            url = server.url.set(database=fresh)
            restore_dump(clients.folder / "pg_restore", url, pieces)
        ended = _make_ready(server.address(fresh), backup, observes=observes)
        at = f"{server.now():%Y%m%dT%H%M%SZ}"
        aside = f"{server.database}_before_{at}"
        _require_idle(server)
        server.swap(fresh, aside)
        _put_files(parts, at)
    is_kept = there or not server.drop_if_empty(aside)
    return Restored(manifest, ended, aside if is_kept else None, has_reader)


def _look_at(server: Server, given_up: str | None) -> bool:
    """Say whether there is something to put aside. Raises UsageError where nobody said that it may be."""
    _require_idle(server)
    rows = server.contents()
    if not rows or not any(n for name, n in rows.items() if name != "alembic_version"):
        return False
    if given_up != server.database:
        held = ", ".join(f"{rows[name]} {name}" for name in TELLING if name in rows)
        raise UsageError(
            f"the database {server.database} is not empty ({held} rows). To have the backup in its place, and what it "
            f"holds kept under another name: --force {server.database}"
        )
    return True


def _require_idle(server: Server) -> None:
    users = server.users()
    if users:
        raise ConflictError(
            f"a service uses the database {server.database} ({users} connections): stop `api`, `tasks` and `ratchet up`"
        )


@contextmanager
def _beside(server: Server) -> Iterator[str]:
    """Yield the name of an empty database; it is gone at the block's end, unless it has another name by then."""
    fresh = f"{server.database}_restoring"
    server.drop(fresh)
    server.create(fresh)
    try:
        yield fresh
    finally:
        server.drop(fresh)


def _make_ready(address: str, backup: Backup, *, observes: bool) -> int:
    """Look at what was restored, bring it to this release's schema, have it observe; return the ended leases."""
    _compare(address, backup.manifest)
    database = Database(address, pool_size=1)
    try:
        migrate(database.engine)
        grant_reader(database.engine)
        if not observes:
            return 0
        with database.session() as session:
            take_long(session)
            return observe(session, backup.manifest, backup.path.name)
    finally:
        database.close()


def _compare(address: str, manifest: Manifest) -> None:
    """Raise DataError unless a database has the rows that the manifest tells of."""
    engine = make_engine(address, pool_size=1)
    try:
        with engine.connect() as connection:
            take_long(connection)
            rows = table_rows(connection)
    finally:
        engine.dispose()
    wrong = [name for name in sorted({*rows, *manifest.rows}) if rows.get(name) != manifest.rows.get(name)]
    if wrong:
        told = ", ".join(f"{name}: {rows.get(name)} of {manifest.rows.get(name)}" for name in wrong[:5])
        raise DataError(f"what was restored is not what the manifest tells of: {told}")


@contextmanager
def _parts(backup: Backup, data_dir: Path, names: list[str]) -> Iterator[dict[Path, Path]]:
    """Write the files of the data folder beside their places; yield where each goes. What is left there goes."""
    parts: dict[Path, Path] = {}
    try:
        for name in names:
            path = data_dir / name
            _make_folder(path.parent, data_dir)
            part = parts[path] = path.with_name(f".{path.name}.{os.getpid()}")
            handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(handle, "wb") as file:
                for piece in backup.pieces(f"{DATA}{name}"):
                    file.write(piece)
                file.flush()
                os.fsync(file.fileno())
            _own(part, data_dir)
        yield parts
    finally:
        for part in parts.values():
            part.unlink(missing_ok=True)


def _make_folder(folder: Path, data_dir: Path) -> None:
    data_dir.mkdir(parents=True, exist_ok=True)
    if not folder.is_dir():
        folder.mkdir(parents=True)
        _own(folder, data_dir)


def _own(path: Path, data_dir: Path) -> None:
    """Have a path belong to whom the data folder belongs to, where root restores: the service is to read it."""
    if os.geteuid() == 0:
        its = data_dir.stat()
        os.chown(path, its.st_uid, its.st_gid)


def _put_files(parts: dict[Path, Path], at: str) -> None:
    """Give the files their names. A file that is there is of the database that was: it is kept beside, if another."""
    for path, part in parts.items():
        if path.exists() and not filecmp.cmp(path, part, shallow=False):
            path.replace(path.with_name(f"{path.name}.before_{at}"))
        part.replace(path)


def _size(manifest: Manifest) -> int:
    return next(part.bytes for part in manifest.parts if part.name == DUMP)


def _counted(pieces: Iterator[bytes], told: Callable[[int], None]) -> Iterator[bytes]:
    for piece in pieces:
        told(len(piece))
        yield piece


@contextmanager
def _progress(say: Say, what: str, of: int) -> Iterator[Callable[[int], None]]:
    done = 0

    def told(size: int) -> None:
        nonlocal done
        done += size
        say(what, done, of)

    say(what, 0, of)
    yield told
