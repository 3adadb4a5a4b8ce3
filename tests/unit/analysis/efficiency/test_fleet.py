"""Time of devices in a week, and totals by a sample."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from math import sqrt
from statistics import fmean, pstdev

import pytest

from app.analysis.efficiency.fleet import span_there, total_of_sample, weighted_mean

START = datetime(2026, 11, 16, tzinfo=UTC)
END = START + timedelta(days=7)
DAY = 86400.0


@pytest.mark.parametrize(
    ("since", "seen", "now", "is_live", "days"),
    [
        (-30, 20, 20, True, 7),
        (2, 20, 20, True, 5),
        (-30, 3, 20, False, 3),
        (-30, -1, 20, False, 0),
        (8, 20, 20, True, 0),
        (-30, 1.9, 2, True, 2),
        (-30, 1.9, 2, False, 1.9),
    ],
)
def test_a_device_is_there_from_its_registration_to_its_last_contact_or_now(
    since: float, seen: float, now: float, is_live: bool, days: float
) -> None:
    moments = {
        name: START + timedelta(days=value)
        for name, value in (("since", since), ("last_seen", seen), ("now", now))
    }
    first, last = span_there(START, END, is_live=is_live, **moments)
    assert (last - first).total_seconds() == pytest.approx(days * DAY)


def test_all_runs_are_a_sum_and_a_part_of_them_stands_for_all_by_device_time() -> None:
    assert total_of_sample([1.0, 2.0], [10.0, 20.0], 2, 30.0) == (3.0, 0.0)
    assert total_of_sample([], [], 0, 0.0) == (0.0, 0.0)
    assert total_of_sample([], [], 5, 100.0) == (0.0, 0.0)
    assert total_of_sample([0.0], [0.0], 5, 100.0) == (0.0, 0.0)
    exact = total_of_sample([1.0, 2.0, 3.0], [10.0, 20.0, 30.0], 100, 2000.0)
    assert exact.value == pytest.approx(200.0)
    assert exact.half == pytest.approx(0.0, abs=1e-9)
    alone = total_of_sample([5.0], [10.0], 4, 40.0)
    assert alone == (20.0, 20.0), "of one run nothing is known of the others"


def test_the_error_of_a_sample_by_hand() -> None:
    # Ratio 6/4 = 1.5; rests 1 − 1.5 = −0.5 and 5 − 4.5 = 0.5; variance 0.5; half 1.96 · 10 · sqrt(0.8 · 0.5 / 2).
    found = total_of_sample([1.0, 5.0], [1.0, 3.0], 10, 20.0)
    assert found.value == 30.0
    assert found.half == pytest.approx(1.959964 * 10 * sqrt(0.8 * 0.5 / 2))


def test_the_interval_of_a_sample_holds_the_total_in_nineteen_of_twenty_weeks() -> None:
    draw = random.Random(3)
    hits = []
    for _ in range(400):
        sizes = [draw.uniform(300, 3000) for _ in range(1000)]
        amounts = [size * draw.gauss(500, 120) for size in sizes]
        chosen = draw.sample(range(1000), 100)
        found = total_of_sample([amounts[i] for i in chosen], [sizes[i] for i in chosen], 1000, sum(sizes))
        hits.append(abs(found.value - sum(amounts)) <= found.half)
    spread = pstdev(hits) / sqrt(len(hits))
    assert abs(fmean(hits) - 0.95) < 3 * max(spread, 0.01)


def test_a_weighted_mean_leaves_out_what_is_not_known() -> None:
    assert weighted_mean([0.2, None, 0.6], [1.0, 9.0, 3.0]) == pytest.approx(0.5)
    assert weighted_mean([None], [1.0]) is None
    assert weighted_mean([0.4], [0.0]) is None
