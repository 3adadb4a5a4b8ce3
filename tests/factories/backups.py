"""Backups of a service, and databases that they are restored into."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import text

from app.services.backups.archive import opened
from app.services.backups.back_up import Made, back_up
from app.services.backups.restore import Restored, restore
from app.store.databases import Server
from app.store.session import Database, make_engine
from app.wiring import Service


def quiet(*_: object) -> None:
    """Say nothing of how far it is."""


def backed_up(service: Service, folder: Path, **options: int) -> Made:
    """Make a backup of the service into a folder."""
    folder.mkdir(exist_ok=True)
    return back_up(service.database, service.settings.data_dir, folder, quiet, **options)


def restored(path: Path, url: str, data_dir: Path, **options: str) -> Restored:
    """Restore a backup into a database."""
    with opened(path) as backup:
        return restore(backup, Server(url), data_dir, quiet, **options)


def beside(url: str, name: str) -> str:
    """Return the address of another database of the server."""
    return url.replace("/ratchet?", f"/{name}?")


def drop_like(url: str, pattern: str) -> None:
    """Drop the databases of the server that are called like this."""
    for name in names_like(url, pattern):
        Server(url).drop(name)


def names_like(url: str, pattern: str) -> list[str]:
    """Return the names of the server's databases that are like this."""
    engine = make_engine(Server(url).address("postgres"), pool_size=1)
    try:
        with engine.connect() as connection:
            query = "select datname from pg_database where datname like :pattern order by 1"
            return list(connection.scalars(text(query), {"pattern": pattern}))
    finally:
        engine.dispose()


@contextmanager
def database_of(url: str) -> Iterator[Database]:
    """Yield a database, and close it."""
    its = Database(url, pool_size=3)
    try:
        yield its
    finally:
        its.close()
