import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.arithmetic import add, divide, is_above, multiply, require_same, subtract, value_in
from app.domain.errors import DataError
from app.domain.units import Quantity, dimension, format_quantity, parse_quantity, unit_of

Q = Quantity
UNITS = [
    "s",
    "B",
    "J",
    "W",
    "FLOP",
    "FLOP/s",
    "B/s",
    "tokens/s",
    "samples/J",
    "J/token",
    "1",
    "EUR/h",
    "widgets",
]
numbers = st.floats(min_value=1e-6, max_value=1e9)
units = st.sampled_from(UNITS)


@pytest.mark.parametrize(
    ("factors", "product"),
    [
        ([Q(350, "W"), Q(2, "s")], Q(700, "J")),
        ([Q(2, "kW"), Q(1, "h")], Q(7.2e6, "J")),
        ([Q(3, "TFLOP/s"), Q(2, "ms")], Q(6e9, "FLOP")),
        ([Q(1.5, "GB/s"), Q(2, "s")], Q(3e9, "B")),
        ([Q(100, "FLOP/B"), Q(2, "TB/s")], Q(2e14, "FLOP/s")),
        ([Q(2.5, "EUR/h"), Q(7200, "s")], Q(5, "EUR")),
        ([Q(3, "J/token"), Q(1e6, "tokens")], Q(3e6, "J")),
        ([Q(3, "1"), Q(4, "samples")], Q(12, "samples")),
        ([Q(3, "s"), Q(4, "s")], Q(12, "s·s")),
        ([Q(5, "widgets/s"), Q(2, "s")], Q(10, "widgets")),
    ],
)
def test_product_has_the_product_of_the_units(factors, product):
    found = multiply(*factors)
    assert found.unit == product.unit
    assert found.value == pytest.approx(product.value)


@pytest.mark.parametrize(
    ("top", "bottoms", "quotient"),
    [
        (Q(9e12, "FLOP"), [Q(3, "TFLOP/s")], Q(3, "s")),
        (Q(6, "GFLOP"), [Q(3, "MB")], Q(2000, "FLOP/B")),
        (Q(700, "samples/s"), [Q(350, "W")], Q(2, "samples/J")),
        (Q(1000, "tokens"), [Q(500, "J")], Q(2, "tokens/J")),
        (Q(700, "J"), [Q(2, "s")], Q(350, "W")),
        (Q(7.2, "EUR/h"), [Q(2, "tokens/s")], Q(0.001, "EUR/token")),
        (Q(9, "FLOP"), [Q(3, "s"), Q(1, "1"), Q(3, "FLOP/s")], Q(1, "1")),
        (Q(1, "1"), [Q(4, "s")], Q(0.25, "1/s")),
        (Q(50, "%"), [Q(2, "1")], Q(0.25, "1")),
        (Q(8, "tokens/s"), [Q(2, "samples/s")], Q(4, "tokens/sample")),
        (Q(60, "fps"), [Q(30, "W")], Q(2, "frames/J")),
    ],
)
def test_quotient_has_the_quotient_of_the_units(top, bottoms, quotient):
    found = divide(top, *bottoms)
    assert found.unit == quotient.unit
    assert found.value == pytest.approx(quotient.value)


def test_division_by_nothing_is_an_error():
    with pytest.raises(ZeroDivisionError):
        divide(Q(1, "J"), Q(0, "s"))


def test_sums_bring_prefixes_together_and_keep_what_says_more():
    assert add(Q(1, "s"), Q(500, "ms")) == Q(1.5, "s")
    assert subtract(Q(1, "kJ"), Q(10, "J")) == Q(990, "J")
    assert add(Q(1, "1/s"), Q(2, "tokens/s")) == Q(3, "tokens/s")
    assert add(Q(1, "W"), Q(2, "J/s")) == Q(3, "W")
    assert is_above(Q(2, "min"), Q(100, "s"))
    assert not is_above(Q(1, "GB"), Q(1, "GiB"))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("s", "J"),
        ("W", "J"),
        ("tokens/s", "samples/s"),
        ("EUR", "USD"),
        ("EUR", "1"),
        ("Hz", "1/s"),
        ("B", "FLOP"),
    ],
)
@pytest.mark.parametrize("operation", [add, subtract, is_above])
def test_units_of_different_kinds_are_not_mixed_and_the_error_names_both(operation, first, second):
    with pytest.raises(DataError) as refusal:
        operation(Q(3, first), Q(2, second))
    assert refusal.value.code == "mixed_units"
    assert f'"{first}" and "{second}" are different kinds of units' in str(refusal.value)


def test_refusal_says_what_was_asked():
    with pytest.raises(DataError, match="cannot compare 50 ms with 3 J"):
        is_above(Q(0.05, "s"), Q(3, "J"))
    with pytest.raises(DataError, match='cannot give 350 W in "J"'):
        value_in(Q(350, "W"), "J")


def test_value_is_given_in_any_unit_of_its_kind():
    assert value_in(Q(0.25, "s"), "ms") == pytest.approx(250)
    assert value_in(Q(1 / 3600, "EUR/s"), "EUR/h") == pytest.approx(1)
    assert value_in(Q(3.6e6, "J"), "kWh") == pytest.approx(1)


@pytest.mark.parametrize(
    ("first", "second", "common"),
    [
        ("currency", "EUR", "EUR"),
        ("units/J", "samples/J", "samples/J"),
        ("1/s", "requests/s", "requests/s"),
        ("ms", "h", "s"),
    ],
)
def test_common_unit_is_the_one_that_says_more(first, second, common):
    assert require_same(first, second, "do this") == require_same(second, first, "do this") == common


@settings(max_examples=200, deadline=None)
@given(numbers, units, numbers, units)
def test_division_undoes_multiplication(a, unit_a, b, unit_b):
    first, second = Q(a, unit_a), Q(b, unit_b)
    back = divide(multiply(first, second), second)
    assert dimension(back.unit) == dimension(unit_a)
    assert value_in(back, unit_a) == pytest.approx(a)


@settings(max_examples=200, deadline=None)
@given(numbers, units, numbers, units)
def test_order_of_factors_does_not_matter(a, unit_a, b, unit_b):
    one, other = multiply(Q(a, unit_a), Q(b, unit_b)), multiply(Q(b, unit_b), Q(a, unit_a))
    assert dimension(one.unit) == dimension(other.unit)
    assert one.value == pytest.approx(other.value)


@settings(max_examples=200, deadline=None)
@given(
    st.dictionaries(st.sampled_from(["s", "J", "B", "FLOP", "tokens", "EUR"]), st.integers(-1, 1), max_size=3)
)
def test_unit_of_a_dimension_has_that_dimension(powers):
    known = {symbol: power for symbol, power in powers.items() if power}
    assert dimension(unit_of(powers)) == known
    assert math.isfinite(Q(1.0, unit_of(powers)).value)


@settings(max_examples=200, deadline=None)
@given(
    numbers, st.sampled_from(["s", "B", "J", "W", "FLOP/s", "B/s", "tokens/s", "samples/J", "EUR", "EUR/s"])
)
def test_what_is_shown_can_be_read_and_compared(value, unit):
    read = parse_quantity(format_quantity(value, unit))
    assert require_same(read.unit, unit, "compare") == unit
    assert read.value == pytest.approx(value, rel=0.006)
