import math

import pytest

from app.domain.verdicts import Conclusion, Verdict
from app.reports import ranking
from tests.factories import results
from tests.factories.results import check, suite, untold


@pytest.mark.parametrize(
    ("change", "better", "effect"),
    [
        (0.1, "lower", math.log(1.1)),
        (0.1, "higher", -math.log(1.1)),
        (-1.0, "lower", None),
        (float("nan"), "lower", None),
        (None, "higher", None),
    ],
)
def test_effect_is_positive_when_it_is_worse(change, better, effect) -> None:
    assert ranking.worse_ln(change, better) == (None if effect is None else pytest.approx(effect))


def test_interval_of_a_higher_is_better_metric_is_turned_around() -> None:
    low, high = ranking.worse_bounds(-0.1, None, "higher")
    assert low is None
    assert high == pytest.approx(-math.log(0.9))


def test_worst_comes_first_and_regressed_before_everything() -> None:
    cases = [
        untold("quiet", Verdict.NO_REGRESSION, change=0.001),
        untold("unknown", Verdict.INCONCLUSIVE, change=0.2),
        untold("slower", Verdict.REGRESSED, change=0.04),
        untold("much slower", Verdict.REGRESSED, change=0.5),
        untold("faster", Verdict.IMPROVED, change=-0.3),
        untold("nothing", Verdict.INCONCLUSIVE),
    ]
    ranked = ranking.gating(check(Conclusion.REGRESSED, suite(*cases)))
    assert [f.label for f in ranked] == ["much slower", "slower", "unknown", "quiet", "faster", "nothing"]


def test_tally_counts_gating_results_and_jobs_that_measured_nothing() -> None:
    nothing = suite(state="no_capacity", reason="no_capacity")
    counts = ranking.tally(check(Conclusion.REGRESSED, *results.failing().suites, nothing))
    assert (counts.compared, counts.unmeasured, counts.unmeasured_jobs) == (7, 2, 1)


def test_tally_leaves_new_removed_and_exploratory_results_out() -> None:
    assert ranking.tally(results.regressed()).compared == 7


def test_a_job_that_has_not_begun_is_not_unmeasured() -> None:
    waiting = suite(state="queued", reason="waiting for a device, place 2", finished_at=None)
    assert not ranking.is_unmeasured_job(waiting)


@pytest.mark.parametrize(
    ("jobs", "labels"),
    [
        ([("a", "cpu")], [""]),
        ([("a", "cpu"), ("b", "cpu")], ["a", "b"]),
        ([("a", "cpu"), ("a", "gpu")], ["cpu", "gpu"]),
        ([("a", "cpu"), ("b", "gpu")], ["a on cpu", "b on gpu"]),
    ],
)
def test_job_is_labelled_by_what_tells_it_from_the_others(
    jobs: list[tuple[str, str]], labels: list[str]
) -> None:
    suites = [results.suite(name=name, device_class=device_class) for name, device_class in jobs]
    checked = results.check(None, *suites)
    assert [ranking.job_label(checked, suite) for suite in checked.suites] == labels
