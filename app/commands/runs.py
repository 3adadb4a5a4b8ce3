"""`ratchet runs`: what was measured or posted, the newest first, as a table, JSON Lines or CSV."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from app.commands.asking import MOMENT, service_to_ask
from app.commands.csv_commands import print_pieces, refuse_two_outputs, table_width, use_color

_PAGE = 500


@click.command()
@click.option("--project", help="Only runs of this project.")
@click.option("--benchmark", help="Only runs of this benchmark.")
@click.option("--commit", help="Only runs of this commit, by its first 7 digits or more.")
@click.option("--device", "device_class", help="Only runs on this device class.")
@click.option("--since", type=MOMENT, help="Only runs since then: 2026-01-31, 2026-01-31T12:00Z, 30d.")
@click.option("--limit", type=click.IntRange(1), default=50, show_default=True, help="The most runs.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON Lines, one run each, instead of a table.")
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV, one run a row, instead of a table.")
def runs(limit: int, as_json: bool, as_csv: bool, **given: str | None) -> int:
    """List runs, the newest first.

    A run is what a worker measured of one suite on one device, or a post of results from elsewhere. The service is that
    of RATCHET_URL (and RATCHET_TOKEN), else the one that runs on the default data folder.
    """
    refuse_two_outputs(as_json, as_csv)
    wanted = {name: value for name, value in given.items() if value is not None}
    found = _Found(wanted, limit)
    if as_json:
        print_pieces(_json(found))
    elif as_csv:
        print_pieces(_csv(found))
    else:
        print_pieces(_table(found))
    if found.goes_on:
        click.echo(f"there are more than {limit}: --limit shows more, options narrow them", err=True)
    return 0


class _Found:
    """The runs that are looked for, fetched page by page."""

    def __init__(self, wanted: dict[str, str], limit: int) -> None:
        self._wanted, self._limit = wanted, limit
        self._service = service_to_ask()
        self.goes_on = False

    def __iter__(self) -> Iterator[dict[str, Any]]:
        left, place = self._limit, dict[str, str]()
        while left:
            page = self._service.runs(**self._wanted, **place, limit=min(left, _PAGE))
            yield from page["runs"]
            left -= len(page["runs"])
            self.goes_on = page["next"] is not None
            if not self.goes_on:
                return
            place = {"before": page["next"]}


def _json(found: _Found) -> Iterator[str]:
    from app.reports.documents import json_line

    return map(json_line, found)


def _csv(found: _Found) -> Iterator[str]:
    from app.reports.documents import csv_line
    from app.reports.run_list import CSV_HEADER, run_row

    yield csv_line(CSV_HEADER)
    for run in found:
        yield csv_line(run_row(run))


def _table(found: _Found) -> Iterator[str]:
    from app.reports.run_list import render_runs

    every = list(found)
    if every:
        yield render_runs(every, width=table_width(), color=use_color())
    else:
        click.echo("no run is of this", err=True)
