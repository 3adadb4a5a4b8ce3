"""`ratchet compare`: base against head of a CSV file's benchmarks, or of what a service has stored.

Nothing heavy is imported before it is needed.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
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
from app.commands.share import share
from app.domain.errors import UsageError
from app.domain.results import Better

if TYPE_CHECKING:
    from app.analysis.comparison.results import BenchmarkValues, Comparison


TOLERANCE = 0.02
"""What `no_regression` excludes unless something else is asked for."""


@click.command()
@click.argument("sides", nargs=-1, metavar="FILE | --stored BASE HEAD")
@csv_options
@click.option(
    "--tolerance",
    type=share,
    metavar="PERCENTAGE",
    help='no_regression says that nothing worse than this is left: "2%" or 0.02 (default: 2%, or twice the minimum '
    "effect where that is more).",
)
@click.option(
    "--better",
    type=click.Choice(["lower", "higher"]),
    default="lower",
    show_default=True,
    help="Which values are better.",
)
@click.option("--stored", is_flag=True, help="Compare what the service has stored of BASE and HEAD.")
@click.option("--project", help="With --stored: the project (default: the only one).")
@click.option("--base-device", help="With --stored: only what was measured on this device class.")
@click.option("--head-device", help="With --stored: the same of head; with both, the one against the other.")
def compare(
    sides: tuple[str, ...],
    as_json: bool,
    as_csv: bool,
    minimum_effect: float,
    tolerance: float | None,
    better: Better,
    stored: bool,
    project: str | None,
    base_device: str | None,
    head_device: str | None,
) -> int:
    """Compare head with base.

    FILE is CSV with the columns benchmark, side (base or head), block (a pair measured next to each other; may be
    blank) and value; - is standard input. With --stored, BASE and HEAD are each a commit (its first 7 digits or more),
    a branch or a device class of which the service has results: the newest of each series, without a verdict. The exit
    status is 0 whatever was found, 65 for bad input: every bad row is listed by its line, or there is no such commit.
    """
    refuse_two_outputs(as_json, as_csv)
    _refuse_mixture(sides, stored, (project, base_device, head_device))
    if not stored:
        _compare_file(sides[0], as_json, as_csv, minimum_effect, tolerance, better)
        return 0
    from app.commands.stored_comparison import compare_stored

    named = {"base_device_class": base_device, "head_device_class": head_device}
    devices = {name: device for name, device in named.items() if device}
    base, head = sides
    compare_stored(base, head, project, devices, as_json=as_json, as_csv=as_csv)
    return 0


def _refuse_mixture(sides: tuple[str, ...], stored: bool, of_stored: tuple[str | None, ...]) -> None:
    if len(sides) != (2 if stored else 1):
        wanted = "--stored takes two: BASE and HEAD" if stored else "name one FILE, or --stored BASE HEAD"
        raise UsageError(f"{wanted}; given: {' '.join(sides) or 'nothing'}")
    if not stored and any(of_stored):
        raise UsageError("--project, --base-device and --head-device go with --stored")


def _compare_file(
    file: str,
    as_json: bool,
    as_csv: bool,
    minimum_effect: float,
    tolerance: float | None,
    better: Better,
) -> None:
    if tolerance is None:
        tolerance = max(TOLERANCE, 2 * minimum_effect)
    _refuse_limits(minimum_effect, tolerance)
    one_thread_a_process()
    begun = time.perf_counter()
    benchmarks = _read(file)
    from app.analysis import comparison

    compared = comparison.compare(
        benchmarks, better=better, minimum_effect=minimum_effect, tolerance=tolerance
    )
    if as_json:
        print_pieces([_json(compared)])
    elif as_csv:
        print_pieces([_csv(compared)])
    elif compared:
        from app.reports.comparison_table import ComparisonRule, render_comparisons

        rule = ComparisonRule(better, minimum_effect, tolerance)
        seconds = time.perf_counter() - begun
        table = render_comparisons(compared, rule, seconds=seconds, width=table_width(), color=use_color())
        print_pieces([table])


def _refuse_limits(minimum_effect: float, tolerance: float) -> None:
    if tolerance <= minimum_effect:
        raise UsageError(
            f"--tolerance ({100 * tolerance:g}%) must be above --minimum-effect ({100 * minimum_effect:g}%): "
            "raise the one or lower the other",
            code="limits",
        )


def _read(file: str) -> list[BenchmarkValues]:
    from app.analysis.comparison.results import BenchmarkValues
    from app.formats.comparison_csv import read_comparison

    with without_garbage_collection():
        sides = read_comparison(read_bytes(file), shown_name(file))
        return [BenchmarkValues(name, tuple(both.base), tuple(both.head)) for name, both in sides.items()]


def _json(compared: Sequence[Comparison]) -> str:
    from app.reports.comparison_documents import comparison_document
    from app.reports.documents import json_line

    return "".join(json_line(comparison_document(one)) for one in compared)


def _csv(compared: Sequence[Comparison]) -> str:
    from app.reports.comparison_documents import CSV_HEADER, comparison_row
    from app.reports.documents import csv_line

    return csv_line(CSV_HEADER) + "".join(csv_line(comparison_row(one)) for one in compared)
