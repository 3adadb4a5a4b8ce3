import pytest

from app.analysis.validity import ArmOutcome, Failure, Standing, Stop, binomial_p, failure_of, first_stop
from app.domain.verdicts import Verdict


def standings(marks: str) -> list[Standing]:
    """Two pairs a block: `.` counts, gates void `b`, `h` (in that arm) and `?`, `0` is an invalid value."""
    reasons = {".": None, "0": "invalid_value"}
    arms = {"b": "base", "h": "head"}
    return [Standing(i // 2, reasons.get(mark, "host"), arms.get(mark)) for i, mark in enumerate(marks)]


@pytest.mark.parametrize(
    ("marks", "wanted"),
    [
        ("", None),
        ("........", None),
        ("??", None),
        ("????", Stop(1, "invalid_environment")),
        ("?.?.", None),
        ("?.?.?.", Stop(2, "invalid_environment")),
        ("........???.", None),
        (".......????.", Stop(4, "invalid_environment")),
        ("0000", Stop(1, "invalid_value")),
        ("0?0.....", Stop(1, "invalid_value")),
        ("?0??", Stop(1, "invalid_environment")),
        ("........???.????", Stop(6, "invalid_environment")),
    ],
)
def test_too_many_void_pairs_end_a_measurement_at_the_end_of_their_block(marks, wanted):
    assert first_stop(standings(marks)) == wanted


def test_exactly_a_quarter_of_void_pairs_is_borne():
    assert first_stop(standings("???.........")) == Stop(1, "invalid_environment")
    assert first_stop(standings(".........???")) is None


def test_gates_that_hit_one_arm_eight_times_end_a_measurement():
    rare = "...h" * 8
    assert first_stop(standings(rare)) == Stop(15, "gate_asymmetry")
    assert first_stop(standings("...h" * 7)) is None


def test_gates_that_hit_both_arms_alike_do_not():
    assert first_stop(standings("...h...b" * 12)) is None


def test_invalid_values_of_one_arm_are_no_asymmetry_of_the_gates():
    assert first_stop(standings("...0" * 12)) is None


@pytest.mark.parametrize(
    ("k", "n", "p"),
    [
        (0, 0, 1.0),
        (1, 2, 1.0),
        (0, 1, 1.0),
        (0, 8, 2 / 256),
        (8, 8, 2 / 256),
        (1, 10, 22 / 1024),
        (5, 10, 1.0),
    ],
)
def test_binomial_p_value_is_exact_and_two_sided(k, n, p):
    assert binomial_p(k, n) == pytest.approx(p)


HEAD_FAILS, BASE_FAILS = Failure(Verdict.HEAD_FAILS), Failure(Verdict.BASE_FAILS)
BOTH_FAIL = Failure(Verdict.NOT_MEASURED, "both_fail")


@pytest.mark.parametrize(
    ("outcomes", "wanted"),
    [
        ("", None),
        ("b h h b", None),
        ("b H", None),
        ("b H h b", None),
        ("b H H b", HEAD_FAILS),
        ("H b b H", HEAD_FAILS),
        ("B h h B", BASE_FAILS),
        ("B H H B", BOTH_FAIL),
        ("b H H B", None),
        ("h B B H", None),
        ("b H H B h b b h", None),
        ("b H H B B H H B", BOTH_FAIL),
        ("b H H B b H H b", HEAD_FAILS),
        ("b H h b b H h b", None),
        ("H H", None),
    ],
)
def test_two_failures_in_a_row_are_an_arms_own_while_the_other_passes(outcomes, wanted):
    """Capitals are failures."""
    arms = {"b": "base", "h": "head"}
    assert failure_of(ArmOutcome(arms[mark.lower()], mark.isupper()) for mark in outcomes.split()) == wanted
