import pytest

from app.domain.verdicts import EXIT_STATUS, Conclusion, GatingVerdict, Verdict, conclude

R, BETTER, N = Verdict.REGRESSED, Verdict.IMPROVED, Verdict.NO_REGRESSION
Q, NEW, REMOVED = Verdict.INCONCLUSIVE, Verdict.NEW, Verdict.REMOVED
HEAD_FAILS, BASE_FAILS, NOT_MEASURED = Verdict.HEAD_FAILS, Verdict.BASE_FAILS, Verdict.NOT_MEASURED


def gating(*verdicts: Verdict, could_hide: float | None = 0.03) -> list[GatingVerdict]:
    return [GatingVerdict(v, could_hide if v is Verdict.INCONCLUSIVE else None) for v in verdicts]


@pytest.mark.parametrize(
    ("verdicts", "conclusion"),
    [
        # regressed: the first row, before anything else
        ([R], Conclusion.REGRESSED),
        ([HEAD_FAILS], Conclusion.REGRESSED),
        ([N] * 99 + [R], Conclusion.REGRESSED),
        ([BETTER] * 99 + [HEAD_FAILS], Conclusion.REGRESSED),
        ([NOT_MEASURED] * 99 + [R], Conclusion.REGRESSED),
        ([Q] * 99 + [R], Conclusion.REGRESSED),
        ([NEW, REMOVED, R], Conclusion.REGRESSED),
        # not measured: over 5 % not measured or base fails, or nothing at all
        ([], Conclusion.NOT_MEASURED),
        ([NOT_MEASURED], Conclusion.NOT_MEASURED),
        ([BASE_FAILS], Conclusion.NOT_MEASURED),
        ([REMOVED] * 3, Conclusion.NOT_MEASURED),
        ([N] * 18 + [NOT_MEASURED, BASE_FAILS], Conclusion.NOT_MEASURED),
        ([N] * 18 + [NOT_MEASURED], Conclusion.NOT_MEASURED),
        ([NEW] * 40 + [N, NOT_MEASURED], Conclusion.NOT_MEASURED),
        ([Q] * 19 + [NOT_MEASURED] * 2, Conclusion.NOT_MEASURED),
        # inconclusive: over 5 % are
        ([Q], Conclusion.INCONCLUSIVE),
        ([N] * 18 + [Q], Conclusion.INCONCLUSIVE),
        ([N] * 38 + [Q, Q, NOT_MEASURED], Conclusion.PASSED),
        ([N] * 37 + [Q, Q, Q, NOT_MEASURED], Conclusion.INCONCLUSIVE),
        # passed: the rest
        ([N], Conclusion.PASSED),
        ([BETTER], Conclusion.PASSED),
        ([NEW], Conclusion.PASSED),
        ([NEW, REMOVED], Conclusion.PASSED),
        ([N, REMOVED], Conclusion.PASSED),
        ([N] * 19 + [NOT_MEASURED], Conclusion.PASSED),
        ([N] * 19 + [BASE_FAILS], Conclusion.PASSED),
        ([N] * 19 + [Q], Conclusion.PASSED),
        ([N] * 38 + [Q, Q], Conclusion.PASSED),
    ],
)
def test_conclusion_is_the_first_row_of_the_table_that_holds(verdicts, conclusion):
    assert conclude(gating(*verdicts)) is conclusion
    assert conclude(reversed(gating(*verdicts))) is conclusion


@pytest.mark.parametrize("hundreds", range(1, 20))
@pytest.mark.parametrize(
    ("open_verdict", "conclusion"), [(Q, Conclusion.INCONCLUSIVE), (NOT_MEASURED, Conclusion.NOT_MEASURED)]
)
def test_exactly_five_percent_passes_at_every_size_and_one_more_does_not(hundreds, open_verdict, conclusion):
    total, allowed = 20 * hundreds, hundreds
    assert conclude(gating(*[N] * (total - allowed), *[open_verdict] * allowed)) is Conclusion.PASSED
    assert conclude(gating(*[N] * (total - allowed - 1), *[open_verdict] * (allowed + 1))) is conclusion


@pytest.mark.parametrize(
    ("could_hide", "conclusion"),
    [
        (0.0, Conclusion.PASSED),
        (0.10, Conclusion.PASSED),
        (0.1001, Conclusion.INCONCLUSIVE),
        (None, Conclusion.INCONCLUSIVE),
    ],
)
def test_one_open_verdict_that_could_hide_too_much_keeps_a_check_from_passing(could_hide, conclusion):
    assert conclude(gating(*[N] * 99, Q, could_hide=could_hide)) is conclusion


def test_what_a_settled_verdict_could_have_hidden_does_not_matter():
    assert conclude([GatingVerdict(N, 5.0), GatingVerdict(BETTER, None)]) is Conclusion.PASSED


@pytest.mark.parametrize(
    ("verdicts", "jobs", "conclusion"),
    [
        ([], 1, Conclusion.NOT_MEASURED),
        ([N] * 18, 1, Conclusion.NOT_MEASURED),
        ([N] * 19, 1, Conclusion.PASSED),
        ([N] * 38, 2, Conclusion.PASSED),
        ([N] * 19 + [NOT_MEASURED], 1, Conclusion.NOT_MEASURED),
        ([NEW], 1, Conclusion.NOT_MEASURED),
        ([REMOVED] * 40, 1, Conclusion.NOT_MEASURED),
        ([R], 50, Conclusion.REGRESSED),
    ],
)
def test_job_that_listed_no_case_counts_as_one_that_was_not_measured(verdicts, jobs, conclusion):
    assert conclude(gating(*verdicts), unmeasured_jobs=jobs) is conclusion


def test_every_conclusion_has_an_exit_status_of_its_own():
    assert set(EXIT_STATUS) == set(Conclusion)
    assert EXIT_STATUS[Conclusion.PASSED] == 0
    assert sorted(EXIT_STATUS.values()) == [0, 1, 2, 3]


@pytest.mark.parametrize("verdict", Verdict)
def test_every_verdict_alone_leads_to_a_conclusion(verdict):
    failing = {R, HEAD_FAILS}
    assert (conclude(gating(verdict)) is Conclusion.REGRESSED) == (verdict in failing)
