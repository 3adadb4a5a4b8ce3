import re
from dataclasses import replace
from pathlib import Path

import pytest

from app.domain.results import CommitRef, Note
from app.domain.verdicts import Conclusion, Verdict
from app.reports.grid import MANY_ROWS, QUIET_ROWS
from app.reports.terminal import render_check
from app.reports.text import columns
from tests.factories import results
from tests.factories.results import check, measured, suite, untold

GOLDEN = Path(__file__).parents[2] / "data" / "reports"


@pytest.mark.parametrize("kind", ["regressed", "failing", "inconclusive", "no_capacity", "running"])
def test_terminal_shows_what_a_reader_expects_to_see(kind: str) -> None:
    expected = (GOLDEN / f"{kind}.txt").read_text("utf-8")
    assert render_check(results.EVERY[kind](), width=120, color=False) == expected


@pytest.mark.parametrize("width", [20, 40, 60, 80, 110, 200])
@pytest.mark.parametrize("make", results.EVERY.values(), ids=results.EVERY)
def test_no_line_is_wider_than_the_terminal(make, width: int) -> None:
    lines = render_check(make(), width=width, color=False).splitlines()
    told = [line for line in lines if not line.startswith("reproduce:")]
    assert max(map(columns, told)) <= max(width, 40)


@pytest.mark.parametrize("make", results.EVERY.values(), ids=results.EVERY)
def test_nothing_that_users_wrote_reaches_the_terminal_raw(make) -> None:
    text = render_check(make(), width=100, color=False)
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069]", text)


@pytest.mark.parametrize(
    ("width", "present", "absent"),
    [
        (115, ["base → head", "interval", "pairs", "grade"], []),
        (110, ["base → head", "interval", "pairs"], ["grade"]),
        (90, ["interval", "pairs"], ["grade", "base → head"]),
        (76, ["interval"], ["grade", "base → head", "pairs"]),
        (60, ["metric", "change", "verdict"], ["grade", "base → head", "pairs", "interval"]),
        (40, ["change", "verdict"], ["grade", "base → head", "pairs", "interval", "metric"]),
    ],
)
def test_columns_that_matter_less_leave_first(width: int, present: list[str], absent: list[str]) -> None:
    lines = render_check(results.regressed(), width=width, color=False).splitlines()
    header = next(line for line in lines if line.lstrip().startswith("case"))
    assert all(title in header for title in present)
    assert not any(title in header for title in absent)


def test_colour_comes_only_when_asked_for_and_changes_no_word() -> None:
    plain = render_check(results.regressed(), width=100, color=False)
    painted = render_check(results.regressed(), width=100, color=True)
    assert "\x1b[31m" in painted
    assert re.sub(r"\x1b\[[\d;]*m", "", painted) == plain


def test_many_rows_leave_the_quietest_out_and_say_so() -> None:
    text = render_check(results.large(200), width=120, color=False)
    assert text.count("no regression\n") == QUIET_ROWS
    assert re.search(r"and \d+ more show no regression", text)
    assert text.count("  regressed\n") == 3


def test_few_rows_are_all_shown() -> None:
    cases = results.grid(MANY_ROWS)
    text = render_check(check(Conclusion.PASSED, suite(*cases)), width=120, color=False)
    assert "more" not in text


def test_a_log_is_shown_once_and_only_its_end() -> None:
    log = "\n".join(f"line {n}" for n in range(100))
    cases = [untold(f"case_{n}", Verdict.HEAD_FAILS, reason="failed", log_tail=log) for n in range(5)]
    text = render_check(check(Conclusion.REGRESSED, suite(*cases)), width=120, color=False)
    assert text.count("line 99") == 1
    assert "line 50" not in text
    assert "and 2 more" in text


def test_subject_is_its_first_line_made_safe_and_cut_at_its_end() -> None:
    head = CommitRef("c" * 40, f"Speed up\x1b[2J the decoder {'x' * 60} END\n\nbody")
    lines = render_check(replace(results.regressed(), head=head), width=60, color=False).splitlines()
    line = next(line for line in lines if line.startswith("  head "))
    assert line.startswith("  head cccccccccc  Speed up the decoder xxx")
    assert line.endswith("…")
    assert columns(line) == 60


def test_addresses_to_copy_are_never_cut() -> None:
    address = f"https://{'long.' * 20}example/checks/12"
    lines = render_check(results.regressed(), width=40, color=False, page=address).splitlines()
    assert lines[-2] == f"page: {address}"
    assert lines[-1].startswith("reproduce: ratchet check")


def test_check_without_a_page_names_none() -> None:
    assert "page:" not in render_check(results.regressed(), width=100, color=False)


@pytest.mark.parametrize(("better", "cell"), [("lower", "≤ +0."), ("higher", "≥ −0.")])
def test_result_without_regression_shows_the_bound_that_settled_it(better, cell: str) -> None:
    case = measured("vit", 0.0, better=better, noise=0.001, pairs=4, m=40)
    assert (case.verdict, case.ci_low, case.ci_high) == (Verdict.NO_REGRESSION, None, None)
    text = render_check(check(Conclusion.PASSED, suite(case)), width=100, color=False)
    assert cell in text
    assert "unbounded" not in text


def test_note_about_the_settings_is_told_with_its_flag() -> None:
    note = Note("budget_unmatched", '[[budget]] on "p99" of "serve" limits nothing')
    text = render_check(replace(results.passed(), notes=(note,)), width=100, color=False)
    assert f"note: {note.flag}: {note.message}\n" in text
