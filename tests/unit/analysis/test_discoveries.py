import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.analysis.discoveries import count_discoveries

evidence = st.lists(st.floats(-5, 15), max_size=12)


def log(*e_values: float) -> list[float]:
    return [math.log(e) for e in e_values]


@pytest.mark.parametrize(
    ("e_values", "found"),
    [
        ((), 0),
        ((399,), 0),
        ((401,), 1),
        ((201, 201), 2),
        ((401, 199), 1),
        ((134, 134, 134, 101), 4),
        ((134, 134, 134, 99), 3),
        ((134, 134, 132, 99), 0),
        ((101, 101, 101, 101), 4),
    ],
)
def test_four_metrics_need_less_evidence_each_the_more_of_them_change(e_values, found):
    assert count_discoveries(log(*e_values), alpha=0.01, m=4) == found


def test_one_of_200_needs_what_a_single_test_of_its_share_needs():
    assert count_discoveries(log(20_001), alpha=0.01, m=200) == 1
    assert count_discoveries(log(19_999), alpha=0.01, m=200) == 0


def test_metric_without_evidence_never_counts():
    assert count_discoveries([-math.inf] * 5, alpha=0.99, m=5) == 0


def test_settled_metrics_count_and_make_it_easier_for_the_open_ones():
    assert count_discoveries(log(150), alpha=0.01, m=4) == 0
    assert count_discoveries(log(150), alpha=0.01, m=4, settled=2) == 3
    assert count_discoveries(log(50), alpha=0.01, m=4, settled=2) == 2


@given(evidence, st.integers(0, 5))
def test_count_is_the_largest_that_is_consistent_with_itself(log_e, settled):
    m = len(log_e) + settled + 3
    found = count_discoveries(log_e, alpha=0.05, m=m, settled=settled)
    consistent = [
        settled + sum(e >= math.log(m / 0.05) - math.log(k) for e in log_e) >= k
        for k in range(settled + 1, settled + len(log_e) + 1)
    ]
    largest = max((settled + i for i, holds in enumerate(consistent, start=1) if holds), default=settled)
    assert found == largest


@given(evidence, evidence)
def test_more_evidence_never_makes_fewer_discoveries(log_e, more):
    m = len(log_e) + len(more) + 1
    fewer = count_discoveries(log_e, alpha=0.01, m=m)
    assert fewer <= count_discoveries([*log_e, *more], alpha=0.01, m=m)


@given(evidence)
def test_discoveries_stay_discoveries_when_they_are_settled(log_e):
    found = count_discoveries(log_e, alpha=0.01, m=20)
    rest = sorted(log_e, reverse=True)[found:]
    assert count_discoveries(rest, alpha=0.01, m=20, settled=found) == found
