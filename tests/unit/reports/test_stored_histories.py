"""Stored histories on a terminal: series can be told apart however little room there is."""

from __future__ import annotations

from typing import Any

import pytest

from app.reports.series_table import LEAST_SPARKS, MOST_SPARKS
from app.reports.sparkline import BLOCKS
from app.reports.stored_histories import render_trends

LONG = "suite.TimeArithmetic.time_multiply_large_matrices"
WIDTHS = [40, 60, 80, 120, 160, None]


def trend(benchmark: str, /, *, n: int = 60, **fields: Any) -> dict[str, Any]:
    series = {
        "project": "acme/vision", "benchmark": benchmark, "params": {}, "metric": "latency_p50", "unit": "s",
        "device_class": "cpu-test-2t",
    }  # fmt: skip
    points = {
        "row": list(range(n)),
        "value": [0.01 + 0.0001 * (i % 7) for i in range(n)],
        "subject": ["s"] * n,
    }
    return {
        "series": series | fields,
        "points": points,
        "changes": [],
        "epochs": [],
        "failed": [],
        "budget": None,
    }


def shown(*trends: dict[str, Any], width: int | None) -> list[str]:
    lines = render_trends(trends, width=width, color=False).splitlines()
    assert width is None or max(map(len, lines)) <= width
    return lines


def sparks(line: str) -> int:
    return sum(char in BLOCKS for char in line)


@pytest.mark.parametrize("width", WIDTHS)
def test_parameters_that_differ_are_whole_at_any_width(width: int | None) -> None:
    every = [{"n": n, "dtype": dtype} for n in (10, 100) for dtype in ("float32", "float64")]
    text = "\n".join(shown(*(trend(LONG, params=params) for params in every), width=width))
    for params in every:
        assert text.count(f"n={params['n']}, dtype={params['dtype']}") == 1


@pytest.mark.parametrize("width", WIDTHS)
def test_series_that_differ_in_their_device_alone_can_be_told_apart(width: int | None) -> None:
    classes = ["nvidia-h100-sxm5-80gb", "nvidia-l4-24gb"]
    text = "\n".join(shown(*(trend(LONG, device_class=name) for name in classes), width=width))
    assert [text.count(name) for name in classes] == [1, 1]


@pytest.mark.parametrize("width", WIDTHS)
def test_series_that_differ_in_their_project_alone_can_be_told_apart(width: int | None) -> None:
    text = "\n".join(shown(trend("resize"), trend("resize", project="acme/live"), width=width))
    assert [text.count(name) for name in ("vision", "live")] == [1, 1]


def test_sparkline_gives_way_to_names() -> None:
    assert sparks(shown(trend("resize"), width=120)[1]) == MOST_SPARKS
    heading, line = shown(trend("resize_images_of_all_sizes"), width=80)
    assert heading.split() == ["series", "device", "n", "history", "newest"]
    assert line.startswith("resize_images_of_all_sizes latency_p50  cpu-test-2t  60  ")
    assert LEAST_SPARKS <= sparks(line) < MOST_SPARKS


def test_what_all_names_have_in_common_is_said_once_where_they_do_not_fit() -> None:
    common, _, *lines = shown(trend(LONG, params={"n": 10}), trend(LONG, params={"n": 100}), width=80)
    assert common == f"{LONG}[…] latency_p50"
    assert [line.split()[0] for line in lines] == ["…n=10…", "…n=100…"]


def test_name_that_has_no_room_stands_above_its_line() -> None:
    heading, name, line = shown(trend(LONG, params={"n": 10}), width=80)
    assert heading.split() == ["device", "n", "history", "newest"]
    assert name == f"{LONG}[n=10] latency_p50"
    assert line.startswith("  cpu-test-2t  60  ")


def test_series_without_a_point_has_a_line() -> None:
    assert shown(trend("resize", n=0), width=40)[1].startswith("resize latency_p50")
