import math

import pytest

from app.analysis.effect import is_measurable, pair_effects, raw_change, raw_interval
from app.domain.errors import DataError

UNMEASURABLE = [0.0, -0.0, -1.0, math.nan, math.inf, -math.inf]


def pair_effect(base: float, head: float, better: str) -> float:
    """The effect of a single pair."""
    (effect,) = pair_effects([base], [head], better)
    return effect


def test_every_pair_has_its_own_effect_in_order():
    assert pair_effects([1.0, 2.0], [2.0, 1.0], "lower") == pytest.approx([math.log(2), -math.log(2)])


def test_slower_head_is_a_positive_effect_where_lower_is_better():
    assert pair_effect(1.0, 1.1, "lower") == pytest.approx(math.log(1.1))


def test_slower_head_is_a_positive_effect_where_higher_is_better():
    assert pair_effect(100.0, 80.0, "higher") == pytest.approx(math.log(1.25))


def test_equal_values_are_no_effect():
    assert pair_effect(0.1, 0.1, "lower") == 0.0


@pytest.mark.parametrize("factor", [1e-9, 1000.0, 2**30])
@pytest.mark.parametrize("better", ["lower", "higher"])
def test_effect_does_not_depend_on_the_unit(factor, better):
    assert pair_effect(3 * factor, 4 * factor, better) == pytest.approx(pair_effect(3, 4, better), abs=1e-13)


@pytest.mark.parametrize("better", ["lower", "higher"])
def test_exchanging_the_arms_negates_the_effect_exactly(better):
    assert pair_effect(0.3, 0.7, better) == -pair_effect(0.7, 0.3, better)


def test_latency_and_its_reciprocal_rate_have_the_same_effect():
    assert pair_effect(0.2, 0.3, "lower") == pytest.approx(pair_effect(1 / 0.2, 1 / 0.3, "higher"))


def test_extreme_values_do_not_overflow():
    assert math.isfinite(pair_effect(5e-324, 1.7e308, "lower"))


@pytest.mark.parametrize("value", UNMEASURABLE)
@pytest.mark.parametrize("arm", ["base", "head"])
def test_value_without_a_logarithm_is_refused_with_its_code(value, arm):
    values = {"base": 1.0, "head": 1.0} | {arm: value}
    assert not is_measurable(value)
    with pytest.raises(DataError, match="finite and greater than zero") as refusal:
        pair_effect(values["base"], values["head"], "lower")
    assert refusal.value.code == "invalid_value"


@pytest.mark.parametrize("better", ["lower", "higher"])
def test_raw_change_is_head_over_base_minus_one_whatever_is_better(better):
    assert raw_change(pair_effect(4.0, 5.0, better), better) == pytest.approx(0.25)


def test_change_beyond_a_float_is_infinite():
    assert raw_change(1000.0, "lower") == math.inf


@pytest.mark.parametrize(
    ("better", "wanted"),
    [("lower", (math.expm1(-0.1), math.expm1(0.3))), ("higher", (math.expm1(-0.3), math.expm1(0.1)))],
)
def test_interval_keeps_its_lower_end_first(better, wanted):
    assert raw_interval(-0.1, 0.3, better) == pytest.approx(wanted)
