"""The service's processes one by one, for a deployment: they need RATCHET_DATABASE_URL and RATCHET_REDIS_URL."""

from __future__ import annotations

import gc
import logging
from pathlib import Path
from typing import TYPE_CHECKING

import click

from app.domain.errors import UsageError
from workers import logs

if TYPE_CHECKING:
    from app.config import ServiceSettings
    from app.wiring import Service


@click.command()
@click.option("--host", default=None, help="Address to listen on (RATCHET_HOST, default 127.0.0.1).")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=None,
    help="Port to listen on (RATCHET_PORT, default 8440).",
)
def api(host: str | None, port: int | None) -> None:
    """Serve the JSON API and the pages."""
    import uvicorn

    from app.api.one_piece import OnePieceProtocol
    from app.main import create_app
    from app.store.migrate import require_current
    from app.store.session import answering

    service = _service()
    settings = service.settings
    with answering():
        require_current(service.database.engine)
    app = create_app(service)
    gc.collect()
    # What is imported stays: a request in which garbage is collected does not look through all of it, and one that
    # reads hundreds of documents does not look through those again and again.
    gc.freeze()
    uvicorn.run(
        app,
        http=OnePieceProtocol,
        server_header=False,
        host=host or settings.host,
        port=settings.port if port is None else port,
        log_config=None,  # its loggers hand everything to ours
        log_level="warning",
        access_log=False,
        timeout_graceful_shutdown=2,
        h11_max_incomplete_event_size=64 * 1024,
    )


@click.command()
@click.option("--concurrency", default=4, show_default=True, help="Tasks at a time.")
def tasks(concurrency: int) -> None:
    """Work on what follows from events: relay, conclude, render, sweep."""
    from app.integrations.queue import QUEUE
    from app.tasks import celery_app

    app = celery_app(_service())
    _keep_our_logging()
    pool = ["--pool", "threads", "--concurrency", str(concurrency)]
    quiet = ["--without-gossip", "--without-mingle", "--without-heartbeat", "--loglevel", "WARNING"]
    app.worker_main(["--quiet", "worker", "--queues", QUEUE, "--hostname", "tasks@%h", *pool, *quiet])


@click.command()
def beat() -> None:
    """Give the ticks of the service's clock; one process of this kind is enough."""
    from app.integrations.queue import make_celery, timetable

    settings = settings_of_environment()
    app = make_celery(settings.redis_url)
    app.conf.beat_schedule = timetable(
        settings.relay_interval_s,
        settings.sweep_interval_s,
        settings.prune_interval_s,
        settings.github_reconcile_s,
    )
    _keep_our_logging()
    app.conf.ratchet_alive_file = settings.alive_file
    app.Beat(scheduler_cls="app.integrations.clock:Clock", loglevel="WARNING", quiet=True).run()


def _keep_our_logging() -> None:
    """Have Celery log as everything else does: it leaves alone what somebody answers this signal for."""
    from celery.signals import setup_logging

    setup_logging.connect(lambda **_: None, weak=False)


@click.command()
def migrate() -> None:
    """Bring the database of RATCHET_DATABASE_URL to this release's schema."""
    from app.store.migrate import migrate as migrate_database
    from app.store.session import answering

    with answering():
        migrate_database(_service().database.engine)
    click.echo("the schema is up to date", err=True)


@click.command()
@click.option(
    "--token-dir", type=click.Path(path_type=Path), required=True, help="Where the tokens' files go."
)
@click.option(
    "--worker-token-dir",
    type=click.Path(path_type=Path),
    help="Where the worker's goes, if not there: agents need not see the administrator's.",
)
def setup(token_dir: Path, worker_token_dir: Path | None) -> None:
    """Bring the schema up to date and leave an administrator's and a worker's token in a folder.

    A token that is there stays, unless the database never issued it.
    """
    from app.local.data_dir import write_secret
    from app.services.access import Scope, is_issued, issue_token
    from app.store.migrate import migrate as migrate_database
    from app.store.session import answering

    service = _service()
    with answering():
        migrate_database(service.database.engine)
    tokens = (("admin", Scope.ADMIN, token_dir), ("worker", Scope.WORKER, worker_token_dir or token_dir))
    for name, scope, folder in tokens:
        path = folder / f"{name}-token"
        with service.database.session() as session:
            # A file of another database's token, as after a move to a new one, would let nobody in.
            if path.exists() and is_issued(session, path.read_text().strip()):
                continue
            write_secret(path, issue_token(session, name, [scope]))
        click.echo(f"wrote the {name} token to {path}", err=True)


def _service() -> Service:
    """Return the wired service; the wiring is imported only by the processes that need it."""
    from app.store.session import database_url
    from app.wiring import Service

    settings = settings_of_environment()
    database_url(settings.database_url)  # one that cannot be read is told now, not at its first use
    return Service(settings)


def settings_of_environment(**given: str) -> ServiceSettings:
    """Return the settings of the environment, but for those that are given.

    Raises UsageError naming each variable that is missing or wrong.
    """
    from pydantic import ValidationError

    from app.config import ServiceSettings

    try:
        logs.set_up(logging.WARNING, logs.form_of_environment())
    except ValueError as error:
        raise UsageError(str(error)) from None
    try:
        return ServiceSettings(**given)  # type: ignore[arg-type]  # the rest is read from the environment
    except ValidationError as error:
        lines = [
            f"RATCHET_{'_'.join(map(str, e['loc'])).upper()}: {e['msg']}"
            for e in error.errors(include_url=False)
        ]
        raise UsageError("the settings are not complete:\n  " + "\n  ".join(lines)) from None
