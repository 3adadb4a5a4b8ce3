"""What PostgreSQL answers to the dashboards, asked as Grafana asks, by the user that an operator makes for it."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from sqlalchemy import Connection
from sqlalchemy.exc import ProgrammingError

from app.wiring import Service
from tests.factories import grafana
from tests.factories.grafana import POSTGRES, Query, Times
from tests.factories.histories import PROJECT, Poster, sha
from tests.integration.dashboards.conftest import (
    BANDWIDTH,
    EFFICIENT,
    JOULES,
    MFU,
    ODD,
    PER_JOULE,
    WASTED_S,
    WORSE_FROM,
)

pytestmark = pytest.mark.postgres

TIMES = timedelta(days=90)
Row = dict[str, Any]


@dataclass
class Grafana:
    """Somebody who looks at dashboards over PostgreSQL."""

    connection: Connection

    def rows(self, statement: str) -> list[Row]:
        """Send a statement as it is, and return the rows."""
        return [dict(row._mapping) for row in self.connection.exec_driver_sql(statement.replace("%", "%%"))]

    def chosen(self, uid: str, **other: str | list[str]) -> dict[str, str | list[str]]:
        """Return what is chosen when a dashboard is opened: all, or the first, and `other` where that is said."""
        chosen: dict[str, str | list[str]] = {
            "ratchet": "http://localhost:8440",
            "postgres": "ratchet-postgres",
        }
        for variable in grafana.variables(uid, POSTGRES):
            name, query = variable["name"], variable["query"]
            found = self.rows(grafana.filled_in(query, chosen, "sql"))
            values = [str(row.get("__value", next(iter(row.values())))) for row in found]
            chosen[name] = other.get(name, values if variable["multi"] else (values or [""])[0])
        return chosen

    def answers(self, query: Query, since: timedelta = TIMES, **other: str | list[str]) -> list[Row]:
        """Return what one query tells, with everything chosen."""
        return self.rows(grafana.sql(query, self.chosen(query.board, **other), Times.last(since)))

    def panel(self, uid: str, title: str, *, ref: str = "A", **other: Any) -> list[Row]:
        """Return what a panel's query tells."""
        (query,) = [
            query
            for query in grafana.queries(POSTGRES)
            if (query.board, query.owner, query.raw["refId"]) == (uid, title, ref)
        ]
        return self.answers(query, **other)


@pytest.fixture
def looking(asked: Connection) -> Grafana:
    return Grafana(asked)


@pytest.fixture
def resize(looking: Grafana, filled: Poster) -> Callable[..., list[Row]]:
    """Ask a panel about the series `resize`."""
    return lambda title, **more: looking.panel("ratchet-series", title, series=str(filled.series), **more)


def problem(query: Query, found: list[Row]) -> str | None:
    """Say what a panel could not show of these rows."""
    if not found:
        return "nothing"
    columns = list(found[0])
    if query.owner in ("Confirmed change", "Suspected change"):
        return None if columns == ["time", "text", "tags"] and _is_time(found[0]["time"]) else "no marks"
    if query.raw["refId"] == "unit":
        return None if columns == ["unit"] and isinstance(found[0]["unit"], str) else "no unit"
    if query.raw["format"] == "time_series":
        return _not_lines(columns, found)
    panel = grafana.panel_of(query.board, query.owner)
    missing = [name for name in grafana.overridden(panel) if name not in columns]
    if missing:
        return f"no column {missing}"
    if panel["type"] in ("stat", "trend"):
        numbers = [value for value in found[0].values() if isinstance(value, int | float | Decimal)]
        return None if len(numbers) == len(columns) else "no number"
    return None


def _not_lines(columns: list[str], found: list[Row]) -> str | None:
    times = [row["time"] for row in found]
    if columns[0] != "time" or not all(map(_is_time, times)) or times != sorted(times):
        return "no times in their order"
    values = [row[name] for row in found for name in columns[1:] if name != "metric"]
    if not all(isinstance(value, int | float | Decimal) for value in values):
        return "not all are numbers"
    names = {row["metric"] for row in found if "metric" in columns}
    return None if all(isinstance(name, str) and name for name in names) else "a line without a name"


def _is_time(value: object) -> bool:
    return isinstance(value, datetime) and value.tzinfo is not None


def test_every_query_of_every_panel_and_mark_tells_what_its_panel_shows(
    looking: Grafana, filled: Poster
) -> None:
    asked = list(grafana.queries(POSTGRES))
    assert len(asked) > 30
    suspected = str(filled.series + 1)
    wrong = {}
    for query in asked:
        series = suspected if query.owner == "Suspected change" else str(filled.series)
        said = problem(query, looking.answers(query, series=series))
        if said:
            wrong[query.name] = said
    assert wrong == {}


