"""The end of a growing series, examined after each point, against the whole series examined at once."""

from __future__ import annotations

import numpy as np
import pytest

from app.analysis.detection import ChangePoint, examine
from app.analysis.detection.incremental import (
    ENOUGH,
    FEWEST,
    MARGIN,
    STRIDE,
    TAIL,
    begin_of_tail,
    examine_tail,
)

EFFECT = 0.005
NEAR = 2


def series(n: int, changes: dict[int, float], *, sd: float = 0.01, seed: int = 0) -> np.ndarray:
    """Return a log-normal series whose level is multiplied by 1 + share at each change."""
    y = np.random.default_rng(seed).normal(0.0, sd, n)
    for at, by in changes.items():
        y[at:] += np.log1p(by)
    return 10 * np.exp(y)


def grow(values: np.ndarray, first: int = FEWEST) -> dict[int, list[ChangePoint]]:
    """Return what is told after each point, the tail beginning where settled changes say."""
    settled: set[int] = set()
    told = {}
    for n in range(first, len(values) + 1):
        begin = begin_of_tail(n, settled)
        told[n] = list(examine_tail(values[begin:n], begin, minimum_effect=EFFECT).change_points)
        settled |= {point.index for point in told[n] if point.standing == "confirmed"}
    return told


@pytest.mark.parametrize("seed", range(3))
def test_point_by_point_and_at_once_agree_on_planted_changes(seed: int):
    planted = {150: 0.05, 330: -0.08, 420: 0.1}
    values = series(520, planted, seed=seed)
    confirmed: list[int] = []
    for points in grow(values, first=100).values():
        for point in points:
            if point.standing == "confirmed" and all(abs(point.index - known) > 5 for known in confirmed):
                confirmed.append(point.index)
    at_once = [p.index for p in examine(values, minimum_effect=EFFECT).change_points]
    assert len(confirmed) == len(at_once) == len(planted)
    assert np.abs(np.array(confirmed) - np.array(at_once)).max() <= NEAR
    assert np.abs(np.array(confirmed) - np.array(sorted(planted))).max() <= NEAR


def test_rows_count_from_the_beginning_of_the_whole_series():
    values = series(10_000, {9_950: 0.05})
    begin = begin_of_tail(len(values))
    (point,) = examine_tail(values[begin:], begin, minimum_effect=EFFECT).change_points
    assert abs(point.index - 9_950) <= NEAR
    assert point.start == point.end == point.index


@pytest.mark.parametrize("n", [0, 1, FEWEST - 1])
def test_too_short_a_series_tells_nothing(n: int):
    values = np.array([1.0, 9.0, 2.0] * 3)[:n]
    assert examine_tail(values).change_points == ()


@pytest.mark.parametrize(
    ("n", "settled", "wanted"),
    [
        (0, [], 0),
        (TAIL, [], 0),
        (TAIL + STRIDE - 1, [], 0),
        (TAIL + STRIDE, [], STRIDE),
        (10_000, [], 10_000 - TAIL),
        (150, [150 - ENOUGH], 150 - ENOUGH),
        (150, [151 - ENOUGH], 0),
        (150, [20, 30], 30),
    ],
)
def test_tail_begins_with_the_last_settled_change_or_at_a_multiple_of_the_stride(n, settled, wanted):
    assert begin_of_tail(n, settled) == wanted


def test_nothing_is_told_of_the_first_points_of_a_tail():
    values = series(TAIL, {5: 0.2})
    assert all(p.index >= 1_000 + MARGIN for p in examine_tail(values, 1_000).change_points)


def test_change_smaller_than_the_minimum_effect_is_none():
    values = series(200, {100: 0.01}, sd=0.002)
    assert examine_tail(values, minimum_effect=0.005).change_points != ()
    assert examine_tail(values, minimum_effect=0.03).change_points == ()


@pytest.mark.parametrize("length", [2, 3, 4])
@pytest.mark.parametrize("seed", range(4))
def test_spike_is_never_confirmed_and_an_episode_when_it_has_reverted(length: int, seed: int):
    values = series(50, {}, seed=seed)
    values[30 : 30 + length] *= 1.5
    told = grow(values, first=30)
    assert [p for points in told.values() for p in points if p.standing == "confirmed"] == []
    assert told[50] == []
    (spike,) = examine_tail(values[:38], minimum_effect=EFFECT).episodes
    assert (spike.start, spike.end, spike.kind) == (30, 30 + length, "spike")
    assert spike.size == pytest.approx(0.5, abs=0.05)


def test_flat_series_grows_without_a_confirmed_change():
    told = [grow(series(200, {}, seed=seed)) for seed in range(5)]
    points = [point for by_length in told for points in by_length.values() for point in points]
    assert [point for point in points if point.standing == "confirmed"] == []


def test_constant_series_and_series_with_zeros_are_examined():
    assert examine_tail(np.ones(50)).change_points == ()
    values = np.concatenate((np.zeros(20), np.full(20, 3.0)))
    assert examine_tail(values + np.random.default_rng(1).normal(0, 0.01, 40)).change_points != ()


def test_a_level_that_comes_back_is_told_each_time():
    changes = {at: by for start in (40, 90, 140) for at, by in ((start, 0.1), (start + 20, 1 / 1.1 - 1))}
    values = series(180, changes)
    assert examine(values).change_points == ()
    assert [point.index for point in examine_tail(values).change_points] == sorted(changes)
