"""The table of compared benchmarks."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from app.analysis.comparison.results import Comparison
from app.domain.verdicts import Verdict
from app.reports.comparison_table import ComparisonRule, render_comparisons
from app.reports.grid import MANY_ROWS, QUIET_ROWS
from app.reports.text import columns

LOWER, HIGHER = ComparisonRule("lower", 0.0, 0.02), ComparisonRule("higher", 0.005, 0.02)


def compared(
    name: str, change: float | None, verdict: Verdict, half: float = 0.005, n: int = 10
) -> Comparison:
    low, high = (None, None) if change is None else (change - half, change + half)
    return Comparison(name, change, low, high, 0.001, 0.004, verdict, n, 10)


EVERY = [
    compared("steady", 0.001, Verdict.NO_REGRESSION),
    compared("slower", 0.084, Verdict.REGRESSED),
    compared("one side", None, Verdict.INCONCLUSIVE, n=0),
    compared("faster", -0.05, Verdict.IMPROVED),
    compared("noisy/with/a/very/long/name/of/many/parts", 0.01, Verdict.INCONCLUSIVE, half=0.6),
]


def rendered(found=EVERY, rule=LOWER, *, width: int | None = 120, color: bool = False) -> str:
    return render_comparisons(found, rule, seconds=0.2, width=width, color=color)


def names(text: str) -> list[str]:
    return re.findall(r"^[✓✗★?] +(\w+)", text, re.MULTILINE)


def test_reader_sees_the_worst_change_first_with_interval_and_verdict():
    text = rendered()
    assert names(text) == ["slower", "noisy", "steady", "faster", "one"]
    row = next(line for line in text.splitlines() if "slower" in line)
    assert re.fullmatch(r"✗  slower +\+8.4 % +\+7.9 … \+8.9 %.*●.* 0.004 +10  regressed", row)


def test_summary_counts_verdicts_and_names_the_rule():
    lines = rendered(rule=HIGHER).splitlines()
    assert (
        lines[-2]
        == "5 benchmarks compared in 0.2 s: 1 regressed, 1 improved, 2 inconclusive, 1 no regression"
    )
    assert lines[-1] == "(higher is better, minimum effect 0.5 %, tolerance 2 %)"


def test_where_higher_is_better_a_fall_is_the_worst_and_drawn_to_the_right():
    text = rendered(
        [compared("fell", -0.05, Verdict.REGRESSED), compared("rose", 0.05, Verdict.IMPROVED)], HIGHER
    )
    assert names(text) == ["fell", "rose"]
    fell, rose = (next(line for line in text.splitlines() if name in line) for name in ("fell", "rose"))
    assert fell.index("│") < fell.index("●")
    assert rose.index("●") < rose.index("│")


def test_interval_that_holds_zero_crosses_its_line():
    (row,) = (line for line in rendered(width=None).splitlines() if "noisy" in line)
    assert "┼" in row


def test_row_without_a_change_says_why():
    from_zero = replace(compared("memory", None, Verdict.REGRESSED), note="base is around 0")
    (row,) = (line for line in rendered([from_zero]).splitlines() if "memory" in line)
    assert re.fullmatch(r"✗  memory +–  base is around 0 .*  regressed", row)


def test_sides_of_different_size_are_both_counted():
    (row,) = (line for line in rendered().splitlines() if "one side" in line)
    assert " 0/10 " in row
    assert "–" in row


@pytest.mark.parametrize("width", [20, 40, 60, 80, 100, 140])
def test_no_line_is_wider_than_the_terminal(width: int):
    assert max(map(columns, rendered(width=width).splitlines())) <= max(width, 40)


@pytest.mark.parametrize(
    ("width", "present", "absent"),
    [
        (100, ["interval", "better", " q ", " n "], []),
        (76, ["interval", " q ", " n "], ["better"]),
        (60, ["interval"], ["better", " q ", " n "]),
        (45, ["change", "verdict"], ["interval", "better", " q ", " n "]),
    ],
)
def test_columns_that_matter_less_leave_first(width: int, present: list[str], absent: list[str]):
    header = rendered(width=width).splitlines()[0]
    assert all(title in header for title in present)
    assert not any(title in header for title in absent)


def test_without_a_terminal_no_name_is_cut():
    assert EVERY[-1].benchmark in rendered(width=None)


def test_colour_comes_only_when_asked_for_and_changes_no_word():
    painted = rendered(color=True)
    assert "\x1b[31m" in painted
    assert re.sub(r"\x1b\[[\d;]*m", "", painted) == rendered()


def test_many_rows_leave_the_quietest_out_and_say_so():
    quiet = [compared(f"quiet{n}", n / 1e4, Verdict.NO_REGRESSION) for n in range(MANY_ROWS)]
    text = rendered([*quiet, *EVERY])
    assert len(re.findall(r"  no regression$", text, re.MULTILINE)) == QUIET_ROWS
    assert f"and {MANY_ROWS + 1 - QUIET_ROWS} more show no regression, with smaller changes" in text
    assert {"slower", "noisy", "faster", "one"} <= set(names(text))


def test_nothing_that_users_wrote_reaches_the_terminal_raw():
    text = rendered([compared("a\x1b[2J\n\u202eb", 0.1, Verdict.REGRESSED)])
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069]", text)
