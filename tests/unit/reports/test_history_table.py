"""The table of examined series."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import numpy as np
import pytest

from app.analysis.detection.results import ChangePoint, Episode, Examination
from app.reports.history_documents import ExaminedSeries
from app.reports.history_table import MANY_SERIES, render_histories
from app.reports.sparkline import MARK
from app.reports.text import columns

LONG = "serving/bert-large/batch=32,dtype=bf16,sequence=384/latency_p99"


def step(index: int = 40, **differences) -> ChangePoint:
    given = {
        "index": index, "start": index, "end": index, "before": 12.41, "after": 13.17,
        "change": 0.0612, "ci_low": 0.049, "ci_high": 0.074,
        "p_value": 2e-9, "kind": "step", "standing": "confirmed",
        **differences,
    }  # fmt: skip
    return ChangePoint(**given)


def series(name: str = "api", *changes: ChangePoint, n: int = 100, episodes=()) -> ExaminedSeries:
    values = np.full(n, 12.41)
    for change in changes:
        values[change.index :] = change.after
    return ExaminedSeries(name, np.arange(n) * 2 + 1000, values, Examination(changes, episodes, 0.012))


EVERY = [
    series("api", step()),
    series(
        LONG,
        step(20, after=11.0, change=-0.11),
        step(60, start=58, end=70, kind="ramp", standing="suspected"),
    ),
    series("quiet", n=30),
    series("日本語", episodes=(Episode(3, 5, "spike", 0.4), Episode(50, 100, "variance", 0.8))),
]


def rendered(examined=EVERY, *, width: int | None = 120, color: bool = False) -> str:
    return render_histories(examined, seconds=1.25, width=width, color=color)


def test_reader_sees_each_series_with_its_history_and_its_changes_below():
    lines = rendered([EVERY[0], EVERY[2]], width=90).splitlines()
    assert lines[0].split() == ["series", "n", "history", "noise"]
    assert re.fullmatch(rf"api +100  ▂+{MARK}▇+ +1.2 %", lines[1])
    assert lines[2] == "  ▲  +6.1 %  (+4.9 … +7.4 %)  12.41 → 13.17  x 1080  row 40  p 2e−9  step"
    assert re.fullmatch(r"quiet +30  [▄▅]+ +1.2 %", lines[3])
    assert lines[-1] == "2 series examined in 1.2 s: 1 change in 1 series"


def test_ramp_says_where_it_ends_and_suspicion_is_a_word():
    text = rendered()
    assert re.search(r"↗ +\+6.1 %.* x 1116 to 1140 .*ramp, suspected$", text, re.MULTILINE)
    assert re.search(r"▼ +−11.0 %", text)
    assert text.endswith("4 series examined in 1.2 s: 3 changes in 2 series, 1 suspected\n")


def test_spikes_and_noise_are_noted_beside_the_series():
    assert "1 spike, noise +80.0 % from x 1100" in rendered()


def test_difference_and_noise_beyond_all_numbers_are_left_out():
    far = step(before=-1.7e308, after=1.7e308, change=None, ci_low=None, ci_high=None)
    one = series("a", far)
    text = rendered([replace(one, found=replace(one.found, noise=math.inf, relative=False))])
    assert re.search(r"▲ +– +−1.7e\+308 → 1.7e\+308", text)
    assert "inf" not in text


def test_change_without_a_ratio_is_a_difference():
    assert "+1.5 " in rendered(
        [series("a", step(before=0.0, after=1.5, change=None, ci_low=None, ci_high=None))]
    )


@pytest.mark.parametrize("width", [20, 40, 60, 80, 100, 140, 300])
def test_no_line_is_wider_than_the_terminal(width: int):
    assert max(map(columns, rendered(width=width).splitlines())) <= max(width, 40)


@pytest.mark.parametrize("width", [40, 60, 80])
def test_size_and_place_of_a_change_stay_at_any_width(width: int):
    assert re.search(r"\+6.1 %.*x 1080", rendered(width=width))


def test_without_a_terminal_no_name_is_cut():
    assert LONG in rendered(width=None)
    assert LONG not in rendered(width=80)


def test_sparklines_take_the_room_that_a_wide_terminal_has():
    short, long = (max(map(len, re.findall(f"[▁-█{MARK}]+", rendered(width=w)))) for w in (80, 140))
    assert short < long


def test_colour_comes_only_when_asked_for_and_changes_no_word():
    painted = rendered(color=True)
    assert "\x1b[35m" in painted
    assert re.sub(r"\x1b\[[\d;]*m", "", painted) == rendered()


def test_many_series_show_those_with_changes_and_count_the_others():
    text = rendered([series(f"quiet{n}") for n in range(MANY_SERIES)] + EVERY[:1])
    assert "api" in text
    assert "quiet1" not in text
    assert f"and {MANY_SERIES} series without a change (--json lists them)" in text


def test_nothing_that_users_wrote_reaches_the_terminal_raw():
    text = rendered([series("a\x1b[2J\n\u202eb", step())])
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069]", text)
