"""What a device did outside of leases: an hour by hand, the bounds of steps that were held in part, energy."""

from __future__ import annotations

from math import nan

import pytest

from app.analysis.efficiency.outside_leases import outside_leases
from app.domain.device_use import Drawn, Power, Seen, Split

STEP = 300.0
START = 1_000_000.0
AN_HOUR = (START, START + 3600.0)


def seen(*busy: float, **more: object) -> Seen:
    return Seen(START, STEP, busy, **more)  # type: ignore[arg-type]


def minutes(start: float, end: float) -> tuple[float, float]:
    return START + 60 * start, START + 60 * end


def times(split: Split) -> tuple[float, float, float]:
    """Minutes used, idle, and not known."""
    return split.used_s / 60, split.idle_s / 60, split.unknown_s / 60


def test_an_hour_by_hand() -> None:
    """Held from minute 12 to 31; others use it in 35 to 45; nobody scrapes from 45 to 50.

    | minutes | busy | held | so |
    | --- | --- | --- | --- |
    | 0 – 10 | 0 | | idle: 10 |
    | 10 – 15 | 0.6 | 3 of 5 | may be all in the lease, or 2 outside: 2 not known |
    | 15 – 30 | 0.9 | all | |
    | 30 – 35 | 0.02 | 1 of 5 | at most 0.1 of 4 busy: 4 idle |
    | 35 – 45 | 0.8, 1 | | 10 used |
    | 45 – 50 | not scraped | | 5 not known |
    | 50 – 60 | 0, 0.04 | | 10 idle |
    """
    an_hour = seen(0, 0, 0.6, 0.9, 0.9, 0.9, 0.02, 0.8, 1, nan, 0, 0.04)
    split = outside_leases(an_hour, [minutes(12, 31)], AN_HOUR)
    assert times(split) == pytest.approx((10.0, 10.0 + 4.0 + 10.0, 2.0 + 5.0))
    assert split.busy_s == pytest.approx(60 * (0.8 * 5 + 5))


@pytest.mark.parametrize(
    ("busy", "held_minutes", "told"),
    [
        (0.0, 2, (0, 3, 0)),
        (0.02, 2, (0, 3, 0)),  # at most 6 s in 180
        (0.04, 2, (0, 0, 3)),  # 12 s, which are more than a twentieth of 180 where all are outside
        (0.4, 2, (0, 0, 3)),  # as long as it was held
        (0.5, 2, (3, 0, 0)),  # half a minute more than it was held
        (1.0, 2, (3, 0, 0)),
        (1.0, 5, (0, 0, 0)),
        (0.05, 0, (5, 0, 0)),
        (0.049, 0, (0, 5, 0)),
    ],
)
def test_a_step_that_was_held_in_part_is_told_where_both_bounds_agree(
    busy: float, held_minutes: float, told: tuple[float, float, float]
) -> None:
    split = outside_leases(seen(busy), [minutes(0, held_minutes)], minutes(0, 5))
    assert times(split) == pytest.approx(told)


def test_of_a_step_that_was_held_in_part_what_must_have_been_outside_counts_as_busy() -> None:
    assert outside_leases(seen(0.8), [minutes(0, 2)], minutes(0, 5)).busy_s == pytest.approx(60 * (4 - 2))


def test_leases_count_within_the_time_that_the_device_was_there_and_steps_beyond_are_not_known() -> None:
    split = outside_leases(seen(1, 0, 0), [minutes(-60, 2), minutes(70, 90)], minutes(0, 60))
    assert times(split) == pytest.approx((3, 10, 45))


def test_a_device_that_came_within_a_step_may_have_been_busy_before() -> None:
    assert times(outside_leases(seen(0.5, 0), [], minutes(3, 10))) == pytest.approx((0, 5, 2))


def test_a_device_that_was_not_there_did_nothing() -> None:
    assert outside_leases(seen(1, 1), [], minutes(20, 20)) == Split(0, 0, 0)


@pytest.mark.parametrize("held", [[], [minutes(1, 2), minutes(7, 14), minutes(14, 31), minutes(55, 80)]])
def test_the_parts_make_up_what_nobody_held(held: list[tuple[float, float]]) -> None:
    split = outside_leases(seen(*[n % 7 / 7 for n in range(12)]), held, AN_HOUR)
    held_s = sum(min(end, AN_HOUR[1]) - start for start, end in held)
    assert sum(split[:3]) == pytest.approx(3600 - held_s)


def test_energy_by_the_counter_is_told_of_all_time_and_of_steps_that_were_idle_from_end_to_end() -> None:
    """30 kJ a step at 100 W, and a step of 300 W that others used; the last one is held for a minute."""
    counter = [1e6, 1.03e6, 1.12e6, 1.15e6, 1.18e6]
    split = outside_leases(seen(0, 0, 0.9, 0, 0, counter_j=counter), [minutes(20, 21)], minutes(0, 25))
    assert split.drawn == Drawn(180e3, 180e3, 180e3, 4 * STEP, is_counted=True)
    assert split.drawn_idle == Drawn(60e3, 60e3, 60e3, 2 * STEP, is_counted=True)


def test_a_counter_that_began_anew_tells_nothing_of_that_step_and_loses_nothing_in_a_gap() -> None:
    counter = [5e6, nan, 5.06e6, 10.0, 30_010.0]
    split = outside_leases(seen(0, nan, nan, 0, 0, counter_j=counter), [], minutes(0, 25))
    assert split.drawn == Drawn(90e3, 90e3, 90e3, 3 * STEP, is_counted=True)
    assert split.drawn_idle == Drawn(30e3, 30e3, 30e3, STEP, is_counted=True), (
        "nobody knows what it did in the gap"
    )


def test_energy_by_samples_of_the_power_is_an_estimate_between_the_lowest_and_the_highest() -> None:
    power = Power((60.0, 300.0, nan), (58.0, 100.0, nan), (70.0, 400.0, nan))
    split = outside_leases(seen(0, 1, 0, power=power), [], minutes(0, 15))
    assert split.drawn == Drawn(108e3, 47.4e3, 141e3, 2 * STEP, is_counted=False)
    assert split.drawn_idle == Drawn(18e3, 17.4e3, 21e3, STEP, is_counted=False)


def test_a_device_without_either_has_no_energy() -> None:
    split = outside_leases(seen(0, 0), [], minutes(0, 10))
    assert (split.drawn, split.drawn_idle) == (None, None)
