"""Series as pictures: what is usual fills them, what is far out is at the edge, changes are marked."""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.units import format_quantity
from app.reports.fingerprints import FactChange
from app.services.read_marks import (
    ControlLine,
    FailedRun,
    TrendBudget,
    TrendEpoch,
    TrendMarks,
    VoidPoint,
)
from app.services.read_trend import Trend, TrendChange, TrendPoints
from app.store.tables import BenchmarkCase, Project, Series
from app.web.axis import Axis
from app.web.picture_scale import ladder, shown_range, with_limits
from app.web.spark_picture import HEIGHT, WIDTH, spark_picture
from app.web.ticks import share_labels, tick_labels
from app.web.trend_picture import trend_picture

FINITE = st.floats(allow_nan=False, allow_infinity=False)


def told(values: list[float]) -> TrendPoints:
    n = len(values)
    return TrendPoints(
        row=range(n),
        value=values,
        low=[value * 0.99 for value in values],
        high=[value * 1.01 for value in values],
        n=[7] * n,
        sha=[f"{row:040x}" for row in range(n)],
        subject=["subject"] * n,
        author=["Ada"] * n,
        time=["2026-11-01T00:00:00+00:00"] * n,
        run=["1"] * n,
        flags=[()] * n,
    )


def change(row: int, *, is_worse: bool | None = True, is_machine: bool = False) -> TrendChange:
    return TrendChange(
        row,
        "step",
        "confirmed",
        is_worse,
        0.1,
        0.09,
        0.11,
        1.0,
        1.1,
        is_machine,
        "a" * 40,
        "",
        "",
        "b" * 40,
        1,
    )


def trend(values: list[float], *changes: TrendChange, unit: str = "s", **marks: Any) -> Trend:
    points = told(values)
    series = Series(metric="latency_p50", unit=unit, better="lower", device_class="cpu")
    case = BenchmarkCase(benchmark="resize", params={})
    rows = range(len(points))
    return Trend(
        series,
        case,
        Project(name="acme"),
        "main",
        ("main",),
        len(points),
        rows,
        points,
        points,
        changes,
        marks=TrendMarks(**marks),
    )


def classes(picture: str) -> list[str]:
    return [path.get("class", "") for path in ElementTree.fromstring(picture).iter("path")]


def test_a_history_without_points_has_no_picture() -> None:
    assert trend_picture(trend([])) == ""
    assert spark_picture([], []) == spark_picture([1.0], []) == ""


@pytest.mark.parametrize(
    ("its", "tone"),
    [
        (change(5), "regressed"),
        (change(5, is_worse=False), "improved"),
        (change(5, is_worse=None), "open"),
        (change(5, is_machine=True), "open"),
    ],
)
def test_a_change_is_marked_by_what_it_means(its: TrendChange, tone: str) -> None:
    assert classes(trend_picture(trend([1.0] * 10, its)))[2] == f"mark {tone}"


def test_a_change_outside_of_what_is_shown_is_not_marked() -> None:
    drawn = classes(trend_picture(trend([1.0] * 10, change(40))))
    assert drawn == ["grid", "band", "line", "dots"]


EPOCH = TrendEpoch(5, "a" * 40, "", (FactChange("driver", "550", "<560>"),), is_back=False)
LOST = FailedRun(3, "b" * 40, "", "12", "head_fails", "failed: raised")


def test_what_could_explain_the_curve_is_marked_by_shapes_with_words() -> None:
    drawn = trend_picture(
        trend(
            [1.0 + 0.01 * (i % 3) for i in range(10)],
            epochs=(EPOCH,),
            void=(VoidPoint(2, 1, 12, ("ecc",)), VoidPoint(4, 2, 12, None)),
            failed=(LOST,),
            budget=TrendBudget("resize", 1.03, None),
            control=ControlLine([0, 5, 9], [0.0, 0.01, -0.01]),
        )
    )
    assert classes(drawn) == (
        ["grid", "budget", "rule", "head", "void", "", "band", "line", "dots", "grid", "control"]
    )
    root = ElementTree.fromstring(drawn)
    titles = [title.text for title in root.iter("title")]
    assert titles == [
        "Another machine: driver 550 → <560>",
        "bbbbbbbbbb: Fails on head: an invocation failed: raised",
    ]
    assert "budget: at most 1.03 s" in [text.text for text in root.iter("text")]
    ticks = next(path for path in root.iter("path") if path.get("class") == "void").get("d", "")
    assert ticks.count("M") == 2
    assert root.get("aria-label", "").endswith(
        "the machine changed 1 time, 1 run without a point, 2 points with void values, budget: at most 1.03 s"
    )


def test_a_picture_is_higher_only_where_the_control_is_drawn() -> None:
    def height(**marks: Any) -> float:
        return float(
            ElementTree.fromstring(trend_picture(trend([1.0] * 9, **marks))).get("viewBox", "").split()[3]
        )

    assert height() == height(epochs=(EPOCH,)) < height(control=ControlLine([1], [0.0]))


def test_marks_outside_of_what_is_shown_are_not_drawn_but_a_run_newer_than_all_points_is() -> None:
    far = TrendEpoch(40, "a" * 40, "", EPOCH.changes, is_back=False)
    lost = [FailedRun(row, "b" * 40, "", None, None, "infra") for row in (0, 10, 11)]
    drawn = trend_picture(trend([1.0] * 10, epochs=(far,), failed=tuple(lost)))
    assert classes(drawn) == ["grid", "", "band", "line", "dots"]


