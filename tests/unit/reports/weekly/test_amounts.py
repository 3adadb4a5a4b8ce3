"""Money, device hours and energy as people read them."""

from __future__ import annotations

import pytest

from app.domain.weekly import Money, Monthly
from app.reports.weekly import amounts


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (0.1234, "0.123"),
        (1.005, "1.00"),
        (9.996, "10.0"),
        (99.94, "99.9"),
        (99.96, "100"),
        (1234.5, "1\u202f234"),
        (-1234567.0, "\u22121\u202f234\u202f567"),
    ],
)
def test_number_has_three_digits_or_is_whole(value, text):
    assert amounts.number(value) == text


@pytest.mark.parametrize(
    ("amount", "text"),
    [(0.004, "0.00"), (12.345, "12.35"), (99.994, "99.99"), (99.996, "100"), (-8230.5, "\u22128\u202f230")],
)
def test_money_has_two_decimals_below_a_hundred(amount, text):
    assert amounts.money(Money(amount, "EUR")) == f"{text}\u00a0EUR"


def test_money_goes_first_and_hours_follow():
    monthly = Monthly(device_hours=339.2, kwh=1.5, money=(Money(843.0, "USD"),))
    assert amounts.amounts(monthly) == ("843\u00a0USD", "339\u00a0h", "1.50\u00a0kWh")
    assert amounts.saved(monthly)[0] == "\u2212843\u00a0USD"
    assert amounts.amounts(None) == ()


def test_money_of_several_currencies_is_told_whole():
    monthly = Monthly(money=(Money(843.0, "USD"), Money(12.0, "EUR")))
    assert amounts.amounts(monthly) == ("843\u00a0USD + 12.00\u00a0EUR",)
