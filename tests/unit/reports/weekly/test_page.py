"""The whole page and the letter, held against golden files, and the sentence that a week is told in.

RATCHET_WRITE_GOLDEN=1 writes the files anew: look at what has changed before it is kept.
"""

from __future__ import annotations

import os
import re
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from app.domain.alerts import AlertState
from app.domain.results import CommitRef
from app.domain.week import parse_week
from app.domain.weekly import (
    Cause,
    Changes,
    ClassEfficiency,
    Coverage,
    Drift,
    Efficiency,
    Efficient,
    EfficientCase,
    Level,
    Money,
    Monthly,
    MovedSeries,
    SeriesRef,
)
from app.domain.weekly_report import WeeklyReport
from app.reports.weekly.headline import headline, second_sentence
from app.reports.weekly.page import render_letter, render_weekly
from tests.factories import weekly_values as values

GOLDEN = Path(__file__).parents[3] / "data" / "weekly"
BASE = "https://ratchet.example"
WEEK = parse_week("2026-W47")
HOSTILE = "<script>alert(1)</script>\u202e\x1b[31m [x](javascript:alert(1)) & \"'"


def series(**fields: object) -> SeriesRef:
    its = SeriesRef(
        7, "acme/vision", "serve_llm", {"batch": 32}, "tokens_per_s", "tokens/s", "higher", "gpu-x"
    )
    return replace(its, **fields)


def moved(effect: float = 0.139, **fields: object) -> MovedSeries:
    its = MovedSeries(
        series(), 18_500.0, 16_095.0, -0.13, -0.135, -0.124, effect, (18_500.0, None, 18_450.0, 16_090.0)
    )
    return replace(its, **fields)


LOSS = Cause(
    project="acme/vision",
    series=(moved(), moved(series=series(metric="mfu", unit="1"), before=0.41, after=0.357)),
    n_series=3,
    commit=CommitRef("4f1d2c9ab07e6d5583b1c2ef90a4477d1e6c3b58", "Pad the batch", "Ada Lovelace"),
    previous="b" * 40,
    since=datetime(2026, 11, 17, 10, tzinfo=UTC),
    is_new=True,
    monthly=Monthly(3_305.2, None, (Money(8_230.5, "EUR"),), ("5e9 tokens a day (stated 2026-10-01)",)),
    alert_id=12,
    state=AlertState.ACKNOWLEDGED,
    owner="ada",
    pull=481,
    pull_url="https://github.com/acme/vision/pull/481",
)
OLDER = replace(
    LOSS, is_new=False, monthly=None, owner=None, state=None, alert_id=None, pull=None, n_series=1
)
GAIN = replace(
    OLDER,
    series=(moved(-0.1, change=0.105, before=100.0, after=110.5, ci_low=None, ci_high=None),),
    monthly=Monthly(-10.0, None, (Money(-24.9, "EUR"),)),
)
DRIFT = Drift(moved(0.06), parse_week("2026-W34"), 0.0, 0.06, 0.004, Monthly(device_hours=12.0))
LEVEL = Level(0.41, 0.405, 0.414, 42)
MFU = Efficient(
    series(metric="mfu", unit="1"), LEVEL, replace(LEVEL, median=0.42), 0.47, "c" * 40, (0.42, 0.41)
)
CASE = EfficientCase("acme/vision", "serve_llm", {"batch": 32}, "gpu-x", (MFU,), 0.41, 0.42)


def report(**fields: object) -> WeeklyReport:
    full = WeeklyReport(
        project="",
        week=WEEK,
        made_at=datetime(2026, 11, 23, 6, 0, 4, tzinfo=UTC),
        coverage=Coverage(14, 13, 140, 10, (("passed", 9), ("not_measured", 1))),
        changes=Changes(
            waste=(LOSS, OLDER),
            n_waste=14,
            n_new=1,
            gains=(GAIN,),
            n_gains=1,
            drifts=(DRIFT,),
            n_drifts=1,
            n_suspected=2,
            waste_total=LOSS.monthly,
            gains_total=GAIN.monthly,
        ),
        efficiency=Efficiency(
            (ClassEfficiency("gpu-x", "mfu", "1", "higher", 12, 0.41, 1.012, 12),), (CASE,), 12
        ),
        bottlenecks=(),
        hardware=(),
        scaling=(),
        fleet=values.fleet(),
        alerts=values.alerts(),
    )
    return replace(full, **fields)


