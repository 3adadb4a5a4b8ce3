"""The values behind a result as a picture: in time order, and beside that how they are spread."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.services.read_samples import ArmSample, SampledSeries
from app.web.sample_picture import COLUMNS, HEIGHT, WIDTH, sample_picture


def arm(values: list[float], void: frozenset[int] = frozenset(), name: str = "head") -> ArmSample:
    n, shown = len(values) - len(void), values or [1.0]
    return ArmSample(name, "a" * 40, tuple(values), void, (), shown[0], min(shown), max(shown), n)


def series(*arms: ArmSample, unit: str = "s") -> SampledSeries:
    return SampledSeries(1, "resize", "latency_p50", unit, "lower", "cpu", "", arms)


def drawn(*arms: ArmSample) -> list[tuple[str, str]]:
    return [
        (path.get("class", ""), path.get("d", ""))
        for path in ElementTree.fromstring(sample_picture(series(*arms))).iter("path")
    ]


def test_one_value_has_no_picture() -> None:
    assert sample_picture(series()) == sample_picture(series(arm([1.0]))) == ""


def test_values_that_are_no_longer_kept_have_no_picture() -> None:
    assert sample_picture(series(arm([]), arm([], name="base"))) == ""


def test_both_arms_are_drawn_in_time_order_and_as_distributions() -> None:
    kinds = [kind for kind, _ in drawn(arm([1.0, 2.0, 3.0], name="base"), arm([2.0, 3.0, 2.5]))]
    assert kinds == ["frame", "dots base", "dots head", "bars base", "level base", "bars head", "level head"]


def test_values_that_do_not_count_are_marked_and_not_in_the_distribution() -> None:
    its = arm([1.0, 9.0, 1.1, 1.2], frozenset({1}))
    kinds = {kind: d.count("M") for kind, d in drawn(its)}
    assert (kinds["dots head"], kinds["dots head void"]) == (3, 1)
    assert its.spread == (1.0, pytest.approx(1.05), 1.1, pytest.approx(1.15), 1.2)


def test_a_million_values_are_as_many_dots_as_can_be_seen() -> None:
    (dots,) = [d for kind, d in drawn(arm([1.0 + i % 97 for i in range(100_000)])) if kind == "dots head"]
    assert dots.count("M") <= 6 * COLUMNS


def test_it_is_told_in_words_too() -> None:
    label = ElementTree.fromstring(sample_picture(series(arm([0.001, 0.002, 0.003])))).get("aria-label")
    assert label == (
        "head: 3 values in time order and their distribution, half of them from 1.5 ms to 2.5 ms"
    )


@given(st.lists(st.floats(-1e12, 1e12), min_size=2, max_size=40))
def test_everything_stays_inside_of_the_picture(values: list[float]) -> None:
    for _, path in drawn(arm(values, name="base"), arm(values[::-1], frozenset({0}))):
        x, y = 0.0, 0.0
        for command, numbers in re.findall(r"([MHVh])([^MHVh]*)", path):
            told = [float(number) for number in numbers.split()]
            x = told[0] if command in "MH" else x + told[0] if command == "h" else x
            y = told[-1] if command in "MV" else y
            assert 0 <= x <= WIDTH
            assert 0 <= y <= HEIGHT
