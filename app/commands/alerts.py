"""`ratchet alerts`: what became worse and waits for somebody, as a table, JSON Lines or CSV; or one alert whole."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import click

from app.commands.asking import service_to_ask
from app.commands.csv_commands import print_pieces, refuse_two_outputs, table_width, use_color
from app.domain.alerts import AlertState

if TYPE_CHECKING:
    from app.integrations.service_client import ServiceClient

Alert = dict[str, Any]

_PAGE = 200


@click.command()
@click.argument("number", type=click.IntRange(1), required=False)
@click.option("--project", help="Only alerts of this project.")
@click.option(
    "--state",
    "states",
    multiple=True,
    type=click.Choice(["open", "closed", "all", *(state.value for state in AlertState)]),
    help="Only alerts in this state, several times for several (default: open).",
)
@click.option("--owner", help="Only this person's; '' means nobody's.")
@click.option(
    "--limit", type=click.IntRange(1, 10_000), default=50, show_default=True, help="The most alerts."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON Lines, one alert each, instead of a table.")
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV, one change a row, instead of a table.")
def alerts(
    number: int | None,
    project: str | None,
    states: tuple[str, ...],
    owner: str | None,
    limit: int,
    as_json: bool,
    as_csv: bool,
) -> int:
    """Show what became worse, one entry for each cause; with a NUMBER all that is known of that alert.

    The service is that of RATCHET_URL (and RATCHET_TOKEN), else the one that runs on the default data folder.
    """
    refuse_two_outputs(as_json, as_csv)
    service = service_to_ask()
    if number is not None:
        found, more = [service.alert(number)], False
    else:
        wanted = {"project": project, "state": states, "owner": owner}
        found, more = _found(
            service, {name: value for name, value in wanted.items() if value not in (None, ())}, limit
        )
    if as_json:
        print_pieces(_json(found))
    elif as_csv:
        print_pieces(_csv(found))
    else:
        print_pieces(_table(found, whole=number is not None))
    if more:
        click.echo(f"there are more than {limit} such alerts: --limit shows more", err=True)
    return 0


def _found(service: ServiceClient, wanted: dict[str, Any], limit: int) -> tuple[list[Alert], bool]:
    """Return at most `limit` alerts, the newest first, and whether there are more."""
    found: list[Alert] = []
    page: dict[str, Any] = {"next": None}
    while True:
        page = service.alerts(wanted, before=page["next"], limit=min(_PAGE, limit - len(found)))
        found += page["alerts"]
        if not page["more"] or len(found) >= limit:
            return found, page["more"]


def _json(found: Iterable[Alert]) -> Iterator[str]:
    from app.reports.documents import json_line

    return map(json_line, found)


def _csv(found: Iterable[Alert]) -> Iterator[str]:
    from app.reports.alert_table import CSV_HEADER, alert_rows
    from app.reports.documents import csv_line

    yield csv_line(CSV_HEADER)
    for alert in found:
        yield "".join(csv_line(row) for row in alert_rows(alert))


def _table(found: list[Alert], *, whole: bool) -> Iterator[str]:
    from app.reports.alert_table import render_alert, render_alerts

    if whole:
        yield render_alert(found[0], width=table_width(), color=use_color())
    elif found:
        yield render_alerts(found, width=table_width(), color=use_color())
    else:
        click.echo("no alert is like this", err=True)
