"""`ratchet compare --stored`: two sides of what a service has stored."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from app.commands.asking import service_to_ask
from app.commands.csv_commands import print_pieces, table_width, use_color
from app.domain.errors import UsageError
from app.integrations.service_client import ServiceClient


def compare_stored(
    base: str, head: str, project: str | None, devices: dict[str, str], *, as_json: bool, as_csv: bool
) -> None:
    """Ask the service for both sides and print them.

    Args:
        base: a commit by its first digits, a branch or a device class.
        head: the same.
        project: its name; None for the only one.
        devices: `base_device_class` and `head_device_class`, where they are wanted.
        as_json: whether to print JSON Lines, a series each.
        as_csv: whether to print CSV, a series a row.
    """
    service = service_to_ask()
    its_project = project or _only_project(service)
    document = service.compare(project=its_project, base=base, head=head, **devices)
    if as_json:
        print_pieces(_json(document))
    elif as_csv:
        print_pieces(_csv(document))
    else:
        from app.reports.stored_comparison import render_stored

        print_pieces([render_stored(document, width=table_width(), color=use_color())])


def _only_project(service: ServiceClient) -> str:
    names = [str(one["project"]) for one in service.projects()]
    if len(names) != 1:
        known = ", ".join(names[:10]) or "none"
        raise UsageError(f"name the project with --project; known: {known}{', …' * (len(names) > 10)}")
    return names[0]


def _json(document: dict[str, Any]) -> Iterator[str]:
    from app.reports.documents import json_line
    from app.reports.stored_comparison import pairs_of

    return map(json_line, pairs_of(document))


def _csv(document: dict[str, Any]) -> Iterator[str]:
    from app.reports.documents import csv_line
    from app.reports.stored_comparison import CSV_HEADER, pair_row, pairs_of

    yield csv_line(CSV_HEADER)
    for pair in pairs_of(document):
        yield csv_line(pair_row(pair))