@pytest.mark.parametrize("uid", ["ratchet-series", "ratchet-efficiency"])
def test_every_variable_has_choices_and_each_is_one_of_what_was_stored(
    looking: Grafana, filled: Poster, uid: str
) -> None:
    chosen = looking.chosen(uid)
    assert [name for name, value in chosen.items() if not value] == []
    assert chosen["project"] == [PROJECT, ODD]
    assert {"resize", "crop", "train", "it's"} <= set(chosen["benchmark"])
    if uid == "ratchet-efficiency":
        assert chosen["suite"] == ["inference"]
    else:
        assert chosen["branch"] == "main"


@pytest.mark.parametrize("uid", ["ratchet-series", "ratchet-efficiency"])
def test_empty_database_is_no_error(looking: Grafana, service: Service, uid: str) -> None:
    for query in grafana.queries(POSTGRES):
        if query.board == uid:
            looking.answers(query)


def test_a_name_with_a_quote_is_only_a_name(looking: Grafana, filled: Poster) -> None:
    noise = looking.panel("ratchet-series", "Noise by benchmark", project=[ODD])
    assert noise == [], "one point tells of no noise"
    series = looking.chosen("ratchet-series", project=[ODD])["series"]
    points = looking.panel("ratchet-series", "Newest points", project=[ODD], series=series)
    assert [(row["Project"], row["Median"], row["Values"]) for row in points] == [(ODD, 0.0015, 2)]
    fair = looking.panel("ratchet-series", "Confirmed changes", project=["x'); drop table project; --"])
    assert fair == []


def test_user_of_grafana_may_read_the_views_and_nothing_else(looking: Grafana, filled: Poster) -> None:
    with pytest.raises(ProgrammingError, match="permission denied"):
        looking.rows("select * from public.series")


def test_band_is_the_median_and_range_of_each_point_at_its_commits_time(
    resize: Callable[..., list[Row]], filled: Poster
) -> None:
    over_time = resize("Over time")
    assert len(over_time) == 40
    first = over_time[0]
    assert (first["low"], first["median"], first["high"]) == (0.009, 0.010, 0.012)
    assert datetime.now(UTC) - first["time"] == pytest.approx(timedelta(days=60), abs=timedelta(minutes=5))
    in_order = resize("Over commits")
    assert [row["place"] for row in in_order] == list(range(-39, 1))
    assert in_order[0]["median"] == 0.010
    assert resize("Over time", ref="unit") == [{"unit": "s"}]
    assert resize("Newest value") == [{"value": in_order[-1]["median"]}]


def test_narrow_time_range_leaves_out_what_is_older_and_the_order_of_commits_does_not(
    resize: Callable[..., list[Row]],
) -> None:
    assert len(resize("Over time", since=timedelta(days=1))) == 39
    assert len(resize("Over commits", since=timedelta(days=1))) == 40


def test_noise_is_half_the_middle_half_over_the_median(resize: Callable[..., list[Row]]) -> None:
    values = [row["median"] for row in resize("Over commits")]
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    (noise,) = resize("Noise")
    assert noise["noise"] == pytest.approx((high - low) / 2 / middle)
    (row,) = [row for row in resize("Noise by benchmark") if row["Benchmark"] == "resize"]
    assert (row["Points"], row["Noise"]) == (40, pytest.approx(noise["noise"]))


def test_confirmed_change_has_its_size_commit_and_series_and_its_mark(
    resize: Callable[..., list[Row]], filled: Poster
) -> None:
    (change,) = resize("Confirmed changes")
    assert change["Change"] == pytest.approx(0.1, abs=0.02)
    assert change["From"] < change["Change"] < change["To"]
    assert (change["Commit"], change["Series"]) == (sha(WORSE_FROM), filled.series)
    assert (change["Way"], change["Cause"], change["Alert"]) == ("worse", "code", 1)
    (mark,) = resize("Confirmed change", ref="marks")
    assert mark["text"].startswith(f"+{round(change['Change'] * 100, 1)} % at {sha(WORSE_FROM)[:10]}")
    assert mark["tags"] == "confirmed,worse"
    assert resize("Worse, and not accepted") == [{"worse": 1}]
    by_day = resize("Confirmed changes a day")
    assert (sum(row["worse"] for row in by_day), sum(row["better"] for row in by_day)) == (1, 0)
    assert len(by_day) in (91, 92), "each day of the time range is told, also without a change"


