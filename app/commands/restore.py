"""`ratchet restore`: a database and a data folder as a backup has them. `ratchet resume`: the service goes on."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from app.defaults import default_data_dir
from app.domain.errors import ConflictError


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--data-dir",
    type=click.Path(path_type=Path),
    envvar="RATCHET_DATA_DIR",
    default=default_data_dir,
    help="Where the service's state lives; without RATCHET_DATABASE_URL its PostgreSQL is there, too.",
)
@click.option(
    "--force",
    "given_up",
    metavar="DATABASE",
    help="Put aside what this database holds; it is the one that is restored, by its name.",
)
def restore(file: Path, data_dir: Path, given_up: str | None) -> None:
    """Restore a backup into RATCHET_DATABASE_URL, else into the PostgreSQL of the data folder; no service may run.

    The backup is checked before anything is touched, and restored into a database beside the one that is there, which
    takes its place at the end: broken off before, it has changed nothing. An older backup is brought to this release's
    schema. The service observes then: it measures nothing and tells GitHub nothing, until `ratchet resume`.
    """
    from app.commands.progress_line import ProgressLine
    from app.commands.signals import interrupt_on_sigterm
    from app.domain.units import format_quantity
    from app.reports.words import count
    from app.services.backups.archive import opened
    from app.services.backups.restore import restore as restore_backup
    from app.store.databases import Server
    from app.store.session import answering

    interrupt_on_sigterm()
    progress = ProgressLine()

    def say(what: str, done_b: int, of_b: int) -> None:
        progress.tell(f"{what}: {format_quantity(done_b, 'B')} of {format_quantity(of_b, 'B')}")

    with opened(file) as backup, _held(data_dir), _server(data_dir) as url, answering():
        done = restore_backup(backup, Server(url), data_dir, say, given_up=given_up)
    progress.tell("restored", is_last=True)
    manifest = done.manifest
    click.echo(
        f"restored what was there at {manifest.at:%Y-%m-%d %H:%M:%S} UTC: {sum(manifest.rows.values())} rows"
    )
    if done.ended:
        has = "has" if done.ended == 1 else "have"
        click.echo(f"{count(done.ended, 'lease')} that stood then {has} ended; what was measured waits")
    if done.aside:
        click.echo(f"what the database held is now called {done.aside}: drop it when nobody needs it")
    if not done.has_reader:
        click.echo("the role ratchet_reader is not on this server: docs/sql.md says how it is made", err=True)
    click.echo("the service observes: start it, look at its pages, then `ratchet resume`")


@contextmanager
def _held(data_dir: Path) -> Iterator[None]:
    """Have the data folder for this process. Raises ConflictError where a service runs on it."""
    from app.local.data_dir import DataDir

    data = DataDir(data_dir)
    data.make()
    if not data.acquire():
        raise ConflictError(f"a service runs on {data.path}: stop it first")
    try:
        yield
    finally:
        data.release()


@contextmanager
def _server(data_dir: Path) -> Iterator[str]:
    """Yield the address of the database to restore; one of our own runs for the block."""
    given = os.environ.get("RATCHET_DATABASE_URL")
    if given:
        yield given
        return
    from app.embedded import EmbeddedPostgres
    from app.local.data_dir import DataDir

    with EmbeddedPostgres(DataDir(data_dir).postgres) as server:
        yield server.url()


@click.command()
@click.option(
    "--queued",
    type=click.Choice(["run", "drop"]),
    help="What becomes of checks that were asked for by hand and had not ended when the backup was made.",
)
@click.option(
    "--without-forge",
    is_flag=True,
    help="Ask GitHub nothing: what it was told since the backup is measured and told again.",
)
def resume(queued: str | None, without_forge: bool) -> None:
    """Have a restored service go on: agents get jobs, and GitHub is told how checks stand.

    GitHub is asked first what it has been told since the backup was made: checks that it has the end of are neither
    measured nor told again. It needs the settings of `ratchet tasks`, and the service may run.
    """
    from app.commands.database import database_url
    from app.commands.processes import settings_of_environment
    from app.reports.words import count
    from app.services.backups.resume import Queued
    from app.store.session import answering
    from app.tasks.resuming import resume_service
    from app.wiring import Service

    # Messages wait in the outbox for `tasks`, so that it needs no broker.
    settings = settings_of_environment(database_url=database_url(), redis_url="redis://")
    service = Service(settings)
    try:
        with answering():
            done = resume_service(service, Queued(queued) if queued else None, asks_forge=not without_forge)
    finally:
        service.close()
    if done.adopted:
        click.echo(f"{count(len(done.adopted), 'check')} that GitHub has the end of: as it is there")
    if done.dropped or done.waiting:
        click.echo(f"{count(done.dropped, 'job')} let go, {count(done.waiting, 'job')} to be measured")
    click.echo("the service goes on")
