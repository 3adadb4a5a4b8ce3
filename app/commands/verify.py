"""`ratchet verify`: whether what a database holds can be, or what a backup does."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from app.commands.progress_line import ProgressLine
    from app.services.verify import Finding
    from app.store.session import Database

UNWELL = 1


@click.command()
@click.argument("file", type=click.Path(path_type=Path), required=False)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def verify(file: Path | None, as_json: bool) -> int:
    """Look for what must not be, in the service's database or in a backup; exit status 1 where something is found.

    Each thing that must be true is a line; what it is not true of is counted, and some of it named. Nothing is changed,
    and the service may run. A backup is restored into a PostgreSQL that is there for this alone (in TMPDIR, which has
    to have the room): so it is known that it can be, that all is in it that the manifest tells of, and that it holds
    together.
    """
    from app.commands.progress_line import ProgressLine
    from app.commands.signals import interrupt_on_sigterm
    from app.services.verify import verify as look

    interrupt_on_sigterm()
    progress = ProgressLine()
    found: list[Finding] = []
    with _database(file, progress) as database, database.session() as session:
        for finding in look(session, lambda its: progress.tell(f"looking: {its.says}")):
            found.append(finding)
            if not as_json:
                click.echo(_line(finding))
    is_good = all(finding.is_good for finding in found)
    progress.tell("all holds" if is_good else "not all holds", is_last=True)
    if as_json:
        checks = [{**vars(finding), "examples": list(finding.examples)} for finding in found]
        click.echo(json.dumps({"good": is_good, "checks": checks}, ensure_ascii=False))
    return 0 if is_good else UNWELL


def _line(finding: Finding) -> str:
    line = f"{'ok' if finding.is_good else finding.n:>6}  {finding.name:<38}{finding.says}"
    return "\n".join([line, *(f"{'':<8}{example}" for example in finding.examples)])


@contextmanager
def _database(file: Path | None, progress: ProgressLine) -> Iterator[Database]:
    """Yield the service's database, or one that a backup was restored into and that is gone afterwards."""
    from app.commands.database import opened_database

    if file is None:
        with opened_database() as database:
            yield database
        return
    from app.domain.units import format_quantity
    from app.embedded import EmbeddedPostgres
    from app.services.backups.archive import opened
    from app.services.backups.restore import restore
    from app.store.databases import Server
    from app.store.session import Database, answering

    def say(what: str, done_b: int, of_b: int) -> None:
        progress.tell(f"{what}: {format_quantity(done_b, 'B')} of {format_quantity(of_b, 'B')}")

    folder = Path(tempfile.mkdtemp(prefix="ratchet-verify-"))
    folder.chmod(0o755)
    try:
        with (
            opened(file) as backup,
            EmbeddedPostgres(folder / "postgres", fast_and_unsafe=True) as server,
            answering(),
        ):
            # What has a service observe would mend some of what is looked for.
            restore(backup, Server(server.url()), folder / "data", say, observes=False)
            database = Database(server.url(), pool_size=1)
            try:
                yield database
            finally:
                database.close()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
