import pytest

from app.domain.results import CheckResult
from app.domain.verdicts import Conclusion, Verdict
from app.reports.titles import check_title
from tests.factories import results
from tests.factories.results import check, exact, measured, suite, untold


def steady(count: int) -> list:
    return [untold(f"case_{n}", Verdict.NO_REGRESSION) for n in range(count)]


def moved(verdict: Verdict, **fields: object) -> object:
    given = {"change": 0.061, "ci_low": 0.053, "ci_high": 0.069} | fields
    return untold("bert", verdict, **given)


NEW, REMOVED = untold("a", Verdict.NEW), untold("b", Verdict.REMOVED)
OPEN = untold("decode", Verdict.INCONCLUSIVE, could_hide=0.031)
UNBOUNDED = untold("decode", Verdict.INCONCLUSIVE)
FAILS = untold("resize", Verdict.HEAD_FAILS, reason="timeout")
NO_WORKER = {"state": "no_capacity", "reason": "no_capacity"}
REGRESSED, PASSED = Conclusion.REGRESSED, Conclusion.PASSED
NOT_MEASURED, INCONCLUSIVE = Conclusion.NOT_MEASURED, Conclusion.INCONCLUSIVE


@pytest.mark.parametrize(
    ("result", "title"),
    [
        (
            check(
                REGRESSED, suite(moved(Verdict.REGRESSED), moved(Verdict.REGRESSED, change=0.01), *steady(46))
            ),
            "2 regressed of 48 · worst bert/latency_p50 +6.1 % ±0.80",
        ),
        (
            check(REGRESSED, suite(exact("bert", 100.0, 104.0, params={"batch": 32}))),
            "1 regressed of 1 · worst bert[batch=32]/peak_memory +4.0 %",
        ),
        (
            check(REGRESSED, suite(FAILS, *steady(1))),
            "1 of 2 fails on head · resize/latency_p50: it ran longer than its time limit",
        ),
        (
            check(REGRESSED, suite(FAILS, FAILS, moved(Verdict.REGRESSED))),
            "2 fail on head, 1 regressed of 3 · worst bert/latency_p50 +6.1 % ±0.80",
        ),
        (check(PASSED, suite(*steady(48))), "passed: 48 of 48 show no regression"),
        (check(PASSED, suite(*steady(1))), "passed: 1 of 1 shows no regression"),
        (
            check(PASSED, suite(*steady(40), OPEN, NEW, NEW, REMOVED)),
            "passed: 40 of 41 show no regression, 1 inconclusive, 2 new, 1 removed",
        ),
        (check(PASSED, suite(NEW)), "passed: 1 new"),
        (
            check(
                PASSED, suite(moved(Verdict.IMPROVED, change=-0.33, ci_low=-0.35, ci_high=-0.31), *steady(1))
            ),
            "passed: 1 of 2 shows no regression, 1 improved · best bert/latency_p50 −33.0 % ±2.0",
        ),
        (
            check(PASSED, suite(moved(Verdict.IMPROVED, change=-0.33, ci_low=-0.35, ci_high=-0.31))),
            "passed: 1 of 1 improved · best bert/latency_p50 −33.0 % ±2.0",
        ),
        (
            check(INCONCLUSIVE, suite(OPEN, *steady(2))),
            "inconclusive: 1 of 3 stayed open · decode/latency_p50 could hide up to 3.1 %",
        ),
        (
            check(INCONCLUSIVE, suite(OPEN, UNBOUNDED)),
            "inconclusive: 2 of 2 stayed open · decode/latency_p50 could hide anything",
        ),
        (
            check(NOT_MEASURED, suite(device_class="tpu-v5e", **NO_WORKER)),
            "not measured: no worker for device class tpu-v5e",
        ),
        (
            check(
                NOT_MEASURED,
                suite(device_class="tpu-v5e", **NO_WORKER),
                suite(device_class="inf2", **NO_WORKER),
            ),
            "not measured: no worker for device classes inf2 and tpu-v5e",
        ),
        (
            check(NOT_MEASURED, suite(device_class="inf2", reason="infra: connection reset", state="failed")),
            "not measured: the worker or its connection failed: connection reset (inf2)",
        ),
        (
            check(
                NOT_MEASURED,
                suite(untold("a", Verdict.NOT_MEASURED, reason="invalid_environment"), *steady(1)),
            ),
            "not measured: 1 of 2 could not be compared (too many pairs were disturbed from outside)",
        ),
        (
            check(NOT_MEASURED, suite(untold("a", Verdict.BASE_FAILS))),
            "not measured: 1 of 1 could not be compared (base fails)",
        ),
        (check(NOT_MEASURED), "not measured: there was nothing to compare"),
        (
            check(NOT_MEASURED, suite(state="succeeded")),
            "not measured: the job ended without results (cpu-xeon-platinum-8488c-8t)",
        ),
        (check(None, state="queued"), "queued"),
        (check(None, suite(state="running", finished_at=None)), "measuring: preparing base and head"),
    ],
)
def test_title_says_the_conclusion_in_correct_grammar(result: CheckResult, title: str) -> None:
    assert check_title(result) == title


def test_title_of_a_running_check_counts_what_is_settled() -> None:
    assert check_title(results.running()) == "measuring: 3 of 5 settled · 12 pairs so far"


def test_title_of_one_pair_is_singular() -> None:
    still = suite(measured("bert", 0.0, pairs=1), untold("vit", None), state="running", finished_at=None)
    assert check_title(check(None, still)).endswith("· 1 pair so far")


@pytest.mark.parametrize("make", results.EVERY.values(), ids=results.EVERY)
def test_every_title_is_one_short_line(make) -> None:
    title = check_title(make())
    assert title.isprintable()
    assert len(title) <= 160
