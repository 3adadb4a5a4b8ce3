"""`ratchet detect`: where the series of a CSV file changed. Nothing heavy is imported before it is needed."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import click

from app.commands.csv_commands import (
    csv_options,
    one_thread_a_process,
    print_pieces,
    read_bytes,
    refuse_two_outputs,
    shown_name,
    table_width,
    use_color,
    without_garbage_collection,
)

if TYPE_CHECKING:
    from app.formats.history_csv import Histories
    from app.reports.history_documents import ExaminedSeries


@click.command()
@click.argument("file")
@csv_options
def detect(file: str, as_json: bool, as_csv: bool, minimum_effect: float) -> int:
    """Find where series changed for good.

    FILE is CSV with the columns series, x (an ascending integer) and value; - is standard input. The exit status is 0
    whatever was found, 65 for bad input: then every bad row is listed by its line.
    """
    refuse_two_outputs(as_json, as_csv)
    one_thread_a_process()
    begun = time.perf_counter()
    from app.formats.history_csv import read_histories

    with without_garbage_collection():
        histories = read_histories(read_bytes(file), shown_name(file))
    examined = _examined(histories, minimum_effect)
    if as_json:
        print_pieces(_json(examined))
    elif as_csv:
        print_pieces(_csv(examined))
    else:
        print_pieces(_table(examined, begun))
    return 0


def _examined(histories: Histories, minimum_effect: float) -> Iterator[list[ExaminedSeries]]:
    """Yield the series of the file in order, some at a time."""
    from app.commands.examining import examine_all
    from app.reports.history_documents import ExaminedSeries

    start = 0
    for found in examine_all(histories, minimum_effect):
        rows = (histories.rows(index) for index in range(start, start + len(found)))
        names = histories.names[start : start + len(found)]
        yield [
            ExaminedSeries(name, histories.x[at], histories.values[at], one)
            for name, at, one in zip(names, rows, found, strict=True)
        ]
        start += len(found)


def _json(examined: Iterable[list[ExaminedSeries]]) -> Iterator[str]:
    from app.reports.documents import json_line
    from app.reports.history_documents import history_document

    for some in examined:
        yield "".join(json_line(history_document(series)) for series in some)


def _csv(examined: Iterable[list[ExaminedSeries]]) -> Iterator[str]:
    from app.reports.documents import csv_line
    from app.reports.history_documents import CSV_HEADER, history_rows

    yield csv_line(CSV_HEADER)
    for some in examined:
        yield "".join(csv_line(row) for series in some for row in history_rows(series))


def _table(examined: Iterable[list[ExaminedSeries]], begun: float) -> Iterator[str]:
    everything = [series for some in examined for series in some]
    if everything:
        from app.reports.history_table import render_histories

        seconds = time.perf_counter() - begun
        yield render_histories(everything, seconds=seconds, width=table_width(), color=use_color())
