import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.errors import DataError
from app.domain.units import (
    Quantity,
    all_to_base,
    base_unit,
    dimension,
    format_quantity,
    parse_quantity,
    same_dimension,
    to_base,
)

QUANTITIES = [
    ("50 ms", 0.05, "s"),
    ("50ms", 0.05, "s"),
    ("  50   ms ", 0.05, "s"),
    ("1.1 ms", 0.0011, "s"),
    ("250 us", 0.00025, "s"),
    ("250 µs", 0.00025, "s"),
    ("250 μs", 0.00025, "s"),
    ("7 ns", 7e-9, "s"),
    ("1.5 min", 90.0, "s"),
    ("2 h", 7200.0, "s"),
    ("2 GiB", 2 * 2.0**30, "B"),
    ("2 GB", 2e9, "B"),
    ("8 Gbit/s", 1e9, "B/s"),
    ("700 W", 700.0, "W"),
    ("1.98 GHz", 1.98e9, "Hz"),
    ("3 mJ", 0.003, "J"),
    ("5%", 0.05, "1"),
    ("12", 12.0, "1"),
    ("-0.5", -0.5, "1"),
    (".5e-1", 0.05, "1"),
    ("12.3 k/s", 12300.0, "1/s"),
    ("5 /s", 5.0, "1/s"),
    ("5 k tokens/s", 5000.0, "tokens/s"),
    ("6 ktokens/min", 100.0, "tokens/s"),
    ("5 token/s", 5.0, "tokens/s"),
    ("60 fps", 60.0, "frames/s"),
    ("989 TFLOPS", 989e12, "FLOP/s"),
    ("3 mJ / token", 0.003, "J/token"),
    ("2 tokens/ms", 2000.0, "tokens/s"),
    ("1.2 kJ", 1200.0, "J"),
    ("40 %", 0.4, "1"),
    ("3.5 TFLOP/s", 3.5e12, "FLOP/s"),
    ("0.5 kWh", 1.8e6, "J"),
    ("2 kW·h", 7.2e6, "W·s"),
    ("12 FLOP/B", 12.0, "FLOP/B"),
    ("2 samples/s/W", 2.0, "samples/s/W"),
    ("3 units/J", 3.0, "units/J"),
    ("0.02 EUR", 0.02, "EUR"),
    ("3.60 USD/h", 0.001, "USD/s"),
]


@pytest.mark.parametrize(("text", "value", "unit"), QUANTITIES)
def test_quantity_is_read_into_base_units(text, value, unit):
    assert parse_quantity(text) == Quantity(value, unit)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", '"" is no quantity; write a number and a unit, such as "50 ms"'),
        ("fast", '"fast" is no quantity; write a number and a unit, such as "50 ms"'),
        ("ms 50", '"ms 50" is no quantity; write a number and a unit, such as "50 ms"'),
        ("nan s", '"nan s" is no quantity; write a number and a unit, such as "50 ms"'),
        ("50 msec", 'unknown unit "msec"; did you mean "sec" or "ms"?'),
        ("2 gb", 'unknown unit "gb"; did you mean "GB"?'),
        ("2 widgets", 'unknown unit "widgets"'),
        ("2 s/widget", 'unknown unit "widget"'),
        ("2 \x1b[2J", 'unknown unit "\\x1b[2J"'),
        ("1e999 s", '"1e999 s" is too large a number'),
        ("1e308 h", '"1e308 h" is too large a number'),
    ],
)
def test_wrong_quantity_is_refused_with_a_reason(text, message):
    with pytest.raises(DataError) as refusal:
        parse_quantity(text)
    assert str(refusal.value) == message


def test_long_wrong_quantity_is_named_in_a_short_message():
    with pytest.raises(DataError) as refusal:
        parse_quantity("x" * 100_000)
    assert len(str(refusal.value)) < 150


@pytest.mark.parametrize("unit", ["us/us", "GB/GB", "min/min", "1", ""])
def test_values_in_a_unit_that_is_one_stay_as_they_are_to_the_last_bit(unit):
    values = [n / 1013 for n in range(1, 1000)]
    assert list(all_to_base(values, unit)[0]) == values


