"""`ratchet prune`: says what is older than it is kept, and deletes it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from app.commands.columns import columns
from app.domain.errors import UnavailableError

if TYPE_CHECKING:
    from app.config import ServiceSettings
    from app.services.retention.prune_old import Tally


@click.command()
@click.option("--dry-run", "is_dry", is_flag=True, help="Say what would be deleted, and delete nothing.")
def prune(is_dry: bool) -> None:
    """Delete what is older than it is kept (RATCHET_KEEP_..._DAYS), as `ratchet tasks` does every ten minutes.

    It prints a line for each class of data: rows, roughly their size, and since when the oldest was there. Whatever
    something still needs stays. Broken off with Ctrl-C, what was deleted until then is, and the next time goes on. The
    database is that of RATCHET_DATABASE_URL, else that of the service which runs on the data folder.
    """
    from app.commands.database import database_url, opened_database
    from app.commands.processes import settings_of_environment
    from app.commands.progress_line import ProgressLine
    from app.services.retention.prune_old import prune_old

    # No message is sent, so that it needs no broker.
    settings = settings_of_environment(database_url=database_url(), redis_url="redis://")
    progress = ProgressLine()
    verb = "due" if is_dry else "deleted"
    tallies: dict[str, Tally] = {}
    with opened_database() as database:
        try:
            for tally in prune_old(database, settings, is_dry=is_dry):
                tallies[tally.policy.name] = tally
                progress.tell(f"{verb}: {_total(tallies.values())}")
        finally:
            progress.tell(f"{verb}: {_total(tallies.values())}", is_last=True)
            click.echo(_table(settings, tallies, verb))
    failed = [name for name, tally in tallies.items() if tally.failure]
    if failed:
        raise UnavailableError(f"not all could be looked at; what failed is told above: {', '.join(failed)}")


def _total(tallies: Iterable[Tally]) -> str:
    from app.domain.units import format_quantity

    its = list(tallies)
    return f"{sum(one.rows for one in its)} rows, {format_quantity(sum(one.size_b for one in its), 'B')}"


def _table(settings: ServiceSettings, tallies: dict[str, Tally], verb: str) -> str:
    from app.services.retention.policy import POLICIES

    rows = [("CLASS", "KEPT", verb.upper(), "SIZE", "OLDEST", "OF")]
    for policy in POLICIES:
        keep, tally = policy.keep(settings), tallies.get(policy.name)
        kept = f"{keep.days} d" if keep else "for ever"
        rows.append((policy.name, kept, *_told(tally), policy.counted))
    return columns(rows)


def _told(tally: Tally | None) -> tuple[str, str, str]:
    from app.domain.units import format_quantity

    if tally is None:
        return "–", "–", "–"
    size = format_quantity(tally.size_b, "B") if tally.size_b else "–"
    return str(tally.rows), size, f"{tally.oldest:%Y-%m-%d}" if tally.oldest else "–"
