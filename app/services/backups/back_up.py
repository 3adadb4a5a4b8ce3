"""Make a backup: the database as of one moment, and the files beside it, while the service goes on."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from app.domain.errors import DataError, UnavailableError, UsageError
from app.embedded.clients import find_clients
from app.services.backups.archive import DATA, DUMP, SUFFIX, Manifest, NewBackup, new_backup
from app.services.backups.dumping import dumped
from app.services.store_bundle import is_digest
from app.store.databases import moment
from app.store.repositories import restorations
from app.store.session import Database

SECRETS = ("admin-token", "worker-token")
"""Files of the data folder whose content is nowhere else: the database has only their hashes."""

BUNDLES = "bundles"

Say = Callable[[str, int], None]
"""Is told what is being written and how much of it there is [B]."""


@dataclass(frozen=True)
class Made:
    """A backup that was made, and the older ones that went for it."""

    path: Path
    manifest: Manifest
    removed: tuple[Path, ...]


def back_up(database: Database, data_dir: Path, to: Path, say: Say, *, keep: int | None = None) -> Made:
    """Write a backup into a folder, under a name of its time, or into a file that is not there yet.

    Args:
        database: the service's database; what it holds at one moment is what the backup holds.
        data_dir: the service's data folder.
        to: a folder, or the file.
        say: is told how far it is.
        keep: how many backups stay in the folder, this one included; None leaves all.

    Raises:
        UsageError: the file is there, or its folder is not.
        UnavailableError: the database is away, pg_dump is missing or fails, or the disk is full.
    """
    is_folder = to.is_dir()
    if keep is not None and not is_folder:
        raise UsageError(f"--keep is for a folder of backups, and {to} is none")
    if not (to if is_folder else to.parent).is_dir():
        raise UsageError(
            f"there is no folder {to.parent}: make it first, where other disks than the service's are"
        )
    with moment(database.engine) as now:
        if now.revision is None:
            raise DataError("the database is empty: there is nothing to back up")
        path = to / f"ratchet-{now.at:%Y%m%dT%H%M%SZ}{SUFFIX}" if is_folder else to
        clients = find_clients(now.major)
        progress = _Progress(say)
        with _roomy(path), new_backup(path, progress.add) as backup:
            progress.begin("the database")
            with dumped(clients.folder / "pg_dump", database.engine.url, now.snapshot) as source:
                backup.add(DUMP, source)
            progress.begin("the data folder")
            _add_files(backup, data_dir)
            manifest = backup.finish(
                Manifest(
                    version=version("ratchet-perf"),
                    revision=now.revision,
                    at=now.at,
                    server=now.server,
                    major=now.major,
                    dumped_by=clients.major,
                    rows=now.rows,
                )
            )
    with database.session() as session:
        restorations.note_backup(session, manifest.at)
    return Made(path, manifest, tuple(prune_backups(to, keep)) if keep is not None else ())


def prune_backups(folder: Path, keep: int) -> Iterator[Path]:
    """Remove all but the newest backups of a folder, by their names, and yield them; other files stay."""
    ours = sorted(folder.glob(f"ratchet-*{SUFFIX}"))
    for old in ours[:-keep] if keep else ours:
        old.unlink(missing_ok=True)
        yield old


def _add_files(backup: NewBackup, data_dir: Path) -> None:
    for name in SECRETS:
        _add(backup, data_dir, Path(name))
    folder = data_dir / BUNDLES
    names = sorted(path.name for path in folder.iterdir() if is_digest(path.name)) if folder.is_dir() else []
    for name in names:
        _add(backup, data_dir, Path(BUNDLES, name))


def _add(backup: NewBackup, data_dir: Path, name: Path) -> None:
    """Add a file, if it is still there: bundles that nobody needs go at any time."""
    try:
        source = (data_dir / name).open("rb")
    except FileNotFoundError:
        return
    except OSError as error:
        raise UnavailableError(f"{data_dir / name} cannot be read: {error.strerror}") from error
    with source:
        backup.add(f"{DATA}{name}", source)


@contextmanager
def _roomy(path: Path) -> Iterator[None]:
    """Raise UnavailableError where the disk is full or the folder cannot be written to."""
    try:
        yield
    except OSError as error:
        raise UnavailableError(f"{path} cannot be written: {os.strerror(error.errno or 0)}") from error


class _Progress:
    def __init__(self, say: Say) -> None:
        self._say, self._what, self._bytes = say, "", 0

    def begin(self, what: str) -> None:
        self._what, self._bytes = what, 0
        self._say(what, 0)

    def add(self, size: int) -> None:
        self._bytes += size
        self._say(self._what, self._bytes)