@pytest.mark.parametrize(
    ("value", "unit", "wanted"),
    [
        (50, "ms", (0.05, "s")),
        (3, "", (3, "1")),
        (3, "widgets", (3, "widgets")),
        (3, "widgets/ms", (3000, "widgets/s")),
        (1, "USD", (1, "USD")),
        (1, "a/b/c/d/e", (1, "a/b/c/d/e")),
        (2, "J/ms", (2000, "J/s")),
        (1, "widgets·ms", (0.001, "widgets·s")),
        (1, "s/fps", (1, "s·s/frame")),
        (60, "fps·min", (3600, "frames")),
    ],
)
def test_to_base_scales_what_it_knows_and_keeps_what_it_does_not(value, unit, wanted):
    assert to_base(value, unit) == wanted


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        ("ms", "h", True),
        ("GiB", "kB", True),
        ("s", "B", False),
        ("tokens/s", "1/s", True),
        ("1/s", "ktokens/min", True),
        ("tokens/s", "samples/s", False),
        ("tokens/s", "tokens", False),
        ("Hz", "1/s", False),
        ("%", "1", True),
        ("widgets", "widgets", True),
        ("widgets", "1", False),
        ("widgets", "gadgets", False),
        ("W", "J/s", True),
        ("kWh", "J", True),
        ("kW·h", "J", True),
        ("W", "J", False),
        ("samples/s/W", "samples/J", True),
        ("samples/J", "tokens/J", False),
        ("units/J", "samples/J", True),
        ("units/J", "1/J", True),
        ("units/J", "samples/s", False),
        ("J/token", "J", False),
        ("EUR", "EUR", True),
        ("EUR", "USD", False),
        ("EUR", "1", False),
        ("currency", "EUR", True),
        ("currency", "1", True),
        ("currency", "s", False),
        ("EUR/h", "EUR/s", True),
    ],
)
def test_same_dimension_tells_what_may_be_compared(a, b, same):
    assert same_dimension(a, b) is same
    assert same_dimension(b, a) is same


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [
        (None, "s", "–"),
        (0, "s", "0 s"),
        (-0.0, "ms", "0 s"),
        (0.00123, "s", "1.23 ms"),
        (-0.00123, "s", "-1.23 ms"),
        (0.00000123456, "s", "1.23 µs"),
        (0.0009996, "s", "1.00 ms"),
        (59.99, "s", "1.00 min"),
        (90, "s", "1.5 min"),
        (1e9, "s", "277778 h"),
        (1e-13, "s", "0.0001 ns"),
        (1e-20, "s", "1e-11 ns"),
        (4.5 * 2**30, "B", "4.5 GiB"),
        (1023, "B", "1023 B"),
        (1023.7 * 1024, "B", "1.00 MiB"),
        (3.35e12, "B/s", "3.35 TB/s"),
        (12300, "1/s", "12.3 k/s"),
        (12300, "tokens/s", "12.3 k tokens/s"),
        (0.5, "1/s", "0.5 /s"),
        (1e30, "tokens/s", "1e15 P tokens/s"),
        (350, "W", "350 W"),
        (0.010, "s", "10 ms"),
        (0.009998, "s", "10.0 ms"),
        (0.0112001, "s", "11.2 ms"),
        (7.0000001, "ms", "7.00 ms"),
        (24 * 2.0**30, "B", "24 GiB"),
        (24.0004 * 2.0**30, "B", "24.0 GiB"),
        (0.1 + 0.2, "W", "300 mW"),
        (99.96, "W", "100 W"),
        (1.0004e24, "W", "1.00e18 MW"),
        (1.98e9, "Hz", "1.98 GHz"),
        (3.2, "ms/token", "3.2 ms/token"),
        (12, "1", "12"),
        (999_999, "1", "999999"),
        (1_234_567, "1", "1.23 M"),
        (-0.0, "1", "0"),
        (0.4567, "1", "0.457"),
        (45, "%", "0.45"),
        (71.3, "°C", "71.3 °C"),
        (12345, "widgets", "12345 widgets"),
        (0.0213, "EUR", "0.0213 EUR"),
        (2.49 / 3600, "USD/s", "2.49 USD/h"),
        (12345, "samples/J", "12.3 k samples/J"),
        (295.2, "FLOP/B", "295 FLOP/B"),
        (math.nan, "s", "NaN s"),
        (math.inf, "B", "∞ B"),
        (-math.inf, "B", "-∞ B"),
    ],
)
def test_quantity_is_shown_as_people_read_it(value, unit, shown):
    assert format_quantity(value, unit) == shown


SHOWN_UNITS = ["s", "B", "J", "W", "Hz", "1", "1/s", "B/s", "tokens/s", "FLOP/s", "J/token", "EUR", "units/J"]


@settings(max_examples=200, deadline=None)
@given(st.floats(min_value=1e-9, max_value=1e15), st.sampled_from(SHOWN_UNITS), st.sampled_from([1, -1]))
def test_shown_quantity_reads_back_within_its_three_digits(value, unit, sign):
    read = parse_quantity(format_quantity(sign * value, unit))
    assert read.unit == unit
    assert read.value == pytest.approx(sign * value, rel=0.005)


@settings(max_examples=200, deadline=None)
@given(st.floats(allow_nan=False), st.text(max_size=20))
def test_any_unit_is_shown_and_a_base_unit_stays_a_base_unit(value, unit):
    base = base_unit(unit)
    assert base_unit(base) == base
    assert format_quantity(value, unit)


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=40) | st.from_regex(r"[0-9.eE+-]{1,6} ?[kMGTmuµn]?[a-zA-Z/%1]{0,12}", fullmatch=True))
def test_any_text_is_a_finite_quantity_or_a_data_error(text):
    try:
        quantity = parse_quantity(text)
    except DataError:
        return
    assert math.isfinite(quantity.value)
    assert base_unit(quantity.unit) == quantity.unit


@pytest.mark.parametrize(
    ("unit", "powers"),
    [
        ("", {}),
        ("%", {}),
        ("ms", {"s": 1}),
        ("kW", {"J": 1, "s": -1}),
        ("mJ/token", {"J": 1, "tokens": -1}),
        ("TFLOPS", {"FLOP": 1, "s": -1}),
        ("s/s", {}),
        ("widgets/fps", {"widgets": 1, "frames": -1, "s": 1}),
    ],
)
def test_dimension_is_the_powers_of_the_base_symbols(unit, powers):
    assert dimension(unit) == powers


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=30), st.text(max_size=30))
def test_agreement_of_units_is_symmetric_and_every_unit_agrees_with_itself(a, b):
    assert same_dimension(a, a)
    assert same_dimension(a, b) == same_dimension(b, a)
