"""`ratchet history`: how stored numbers have moved, as a table with sparklines, JSON Lines or CSV."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from typing import Any

import click

from app.commands.asking import service_to_ask
from app.commands.csv_commands import (
    one_thread_a_process,
    print_pieces,
    refuse_two_outputs,
    table_width,
    use_color,
)
from app.domain.errors import NotFoundError

Trend = dict[str, Any]

MOST_COLUMNS = 10_000
"""Of pixels that the service is told the trend is for: six times as many points come whole."""


@click.command()
@click.argument("words", nargs=-1)
@click.option("--project", help="Only series of this project.")
@click.option("--benchmark", help="Only series of this benchmark.")
@click.option("--metric", help="Only series of this metric.")
@click.option("--device", "device_class", help="Only series of this device class.")
@click.option("--branch", help="The branch whose history is shown (default: each project's own).")
@click.option("--last", type=click.IntRange(1), metavar="N", help="Only the newest N points of each.")
@click.option(
    "--limit", type=click.IntRange(1, 10_000), default=50, show_default=True, help="The most series."
)
@click.option(
    "--json", "as_json", is_flag=True, help="Print JSON Lines, one series each, instead of a table."
)
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV, one point a row, instead of a table.")
def history(
    words: tuple[str, ...],
    branch: str | None,
    last: int | None,
    limit: int,
    as_json: bool,
    as_csv: bool,
    **chosen: str | None,
) -> int:
    """Show how stored numbers have moved.

    WORDS are looked for in the project, benchmark, parameters, metric and device class of each series, which has to
    have all of them. The service is that of RATCHET_URL (and RATCHET_TOKEN), else the one that runs on the default
    data folder.
    """
    refuse_two_outputs(as_json, as_csv)
    one_thread_a_process()
    found = _Found(words, {name: value for name, value in chosen.items() if value}, branch, last, limit)
    trends = found.trends()
    if as_json:
        print_pieces(_json(trends))
    elif as_csv:
        print_pieces(_csv(trends))
    else:
        print_pieces(_table(trends))
    _say_what_is_missing(found, limit)
    return 0


def _say_what_is_missing(found: _Found, limit: int) -> None:
    """Say, beside what was printed, why there is nothing, or that there is more."""
    if not found.series:
        click.echo("no series has all of this", err=True)
    elif not found.n_shown:
        click.echo("nothing of these series is in a history of this branch yet", err=True)
    if found.n_empty:
        click.echo(
            f"{found.n_empty} of {found.n_shown} series without a point in the history yet: what was stored just now"
            " is there once it is examined",
            err=True,
        )
    if found.more:
        click.echo(
            f"more than {limit} series have this: --limit shows more, words and options narrow it", err=True
        )


class _Found:
    """The series that are looked for, and their trends, fetched one after the other."""

    def __init__(
        self, words: Iterable[str], chosen: dict[str, str], branch: str | None, last: int | None, limit: int
    ) -> None:
        self._service, self._branch, self._last = service_to_ask(), branch, last
        answer = self._service.find_series({**chosen, "q": " ".join(words)}, limit)
        self.series: list[dict[str, Any]] = answer["series"]
        self.more: bool = answer["more"]
        self.n_shown = self.n_empty = 0

    def trends(self) -> Iterator[Trend]:
        """Yield the trend of each series; those without a history on the branch are left out."""
        wanted = {"branch": self._branch} if self._branch else {}
        for series in self.series:
            try:
                trend = self._service.trend(series["id"], columns=MOST_COLUMNS, **wanted)
            except NotFoundError:
                continue
            self.n_shown += 1
            self.n_empty += not trend["points"]["row"]
            yield _newest(trend, self._last)


def _newest(trend: Trend, last: int | None) -> Trend:
    """Return the trend with its newest points alone, and what is among them; epochs are those of the whole history."""
    if last is None or len(trend["points"]["row"]) <= last:
        return trend
    points = {name: column[-last:] for name, column in trend["points"].items()}
    first = points["row"][0]
    among = {name: [one for one in trend[name] if one["row"] > first] for name in ("changes", "failed")}
    void = [one for one in trend["void"] if one["row"] >= first]
    return trend | {"points": points, "control": _from(trend["control"], first), "void": void} | among


def _from(control: dict[str, Any], first: int) -> dict[str, Any]:
    """Return what the control showed from a row on."""
    at = bisect_left(control["row"], first)
    return control | {name: control[name][at:] for name in ("row", "deviation")}


def _json(trends: Iterable[Trend]) -> Iterator[str]:
    from app.reports.documents import json_line

    return map(json_line, trends)


def _csv(trends: Iterable[Trend]) -> Iterator[str]:
    from app.reports.documents import csv_line
    from app.reports.stored_histories import CSV_HEADER, trend_rows

    yield csv_line(CSV_HEADER)
    for trend in trends:
        yield "".join(csv_line(row) for row in trend_rows(trend))


def _table(trends: Iterable[Trend]) -> Iterator[str]:
    from app.reports.stored_histories import render_trends

    every = list(trends)
    if every:
        yield render_trends(every, width=table_width(), color=use_color())
