import pytest

from workers.arms.listing import ListedCase, ListedFailure, Listing, has_cold_metric, primed
from workers.protocol import CaseListing, CaseMeasurement, MetricDecl, Value

P50 = MetricDecl(metric="latency_p50", unit="s", better="lower")
BASE = Listing(
    [
        ListedCase(
            "b/bench_add.py", CaseListing(benchmark="add", params={"n": n}, file_digest="d", metrics=[P50])
        )
        for n in (1, 2)
    ]
    + [ListedCase("b/bench_mul.py", CaseListing(benchmark="mul.BenchBig", file_digest="e"))]
)


def names(cases):
    return [(case.benchmark, case.params, case.failure) for case in cases]


def test_listed_cases_are_reported_as_they_are():
    assert Listing(BASE.cases).reported() == [listed.case for listed in BASE.cases]


def test_a_file_that_fails_fails_as_the_cases_that_the_other_arm_has_in_it():
    head = Listing([], [ListedFailure("b/bench_add.py", None, "import raised ImportError")])
    assert names(head.reported(BASE)) == [
        ("add", {"n": 1}, "import raised ImportError"),
        ("add", {"n": 2}, "import raised ImportError"),
    ]


def test_a_benchmark_that_fails_concerns_no_other_of_its_file():
    head = Listing([], [ListedFailure("b/bench_mul.py", "mul.BenchSmall", "no run")])
    assert names(head.reported(BASE)) == [("mul.BenchSmall", {}, "no run")]


def test_a_file_that_fails_in_both_arms_is_named_after_the_file():
    failed = Listing([], [ListedFailure("b/bench_add.py", None, "import raised ImportError")])
    assert names(failed.reported(failed)) == [("add", {}, "import raised ImportError")]


def test_a_failure_shows_the_end_of_its_log():
    failed = Listing([], [ListedFailure("b/bench_add.py", None, "died", "Segmentation fault")])
    assert failed.reported()[0].failure == "died\nSegmentation fault"
    assert failed.log_tail == "Segmentation fault"


def test_priming_tells_the_metrics():
    rate = Value(metric="tokens_per_s", value=2.0, unit="tokens/s", better="higher")
    case = CaseMeasurement(benchmark="add", params={"n": 1}, status="ok", values=[rate])
    listed = primed(BASE.reported(), [case])
    assert listed[0].metrics == [MetricDecl(metric="tokens_per_s", unit="tokens/s", better="higher")]
    assert (listed[0].file_digest, listed[1].metrics) == ("d", [P50])


def test_priming_tells_which_cases_fail():
    case = CaseMeasurement(
        benchmark="add", params={"n": 2}, status="failed", reason="run raised", log_tail="Traceback"
    )
    listed = primed(BASE.reported(), [case])
    assert [case.failure for case in listed] == [None, "run raised\nTraceback", None]


def test_cases_that_only_priming_shows_are_added():
    listed = primed([], [CaseMeasurement(benchmark="serving", status="ok")])
    assert names(listed) == [("serving", {}, None)]


@pytest.mark.parametrize(
    ("metrics", "is_cold"),
    [
        ([], False),
        (["latency_p50", "peak_memory"], False),
        (["scold_s"], False),
        (["x", "cold_start_s"], True),
    ],
)
def test_a_suite_is_cold_if_a_case_of_it_reports_a_cold_metric(metrics, is_cold):
    declared = [MetricDecl(metric=name, unit="s", better="lower") for name in metrics]
    listed = [CaseListing(benchmark="warm"), CaseListing(benchmark="resize", metrics=declared)]
    assert has_cold_metric(listed) is is_cold
