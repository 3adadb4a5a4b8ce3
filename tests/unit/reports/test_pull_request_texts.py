"""What a pull request is told, as its author reads it: the words, what they survive, and how much of them fits."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from app.domain.results import CheckResult
from app.domain.verdicts import Conclusion, Verdict
from app.reports.pull_request import (
    check_summary,
    comment_body,
    is_worth_a_comment,
    marker_of,
    rests_on_rough_machines,
)
from app.reports.pull_request.markdown import as_many_as_fit, block, code, size_b, words
from app.reports.ranking import with_verdict
from tests.factories import results

GOLDEN = Path(__file__).parents[2] / "data" / "reports" / "pull_request"
PAGE = "https://ratchet.example/checks/7"
MARKER = marker_of(5, 12)


def golden(name: str) -> str:
    return (GOLDEN / f"{name}.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "kind", ["regressed", "failing", "inconclusive", "improved", "hostile", "over_budget"]
)
def test_a_comment_reads_as_its_golden_file(kind: str) -> None:
    assert comment_body(getattr(results, kind)(), MARKER, PAGE) == golden(f"{kind}.comment")


@pytest.mark.parametrize(
    "kind", ["regressed", "passed", "no_capacity", "running", "queued", "empty", "over_budget"]
)
def test_a_summary_reads_as_its_golden_file(kind: str) -> None:
    assert check_summary(getattr(results, kind)(), PAGE) == golden(f"{kind}.summary")


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("regressed", True),
        ("failing", True),
        ("improved", True),
        ("passed", False),
        ("inconclusive", False),
        ("no_capacity", False),
    ],
)
def test_only_what_changed_is_worth_a_comment(kind: str, expected: bool) -> None:
    assert is_worth_a_comment(getattr(results, kind)()) is expected


def graded(*cases: tuple[Verdict, str | None]) -> CheckResult:
    found = [
        replace(results.untold(f"b{i}", verdict, change=0.1), grade=grade)
        for i, (verdict, grade) in enumerate(cases)
    ]
    return results.check(Conclusion.REGRESSED, results.suite(*found))


@pytest.mark.parametrize(
    ("cases", "expected"),
    [
        ([(Verdict.REGRESSED, "C"), (Verdict.NO_REGRESSION, "A")], True),
        ([(Verdict.REGRESSED, "C"), (Verdict.REGRESSED, "B")], False),
        ([(Verdict.REGRESSED, "C"), (Verdict.REGRESSED, None)], False),
        ([(Verdict.REGRESSED, "C"), (Verdict.HEAD_FAILS, None)], False),
        ([(Verdict.NO_REGRESSION, "C")], False),
    ],
)
def test_only_what_rests_on_grade_c_alone_is_rough(
    cases: list[tuple[Verdict, str | None]], expected: bool
) -> None:
    result = graded(*cases)
    assert rests_on_rough_machines(result) is expected
    assert ("a machine of grade C" in check_summary(result, PAGE)) is expected


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("resize", "`resize`"),
        ("a|b", "`a\\|b`"),
        ("a`b", "``a`b``"),
        ("`a`", "`` `a` ``"),
        ("@everyone", "`@everyone`"),
        ("<!-- ratchet:5:12 -->", "`<!-- ratchet:5:12 -->`"),
        ("two\nlines", "`two lines`"),
        ("", "`   `"),
    ],
)
def test_a_name_is_a_code_span_in_which_nothing_has_an_effect(name: str, shown: str) -> None:
    assert code(name) == shown


@pytest.mark.parametrize(
    ("sentence", "shown"),
    [
        ("plain words: 3 % (really)", "plain words: 3 % (really)"),
        ("*bold* _it_ [a](b) `c` |", r"\*bold\* \_it\_ \[a\](b) \`c\` \|"),
        ("<img src=x> & more", "&lt;img src=x&gt; &amp; more"),
        ("ask @ada", "ask @\u200bada"),
        ("fixes #12", "fixes #\u200b12"),
        ("see https://evil.example", "see https:\u200b//evil.example"),
        ("see www.evil.example", "see w\u200bww.evil.example"),
        ("$x^2$", r"\$x^2\$"),
    ],
)
def test_a_sentence_reads_as_it_was_written_and_calls_nobody(sentence: str, shown: str) -> None:
    assert words(sentence) == shown


def test_a_block_is_not_ended_by_what_is_in_it() -> None:
    assert block("a\n```\nb") == "````\na\n```\nb\n````"


def test_rows_are_counted_in_bytes() -> None:
    assert as_many_as_fit(["äää", "b", "c"], 9) == (["äää", "b"], 1)


@pytest.mark.parametrize("limit_b", [6_000, 60_000])
@pytest.mark.parametrize("kind", ["large", "worst_case", "hostile"])
def test_texts_stay_within_the_limit(kind: str, limit_b: int) -> None:
    result: CheckResult = getattr(results, kind)()
    assert size_b(check_summary(result, PAGE, limit_b=limit_b)) <= limit_b
    assert size_b(comment_body(result, MARKER, PAGE, limit_b=limit_b)) <= limit_b


def test_of_very_many_results_no_regression_is_cut() -> None:
    result = results.large(10_000)
    comment, summary = comment_body(result, MARKER, PAGE), check_summary(result, PAGE)
    regressed = with_verdict(result, results.Verdict.REGRESSED)
    assert 0 < len(regressed) < 300
    for finding in regressed:
        assert code(finding.name) in comment
        assert code(finding.name) in summary
    assert "more](https://ratchet.example/checks/7)" in summary
