import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.integrations.dcgm.windows import (
    Kept,
    Piece,
    covered_by,
    first_sightings,
    inside,
    interval_of,
    is_rising,
    levels,
    renewed_every,
    rises,
    seconds_of,
    share_with,
    total_of,
    touching,
    united,
)


def every(interval, *values, start=0.0):
    return [(start + interval * place, value) for place, value in enumerate(values)]


def test_windows_that_touch_or_overlap_are_one_and_empty_ones_none():
    assert united([(5, 7), (0, 2), (2, 3), (6, 9), (4, 4), (12, 11)]) == [(0, 3), (5, 9)]


def test_a_window_within_another_adds_nothing():
    assert united([(0, 10), (2, 3)]) == [(0, 10)]


def test_missed_scrapes_do_not_change_the_interval():
    assert interval_of(every(15, *range(8))[:4] + every(15, *range(8))[6:]) == 15


@pytest.mark.parametrize("samples", [[], [(1.0, 2.0)]])
def test_the_interval_of_fewer_than_two_samples_is_not_known(samples):
    assert interval_of(samples) is None


def test_a_sample_tells_of_the_time_since_the_one_before():
    assert list(levels([(10, 1.0), (20, 2.0), (31, 3.0)], 10)) == [
        Piece(0, 10, 1.0),
        Piece(10, 20, 2.0),
        Piece(20, 31, 3.0),
    ]


def test_a_sample_after_a_gap_tells_of_one_interval():
    assert list(levels([(10, 1.0), (40, 2.0)], 10))[-1] == Piece(30, 40, 2.0)


def test_a_counter_rises_between_its_samples_however_far_apart_they_are():
    assert rises([(0, 100), (10, 400), (40, 1000)]) == ([Piece(0, 10, 30), Piece(10, 40, 20)], [])


def test_what_a_counter_counted_around_its_new_beginning_is_not_known():
    assert rises([(0, 100), (10, 400), (20, 50), (30, 150)]) == (
        [Piece(0, 10, 30), Piece(20, 30, 10)],
        [(10, 20)],
    )


def test_spans_and_moments_that_have_to_do_with_the_windows_are_counted():
    assert touching([(0, 5), (5, 12), (21, 25), (15, 15), (30, 30)], [(10, 20), (22, 23)]) == 3


def test_only_what_lies_in_a_window_is_kept():
    pieces = [Piece(-10, 0, 1), Piece(0, 10, 2), Piece(10, 20, 3), Piece(20, 30, 4)]
    assert inside(pieces, [(0, 24)]) == [Kept(10, 2), Kept(10, 3)]


def test_a_scrape_some_milliseconds_late_still_counts_for_what_it_has_in_the_window():
    assert inside([Piece(0, 10, 2)], [(0.02, 10)]) == [Kept(9.98, 2)]
    assert inside([Piece(0, 10, 2)], [(1.1, 10)]) == []


def test_a_piece_counts_once():
    assert inside([Piece(0, 10, 2)], [(0, 10), (10, 20)]) == [Kept(10, 2)]


def test_a_piece_across_two_windows_is_of_neither():
    assert inside([Piece(0, 10, 2)], [(0, 5), (5.1, 10)]) == []


def test_means_are_by_time_and_not_by_samples():
    kept = inside(levels([(10, 1.0), (20, 1.0), (21, 8.0)], 10), [(0, 21)])
    assert total_of(kept) / covered_by(kept) == pytest.approx((20 * 1 + 1 * 8) / 21)


def test_a_share_of_bits_is_by_time():
    kept = [Kept(10, 0x4), Kept(20, 0x44), Kept(10, 0x1)]
    assert share_with(kept, 0x4) == 0.75
    assert share_with(kept, 0x40 | 0x1) == 0.75
    assert share_with(kept, 0x8) == 0


def test_values_that_the_exporter_renews_every_second_scrape_are_seen():
    values = [value for value in (0.1, 0.5, 0.3, 0.9, 0.2, 0.6) for _ in range(2)]
    samples = every(15, *values)
    assert renewed_every(samples, 15) == 30
    assert first_sightings(samples, 30, 15) == samples[::2]


def test_equal_values_are_a_renewal_apart():
    samples = every(15, 0.1, 0.1, 0.5, 0.5, 0.5, 0.5, 0.2, 0.2)
    assert first_sightings(samples, 30, 15) == samples[::2]


@pytest.mark.parametrize(
    "values",
    [
        (0.1, 0.2, 0.3, 0.4, 0.3, 0.2, 0.6),
        (0.0,) * 20,
        (0.0, 0.0, 0.0, 0.3, 0.0, 0.0, 0.0, 0.4, 0.0, 0.0, 0.0, 0.3, 0.0, 0.0),
        (0.1, 0.1, 0.2, 0.2, 0.3, 0.3),
    ],
    ids=["moves", "stands", "bursts", "too few"],
)
def test_values_that_merely_repeat_are_not_taken_for_renewed_seldom(values):
    assert renewed_every(every(15, *values), 15) is None


def test_ten_values_that_all_rise_are_a_counters():
    assert is_rising(every(1, *range(10)))
    assert not is_rising(every(1, *range(9)))
    assert not is_rising(every(1, *range(9), 8))


SAMPLES = st.lists(st.tuples(st.floats(0.2, 30.0), st.floats(0.0, 100.0)), min_size=2, max_size=60)
WINDOWS = st.lists(st.tuples(st.floats(-50, 300), st.floats(0.1, 200)), min_size=1, max_size=4)


@given(SAMPLES, WINDOWS)
def test_no_more_is_covered_than_was_asked_and_means_lie_among_the_values(steps, starts_and_lengths):
    samples, moment = [], 0.0
    for step, value in steps:
        moment += step
        samples.append((moment, value))
    windows = united((start, start + length) for start, length in starts_and_lengths)
    kept = inside(levels(samples, interval_of(samples)), windows)
    covered = covered_by(kept)
    assert covered <= seconds_of(windows) + 1e-6
    if covered:
        values = [value for _, value in samples]
        assert min(values) - 1e-9 <= total_of(kept) / covered <= max(values) + 1e-9
