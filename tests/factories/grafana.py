"""The checked-in dashboards as Grafana reads them: their panels and queries, and how it fills in variables and macros.

What is filled in follows Grafana 11: the pattern of variables and formats (`templateSrv`), of PostgreSQL's macros (a
regular expression, so that an argument ends at the first closing bracket), and how Prometheus' choices of several
values become a regular expression.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from typing import Any

VARIABLE = re.compile(r"\$(\w+)|\[\[(\w+?)(?::(\w+))?\]\]|\$\{(\w+)(?:\.[^:^}]+)?(?::([^}]+))?\}")
MACRO = re.compile(r"\$__(\w+)\(([^)]*)\)")
BUILT = files("dashboards.grafana") / "built"
POSTGRES, PROMETHEUS = "grafana-postgresql-datasource", "prometheus"

Chosen = Mapping[str, str | list[str]]
"""What is chosen of each variable: one value, or several."""


@dataclass(frozen=True)
class Query:
    """One query of a panel, an annotation or a variable, as Grafana keeps it."""

    board: str
    owner: str
    raw: dict[str, Any]

    @property
    def name(self) -> str:
        """Where it is, for people."""
        return f"{self.board} / {self.owner} / {self.raw.get('refId')}"

    @property
    def is_sql(self) -> bool:
        """Whether PostgreSQL is asked."""
        return self.raw["datasource"]["type"] == POSTGRES

    @property
    def text(self) -> str:
        """What is asked."""
        return str(self.raw["rawSql"] if self.is_sql else self.raw["expr"])


def boards() -> dict[str, dict[str, Any]]:
    """Return the checked-in dashboards by uid."""
    found = [json.loads(path.read_text(encoding="utf-8")) for path in BUILT.iterdir()]
    return {board["uid"]: board for board in sorted(found, key=lambda board: board["uid"])}


def panels(board: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a dashboard's panels without its rows."""
    return [panel for panel in board["panels"] if panel["type"] != "row"]


def panel_of(uid: str, title: str) -> dict[str, Any]:
    """Return the panel with this title."""
    (found,) = [panel for panel in panels(boards()[uid]) if panel["title"] == title]
    return found


def queries(kind: str) -> Iterator[Query]:
    """Return every query of panels and annotations that asks this kind of data source."""
    for uid, board in boards().items():
        for panel in panels(board):
            yield from (_ for _ in _asked(uid, panel["title"], panel["targets"], kind))
        for annotation in board["annotations"].get("list", []):
            yield from (_ for _ in _asked(uid, annotation["name"], [annotation["target"]], kind))


def _asked(uid: str, owner: str, targets: list[dict[str, Any]], kind: str) -> Iterator[Query]:
    for target in targets:
        if target["datasource"]["type"] == kind:
            yield Query(uid, owner, target)


def variables(uid: str, kind: str) -> list[dict[str, Any]]:
    """Return a dashboard's variables whose values this kind of data source tells, in their order."""
    every = boards()[uid]["templating"]["list"]
    return [one for one in every if one["type"] == "query" and one["datasource"]["type"] == kind]


def filled_in(text: str, chosen: Chosen, form: str) -> str:
    """Return the text with what is chosen in the place of variables; `form` is that of those that name none.

    Raises KeyError for a variable that the dashboard does not have. What begins with `__` is another's.
    """

    def value(match: re.Match[str]) -> str:
        name = match[1] or match[2] or match[4]
        if name.startswith("__"):
            return match[0]
        return FORMS[match[3] or match[5] or form](chosen[name])

    return VARIABLE.sub(value, text)


def _as_strings(value: str | list[str]) -> str:
    quoted = ["'" + one.replace("'", "''") + "'" for one in ([value] if isinstance(value, str) else value)]
    return ",".join(quoted)


def _as_regex(value: str | list[str]) -> str:
    if isinstance(value, str):
        return value
    escaped = [re.sub(r"([\\^$.*+?()\[\]{}|/])", r"\\\\\1", one) for one in value]
    return escaped[0] if len(escaped) == 1 else f"({'|'.join(escaped)})"


def _refused(value: str | list[str]) -> str:
    raise AssertionError("a variable in SQL without a format is a hole")


FORMS = {"sqlstring": _as_strings, "regex": _as_regex, "sql": _refused}


@dataclass(frozen=True)
class Times:
    """The time range of a dashboard, and how wide a pixel of its panels is."""

    start: datetime
    end: datetime
    interval: timedelta = timedelta(seconds=60)
    scraped_every: timedelta = timedelta(seconds=15)

    @classmethod
    def last(cls, since: timedelta) -> Times:
        """Return the range that ends now, with the seconds that statements take."""
        now = datetime.now(UTC)
        return cls(now - since, now + timedelta(seconds=5))

    def in_sql(self, text: str) -> str:
        """Return SQL without Grafana's macros."""

        def made(match: re.Match[str]) -> str:
            start, end = (
                f"'{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%fZ}'" for moment in (self.start, self.end)
            )
            name, argument = match[1], match[2].strip()
            return {
                "timeFilter": f"{argument} BETWEEN {start} AND {end}",
                "timeFrom": start,
                "timeTo": end,
            }[name]

        return MACRO.sub(made, text)

    def in_promql(self, text: str) -> str:
        """Return PromQL without Grafana's windows; that of rates is four scrapes at least."""
        rate = max(self.interval + self.scraped_every, 4 * self.scraped_every)
        windows = {
            "$__rate_interval": rate,
            "$__interval": self.interval,
            "$__range": self.end - self.start,
        }
        for name, window in windows.items():
            text = text.replace(name, f"{window.total_seconds():.0f}s")
        return text


def sql(query: Query, chosen: Chosen, times: Times) -> str:
    """Return the statement that Grafana would send."""
    made = times.in_sql(filled_in(query.text, chosen, "sql"))
    assert "$" not in made, made
    return made


def promql(query: Query, chosen: Chosen, times: Times) -> str:
    """Return the expression that Grafana would send."""
    made = times.in_promql(filled_in(query.text, chosen, "regex"))
    assert "$" not in made, made
    return made


def overridden(panel: dict[str, Any]) -> list[str]:
    """Return the names of columns that a panel's overrides are for."""
    return [
        override["matcher"]["options"]
        for override in panel["fieldConfig"]["overrides"]
        if override["matcher"]["id"] == "byName"
    ]
