"""Alerts for a terminal and for a spreadsheet, as `GET /api/v1/alerts` has them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from app.domain.alerts import AlertEvent
from app.domain.units import format_quantity
from app.reports import quantities
from app.reports.alert_words import (
    ALERTS,
    NOTHING_LEFT,
    change_name,
    check_title_sentence,
    deed_words,
    extent,
    worst_sentence,
)
from app.reports.grid import LEAST_WIDTH, Column, Paint, column, fitted, joined, styles_of
from app.reports.text import plain

CSV_HEADER = (
    "alert", "project", "branch", "state", "owner", "opened_at", "commit", "previous", "pull_request", "series",
    "benchmark", "params", "metric", "unit", "device_class", "before", "after", "change", "ci_low", "ci_high", "stands",
    "check", "check_title",
)  # fmt: skip

_SHA, _INDENT = 10, "  "

Alert = dict[str, Any]


def alert_rows(alert: Alert) -> Iterator[Sequence[object]]:
    """Yield an alert's changes and checks as rows under CSV_HEADER; values are in the series' unit."""
    its = [
        *(alert[name] for name in ("id", "project", "branch", "state", "owner", "opened_at")),
        alert["commit"]["sha"], alert["previous"], alert["pull_request"],
    ]  # fmt: skip
    for change in alert["changes"]:
        params = ", ".join(f"{name}={value}" for name, value in change["params"].items())
        names = ("metric", "unit", "device_class", "before", "after", "change", "ci_low", "ci_high", "stands")
        yield [*its, change["series"], change["benchmark"], params, *(change[name] for name in names), "", ""]
    for check in alert["checks"]:
        yield [*its, *[""] * 12, check["id"], check["title"]]


def render_alerts(alerts: Sequence[Alert], *, width: int | None, color: bool) -> str:
    """Return the table of some alerts, at least one, as text that ends in a newline.

    Args:
        alerts: the alerts.
        width: columns of the terminal, below 40 counts as 40; None where no terminal limits a line.
        color: whether to use ANSI colours.
    """
    paint = Paint(color)
    table = fitted(
        [
            column("alert", (str(alert["id"]) for alert in alerts), right=True),
            column("state", (ALERTS[alert["state"]].name for alert in alerts)),
            column("what", (sentence(alert) for alert in alerts)),
            column("commit", (alert["commit"]["sha"][:_SHA] for alert in alerts)),
            column("owner", (plain(alert["owner"] or "") for alert in alerts), expendable=2),
            column("project", (plain(alert["project"]) for alert in alerts), expendable=1),
            column("opened", (_when(alert["opened_at"]) for alert in alerts), expendable=3),
        ],
        _room(width),
        named=2,
    )
    lines = [paint(joined(table, None), "faint")]
    lines += [paint(joined(table, row), *_style(alert)) for row, alert in enumerate(alerts)]
    return "\n".join(lines) + "\n"


def render_alert(alert: Alert, *, width: int | None, color: bool) -> str:
    """Return all that is known of one alert, as text that ends in a newline; arguments as `render_alerts`."""
    paint, commit = Paint(color), alert["commit"]
    lines = [
        f"{paint(sentence(alert), 'bold')}  {paint(ALERTS[alert['state']].name, *_style(alert))}",
        f"{extent(alert['n_changes'], alert['n_checks'])} · {plain(alert['project'])} on {plain(alert['branch'])}"
        f" · {plain(alert['owner'] or '') or 'nobody has it'} · opened {_when(alert['opened_at'])}",
        f"came with {commit['sha'][:_SHA]} {plain(commit['subject'])}, after {alert['previous'][:_SHA]}",
    ]
    if alert["pull_request"]:
        lines.append(f"pull request {alert['pull_request_url'] or alert['pull_request']}")
    if alert["changes"]:
        table = fitted(_change_columns(alert["changes"]), _room(width, len(_INDENT)), named=0)
        lines += ["", *(f"{_INDENT}{joined(table, row)}" for row in range(len(alert["changes"])))]
    if alert["checks"]:
        lines += ["", *(f"{_INDENT}check {its['id']}  {plain(its['title'])}" for its in alert["checks"])]
    names = {its["id"]: _name(its) for its in alert["changes"]}
    lines += ["", *(f"{_INDENT}{_deed(deed, names)}" for deed in alert["history"])]
    return "\n".join(lines) + "\n"


def sentence(alert: Alert) -> str:
    """Return what became worse: the largest of its changes, else what its newest check says."""
    standing = [change for change in alert["changes"] if change["stands"]]
    if standing:
        worst = standing[0]
        its = (worst["benchmark"], worst["params"], worst["metric"], worst["change"])
        return worst_sentence(*its, alert["n_changes"] - 1)
    return check_title_sentence(alert["checks"][0]["title"]) if alert["checks"] else NOTHING_LEFT


def _change_columns(changes: Sequence[dict[str, Any]]) -> list[Column]:
    return [
        column("", map(_name, changes)),
        column("", (quantities.change(c["change"]) for c in changes), right=True),
        column(
            "",
            ("" if c["ci_low"] is None else quantities.interval(c["ci_low"], c["ci_high"]) for c in changes),
            expendable=1,
        ),
        column("", (format_quantity(c["after"], c["unit"]) for c in changes), right=True, expendable=2),
        column("", (plain(c["device_class"]) for c in changes), expendable=3),
        column("", ("" if c["stands"] else "taken back" for c in changes)),
    ]


def _name(change: dict[str, Any]) -> str:
    return change_name(change["benchmark"], change["params"], change["metric"])


def _deed(deed: dict[str, Any], names: dict[int, str]) -> str:
    said = plain(deed.get("comment") or "")
    words = f"{_when(deed['at'])}  {plain(deed['by'])} {deed_words(AlertEvent(deed['what']), deed, names)}"
    return f"{words}: {said}" if said else words


def _room(width: int | None, less: int = 0) -> int | None:
    return None if width is None else max(width, LEAST_WIDTH) - less


def _when(time: str) -> str:
    return quantities.moment(datetime.fromisoformat(time)).removesuffix(" UTC")


def _style(alert: Alert) -> tuple[str, ...]:
    return styles_of(ALERTS[alert["state"]].tone)