def test_checks_are_counted_on_the_day_on_which_they_were_asked_for(looking: Grafana, filled: Poster) -> None:
    days = looking.panel("ratchet-series", "Checks a day, by conclusion")
    names = ("passed", "regressed", "inconclusive", "not_measured", "open")
    assert {name: sum(row[name] for row in days) for name in names} == {
        "passed": 1,
        "regressed": 1,
        "inconclusive": 1,
        "not_measured": 1,
        "open": 1,
    }
    at = datetime.now(UTC) - timedelta(hours=30)
    (that_day,) = [row for row in days if row["time"].date() == at.astimezone(row["time"].tzinfo).date()]
    assert (that_day["passed"], that_day["regressed"]) == (1, 1)
    (share,) = looking.panel("ratchet-series", "Without an answer")
    assert share["share"] == 0.5
    (age,) = looking.panel("ratchet-series", "Open for the longest")
    assert age["age"] == pytest.approx(2400, abs=60)
    took = looking.panel("ratchet-series", "From the question to the conclusion")
    assert {(row["median"], row["p95"]) for row in took} == {(540, 540)}, "each took nine minutes"


def test_open_alerts_are_told_by_state_and_one_by_one(looking: Grafana, filled: Poster) -> None:
    (state,) = looking.panel("ratchet-series", "Open alerts by state")
    assert (state["State"], state["Alerts"]) == ("new", 1)
    assert 0 <= state["Oldest"] < 60
    (alert,) = looking.panel("ratchet-series", "Open alerts")
    assert (alert["Alert"], alert["Project"], alert["Commit"], alert["Changes"]) == (
        1,
        PROJECT,
        sha(WORSE_FROM),
        1,
    )
    assert alert["Owner"] is None


def test_newest_efficiency_is_told_by_benchmark_and_device_class(looking: Grafana, filled: Poster) -> None:
    (now,) = looking.panel("ratchet-efficiency", "Now, by benchmark and device class")
    assert (now["Benchmark"], now["Device class"]) == ("train", "cpu-test-2t")
    assert (now["MFU"], now["HFU"], now["Bandwidth"]) == (MFU[-1], None, BANDWIDTH[-1])
    assert (now["Energy per iteration"], now["Work per joule"]) == (JOULES[-1], PER_JOULE[-1])
    assert now["Unit of work"] == "samples/J"


def test_lines_of_efficiency_are_named_by_benchmark_and_device_class(
    looking: Grafana, filled: Poster
) -> None:
    mfu = looking.panel("ratchet-efficiency", "Model FLOP utilisation")
    assert [row["value"] for row in mfu] == list(MFU)
    assert {row["metric"] for row in mfu} == {'train {"batch": 32} · cpu-test-2t'}
    joule = looking.panel("ratchet-efficiency", "Work per joule")
    assert {row["metric"] for row in joule} == {'train {"batch": 32} · cpu-test-2t · samples/J'}


def test_best_is_the_highest_or_the_lowest_as_the_metric_wants_it(looking: Grafana, filled: Poster) -> None:
    rows = {row["Metric"]: row for row in looking.panel("ratchet-efficiency", "Best ever against now")}
    told = {name: (row["Best"], row["Now"], row["Of the best"]) for name, row in rows.items()}
    assert told == {
        "mfu": (0.50, 0.45, pytest.approx(0.9)),
        "bandwidth_util": (0.60, 0.55, pytest.approx(0.55 / 0.60)),
        "energy_per_iter": (10.0, 15.0, pytest.approx(10 / 15)),
        "perf_per_watt": (6.0, 3.0, pytest.approx(0.5)),
    }
    assert [row["Best at"] for row in rows.values()].count(sha(EFFICIENT + 1)) == 3
    assert next(iter(rows)) == "perf_per_watt", "the furthest from its best comes first"


def test_device_hours_are_those_of_runs_and_say_what_came_to_nothing(
    looking: Grafana, filled: Poster
) -> None:
    runs = looking.rows("select outcome, device_s from ratchet_views.runs")
    spent = sum(row["device_s"] for row in runs)
    wasted = sum(row["device_s"] for row in runs if row["outcome"] not in ("ok", None))
    assert spent > wasted == WASTED_S
    (every,) = looking.panel("ratchet-efficiency", "Device time of all runs")
    assert every["hours"] == pytest.approx(spent / 3600)
    (share,) = looking.panel("ratchet-efficiency", "Device time that gave nothing")
    assert share["share"] == pytest.approx(wasted / spent)
    (row,) = looking.panel("ratchet-efficiency", "Device hours by project and suite")
    assert (row["Project"], row["Suite"], row["Runs"]) == (PROJECT, "inference", len(runs))
    assert (row["Hours"], row["Hours for nothing"]) == (
        pytest.approx(spent / 3600),
        pytest.approx(wasted / 3600),
    )
    by_day = looking.panel("ratchet-efficiency", "Device hours a day by project")
    assert sum(day["hours"] for day in by_day) == pytest.approx(spent / 3600)
    assert {day["metric"] for day in by_day} == {PROJECT}
