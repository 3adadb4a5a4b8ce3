from datetime import UTC, datetime, timedelta, timezone

import pytest

from app.reports import quantities

NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("fraction", "text"),
    [
        (0.0612, "+6.1 %"),
        (-0.0042, "−0.42 %"),
        (0.00004, "0.00 %"),
        (0.0, "0 %"),
        (0.00996, "+1.0 %"),
        (1.4, "+140 %"),
        (8.999, "+900 %"),
        (11.4, "×12.4"),
        (-0.9999, "−100 %"),
        (None, "–"),
        (NAN, "–"),
        (INF, "–"),
    ],
)
def test_change_is_signed_with_digits_that_mean_something(fraction: float | None, text: str) -> None:
    assert quantities.change(fraction) == text


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (0.049, 0.074, "+4.9 … +7.4 %"),
        (-0.004, 0.012, "−0.40 … +1.2 %"),
        (None, 0.074, "−∞ … +7.4 %"),
        (-0.1, None, "−10.0 … +∞ %"),
        (-INF, INF, "unbounded"),
        (0.5, 12.0, "+50.0 % … ×13"),
        (None, 12.0, "−∞ … ×13"),
        (8e305, None, "×8e305 … +∞"),
        (-6.1e7, -1.5, "−6.1e9 … −150 %"),
    ],
)
def test_interval_names_both_ends_and_infinity(low: float | None, high: float | None, text: str) -> None:
    assert quantities.interval(low, high) == text


@pytest.mark.parametrize(
    ("confidence", "text"),
    [
        (0.99, "99 %"),
        (0.95, "95 %"),
        (1 - 0.01 / 48, "99.979 %"),
        (1 - 1e-6, "99.9999 %"),
        (1.0, "100 %"),
        (None, "–"),
    ],
)
def test_level_has_as_many_nines_as_it_needs(confidence: float | None, text: str) -> None:
    assert quantities.level(confidence) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0 s"),
        (0.42, "0.4 s"),
        (42.4, "42 s"),
        (59.7, "1 min"),
        (492.0, "8 min 12 s"),
        (3780.0, "1 h 03 min"),
        (None, "–"),
        (INF, "–"),
    ],
)
def test_duration_has_at_most_two_steps(seconds: float | None, text: str) -> None:
    assert quantities.duration(seconds) == text


@pytest.mark.parametrize(
    ("base", "head", "unit", "text"),
    [
        (0.012414, 0.01317, "s", ("12.41", "13.17 ms")),
        (0.0008312, 0.0011329, "s", ("0.831", "1.133 ms")),
        (0.00001, 1.5, "s", ("1e−5", "1.5 s")),
        (1_288_490_188, 1_288_752_332, "B", ("1.200", "1.200 GiB")),
        (48_180, 52_830, "tokens/s", ("48.18", "52.83 k tokens/s")),
        (3, 4, "1", ("3", "4")),
        (12_345, 12_352, "1", ("12345", "12352")),
        (-999_999, 12_345, "widgets", ("−999999", "12345 widgets")),
        (3.5, 12_345.6, "widgets", ("3.5", "12350 widgets")),
        (1_234_567, 1_300_000, "widgets", ("1.235e6", "1.3e6 widgets")),
        (-0.0021, -0.0023, "s", ("−2.100", "−2.300 ms")),
        (0, 0, "widgets", ("0", "0 widgets")),
        (0.5, None, "s", ("500 ms", "–")),
        (NAN, 0.5, "s", ("–", "500 ms")),
    ],
)
def test_values_before_and_after_share_prefix_and_decimals(base, head, unit, text) -> None:
    assert quantities.before_after(base, head, unit) == text


@pytest.mark.parametrize(
    ("base", "head", "unit", "text"),
    [
        (4_996, 4_648, "samples/s", ("4.996 k samples/s", "4.648 k samples/s")),
        (0.0008312, 0.0011329, "s", ("0.831 ms", "1.133 ms")),
        (3, 4, "1", ("3", "4")),
        (0.5, None, "s", ("500 ms", "–")),
        (None, -1e-300, "s", ("–", "−1e−291 ns")),
        (1e-9, 2.0, "widgets", ("1e−9 widgets", "2 widgets")),
    ],
)
def test_values_in_columns_have_each_their_unit(base, head, unit, text) -> None:
    assert quantities.in_columns(base, head, unit) == text


@pytest.mark.parametrize(
    ("value", "unit", "told"),
    [
        (-0.46875, "1", "−0.469"),
        (-0.00123, "s", "−1.23 ms"),
        (-2.0, "half-lives", "−2 half-lives"),
        (1e-300, "1", "1e−300"),
        (None, "s", "–"),
    ],
)
def test_a_value_has_a_minus_sign_and_no_hyphen(value: float | None, unit: str, told: str) -> None:
    assert quantities.quantity(value, unit) == told


def test_a_range_has_one_unit_and_minus_signs() -> None:
    assert quantities.between(-0.00123, 0.0005, "s") == "−1.230 … 0.500 ms"
    assert quantities.between(12_345, 12_352, "1") == "12345 … 12352"


def test_large_factors_have_nothing_needless_in_their_exponents() -> None:
    assert quantities.change(1.03e14) == "×1.03e14"
    assert [quantities.factor(its) for its in (1.2e7, 1.2e-7)] == ["1.2e7", "1.2e−7"]


def test_moment_is_told_in_utc() -> None:
    there = datetime(2026, 11, 21, 12, 28, tzinfo=timezone(timedelta(hours=1)))
    assert quantities.moment(there) == "2026-11-21 11:28 UTC"
    assert quantities.moment(datetime(2026, 1, 2, tzinfo=UTC)) == "2026-01-02 00:00 UTC"


def test_half_of_an_interval_is_the_larger_statement_of_doubt() -> None:
    assert quantities.plus_minus(0.049, 0.074) == "±1.2"
    assert quantities.plus_minus(None, 0.074) == ""
    assert quantities.plus_minus(0.196, 5.55) == "(+19.6 … +555 %)"


def test_settings_have_no_needless_digits() -> None:
    assert [quantities.threshold(x) for x in (0.005, 0.02, 0.1)] == ["0.5 %", "2 %", "10 %"]