def held_against(name: str, text: str) -> None:
    """Compare with a golden file, without style sheets: they change, and are looked at elsewhere."""
    bare = re.sub(r"<style>.*?</style>", "<style></style>", text, flags=re.DOTALL)
    bare = re.sub(r"base64,[\w+/=]+", "base64,", bare)
    file = GOLDEN / name
    if os.environ.get("RATCHET_WRITE_GOLDEN"):
        file.write_text(bare, encoding="utf-8")
    assert bare == file.read_text(encoding="utf-8")


def test_a_full_page_reads_as_its_golden_file() -> None:
    held_against("page.html", render_weekly(report(), BASE))


def test_a_letter_reads_as_its_golden_file() -> None:
    held_against("letter.html", render_letter(report(), BASE))


def test_names_that_mean_harm_are_shown_and_do_none() -> None:
    commit = CommitRef("4" * 40, HOSTILE, HOSTILE)
    loss = replace(
        LOSS,
        project=HOSTILE,
        owner=HOSTILE,
        commit=commit,
        series=(moved(series=series(benchmark=HOSTILE, device_class=HOSTILE, project=HOSTILE)),),
    )
    changes = replace(report().changes, waste=(loss,))
    for render in (render_weekly, render_letter):
        html = render(report(project=HOSTILE, changes=changes), BASE)
        assert "<script>alert" not in html
        assert "alert(1)" in html
        assert "\u202e" not in html
        assert "\x1b" not in html
        assert not re.findall(r'href="(?!https://|#|data:image/svg)[^"]*"', html)


@pytest.mark.parametrize(
    ("changes", "first", "second"),
    [
        (
            Changes(waste=(LOSS,), n_waste=1, n_new=1, waste_total=LOSS.monthly),
            "1 loss stands, and it is new in this week: 8\u202f230\u00a0EUR a month.",
            "First: serve_llm[batch=32] on gpu-x −13.0 % (8\u202f230\u00a0EUR a month), "
            "since 4f1d2c9ab0 by Ada Lovelace; ada has it.",
        ),
        (
            Changes(waste=(OLDER,), n_waste=3),
            "3 losses stand, none of them new.",
            "First: serve_llm[batch=32] on gpu-x −13.0 %, since 4f1d2c9ab0 by Ada Lovelace; nobody has taken it on.",
        ),
        (
            Changes(drifts=(DRIFT,), n_drifts=1),
            "No single commit made anything worse that still is, but 1 series drifts slowly for the worse.",
            "First: serve_llm[batch=32] on gpu-x −13.0 % since the week of 17 August.",
        ),
        (
            Changes(gains=(GAIN,), n_gains=2),
            "No known loss stands, and 2 changes made something better.",
            "Best: serve_llm[batch=32] on gpu-x +10.5 % (24.90\u00a0EUR a month).",
        ),
        (Changes(), "No known loss stands, and nothing has moved.", ""),
    ],
    ids=["new", "older", "drift", "better", "nothing"],
)
def test_the_week_is_told_in_a_sentence(changes: Changes, first: str, second: str) -> None:
    its = report(changes=changes)
    assert headline(its) == first
    assert second_sentence(its).replace("\u2068", "").replace("\u2069", "") == second


def test_without_a_price_the_tile_counts_losses() -> None:
    changes = replace(report().changes, waste=(OLDER,), waste_total=None, n_waste=1, n_new=0)
    html = render_weekly(report(changes=changes), BASE)
    assert '<b>1</b><span class="small">0 new</span>' in html