def test_a_budget_far_away_is_told_at_the_edge_and_leaves_the_values_their_room() -> None:
    values = [1.0 + 0.01 * (i % 3) for i in range(10)]
    drawn = trend_picture(trend(values, budget=TrendBudget("resize", 50.0, 0.001)))
    assert "budget" not in classes(drawn)
    told = [text.text for text in ElementTree.fromstring(drawn).iter("text")]
    assert {"budget: at most 50 s ↑", "budget: at least 1 ms ↓"} <= set(told)
    assert with_limits((1.0, 2.0), [2.5]) == (1.0, pytest.approx(2.56))
    assert with_limits((1.0, 2.0), [9.0]) == (1.0, 2.0)


def test_it_is_told_in_words_too() -> None:
    label = ElementTree.fromstring(trend_picture(trend([0.001, 0.003, 0.002]))).get("aria-label")
    assert label == "3 points from 1 ms to 3 ms, the newest 2 ms"


@given(st.lists(FINITE, min_size=2, max_size=60))
def test_everything_stays_inside_of_the_picture(values: list[float]) -> None:
    drawn = spark_picture(values, [1])
    (line,) = [path for path in ElementTree.fromstring(drawn).iter("path") if path.get("class") == "line"]
    places = [tuple(map(float, place.split())) for place in re.split("[ML]", line.get("d", ""))[1:]]
    assert len(places) == len(values)
    assert all(0 <= x <= WIDTH and 0 <= y <= HEIGHT for x, y in places)
    low, high = shown_range(values)
    assert low < high


@pytest.mark.parametrize("unit", ["s", "1", "widgets", "EUR/s"])
@given(st.lists(FINITE, min_size=1, max_size=5))
def test_whatever_is_stored_has_a_picture_with_labels_of_its_own_beside_each_tick(
    unit: str, values: list[float]
) -> None:
    root = ElementTree.fromstring(trend_picture(trend(values, unit=unit)))
    at_the_left = [
        text.text for text in root.iter("text") if text.get("class") == "end" and int(text.get("x", "")) < 300
    ]
    assert 2 <= len(at_the_left) == len(set(at_the_left))
    axis = Axis(values, unit, top=8, bottom=76)
    assert axis.labels.count("<text") == 3
    assert axis.left < 200


def test_values_that_differ_by_their_rounding_are_one_level_with_labels_apart() -> None:
    values = [0.3, 0.30000000000000004]
    low, high = shown_range(values)
    assert (high - low) / 0.3 == pytest.approx(2e-9, rel=1e-3)
    labels = tick_labels([low, 0.3, high], "s")
    assert labels == ["299.9999997 ms", "300.0000000 ms", "300.0000003 ms"]


def test_a_few_spikes_do_not_press_the_rest_together() -> None:
    low, high = shown_range([1.0 + 0.01 * (i % 7) for i in range(200)] + [50.0])
    assert (low, high) == (pytest.approx(0.99, abs=0.02), pytest.approx(1.12, abs=0.05))


def test_where_all_that_is_usual_is_one_value_the_others_are_shown() -> None:
    low, high = shown_range([0.0] * 200 + [0.05])
    assert (low, high) == (pytest.approx(-0.003), pytest.approx(0.053))


@pytest.mark.parametrize(
    ("unit", "value", "told_in"),
    [("tokens/s", 1.2e8, "M tokens/s"), ("B", 5.6e8, "MiB"), ("samples/s", 5_000.0, "k samples/s")],
)
def test_the_unit_of_a_picture_is_said_once_and_every_label_is_whole(
    unit: str, value: float, told_in: str
) -> None:
    control = ControlLine([0, 9], [0.0, 0.01])
    root = ElementTree.fromstring(
        trend_picture(trend([value] * 5 + [value * 1.1] * 5, unit=unit, control=control))
    )
    texts = [text for text in root.iter("text") if text.text]
    assert [text.text for text in texts].count(told_in) == 1
    at_the_left = [text for text in texts if text.get("class") == "end" and int(text.get("x", "")) < 200]
    assert len(at_the_left) >= 7
    for text in at_the_left:
        assert int(text.get("x", "")) - 9 * len(text.text or "") >= 0


def test_shares_are_labelled_in_percent() -> None:
    assert share_labels([0.31, 0.99]) == ["31 %", "99 %"]
    assert share_labels([0.400, 0.461]) == ["40.0 %", "46.1 %"]


def test_labels_of_an_axis_tell_neighbours_apart() -> None:
    assert tick_labels([0.00990, 0.00992, 0.00994], "s") == ["9.90 ms", "9.92 ms", "9.94 ms"]
    assert tick_labels([0.0, 25.0, 50.0], "1") == ["0", "25", "50"]
    assert tick_labels([-2048.0, 0.0, 2048.0], "B") == ["−2 KiB", "0 KiB", "2 KiB"]


@pytest.mark.parametrize("unit", ["s", "1", "B", "B/s", "tokens/s", "EUR/s", "widgets", "W"])
@pytest.mark.parametrize("value", [3.2e-7, 0.012, 0.99, 1.5, 123.4, 4_321.5, 5.1e6, 7.2e9])
def test_the_script_finds_the_unit_that_the_server_shows(unit: str, value: float) -> None:
    _, size, symbol = [rung for rung in ladder(unit) if rung[0] <= value][-1]
    told = format_quantity(value, unit)
    assert told.partition(" ")[2] == symbol
    assert float(told.partition(" ")[0]) == pytest.approx(value / size, rel=0.006)
