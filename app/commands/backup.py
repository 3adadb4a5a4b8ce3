"""`ratchet backup`: the database and what belongs to it in one file, while the service goes on."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.option(
    "--to",
    type=click.Path(path_type=Path),
    envvar="RATCHET_BACKUP_DIR",
    default=Path(),
    show_default="RATCHET_BACKUP_DIR, else this folder",
    help="A folder, in which the file is named after its time, or the file.",
)
@click.option(
    "--keep", type=click.IntRange(1), help="Remove all but so many of the newest backups of the folder."
)
def backup(to: Path, keep: int | None) -> None:
    """Write a backup: what the database holds at one moment, the uploaded bundles and the tokens' files.

    The service may run, and agents may measure. The file has its name once it is whole and on disk, and only its owner
    can read it: it has tokens in it. Its name is printed; `ratchet restore` takes it, `ratchet verify` looks at it.
    The database is that of RATCHET_DATABASE_URL, else that of the service which runs on the data folder.
    """
    from app.commands.database import opened_database
    from app.commands.progress_line import ProgressLine
    from app.commands.signals import interrupt_on_sigterm
    from app.defaults import chosen_data_dir
    from app.domain.units import format_quantity
    from app.services.backups.back_up import back_up

    interrupt_on_sigterm()
    progress = ProgressLine()
    data_dir = chosen_data_dir()

    def say(what: str, done_b: int) -> None:
        progress.tell(f"writing {what}: {format_quantity(done_b, 'B')}")

    with opened_database() as database:
        made = back_up(database, data_dir, to, say, keep=keep)
    manifest = made.manifest
    progress.tell(f"wrote {format_quantity(manifest.bytes, 'B')}", is_last=True)
    rows = sum(manifest.rows.values())
    click.echo(made.path)
    click.echo(f"of {manifest.at:%Y-%m-%d %H:%M:%S} UTC, schema {manifest.revision}, {rows} rows", err=True)
    for old in made.removed:
        click.echo(f"removed {old}", err=True)
