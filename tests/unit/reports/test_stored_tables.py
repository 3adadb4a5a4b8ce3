"""Stored comparisons and lists of runs on a terminal: what is worst comes first, and everything fits."""

from __future__ import annotations

from typing import Any

import pytest

from app.reports.run_list import render_runs, run_row
from app.reports.stored_comparison import pair_row, render_stored


def pair(benchmark: str, base: float, head: float, *, spread: float = 0.01, **fields: Any) -> dict[str, Any]:
    sides = {"base": base, "head": head}
    told = {
        f"{side}_{name}": value
        for side, median in sides.items()
        for name, value in (
            ("median", median),
            ("low", median * (1 - spread)),
            ("high", median * (1 + spread)),
            ("n", 3),
            ("run", "upload-1"),
            ("commit", "a" * 40),
        )
    }
    its = {
        "id": 1,
        "project": "p",
        "benchmark": benchmark,
        "params": {"batch": 32},
        "metric": "m",
        "unit": "s",
    }
    rest = {
        "better": "lower",
        "device_class": "cpu-2t",
        "version": "",
        "change": head / base - 1 if base else None,
    }
    return its | rest | told | fields


def compared(*pairs: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"series": list(pairs), "only_base": [], "only_head": []} | fields


def run(**fields: Any) -> dict[str, Any]:
    return {
        "run": "12", "kind": "measured", "project": "acme/vision", "base": "b" * 40, "head": "a" * 40,
        "subject": "faster", "author": "Ada", "device_class": "cpu-2t", "suite": "inference", "by": "w1",
        "outcome": "ok", "reason": None, "results": 7, "created_at": "2026-01-31T12:00:00+00:00", "ended_at": None,
    } | fields  # fmt: skip


def test_worst_comes_first_whichever_way_is_better():
    text = render_stored(
        compared(
            pair("same", 1.0, 1.001),
            pair("better", 2.0, 1.0),
            pair("worse", 1.0, 1.5),
            pair("rate", 4.0, 1.0, better="higher", unit="1/s"),
            pair("zero", 0.0, 1.0),
        ),
        width=None,
        color=False,
    )
    rows = text.splitlines()[1:6]
    assert [row[0] + row[3:].split("[")[0] for row in rows] == [
        "✗rate",
        "✗worse",
        " same",
        "✗zero",
        "★better",
    ]
    assert "5 stored series compared: 3 worse and 1 better than any value of base" in text
    assert "no verdict" in text


def test_what_one_side_has_alone_is_counted():
    text = render_stored(
        compared(only_head=[pair("new", 1.0, 1.0)], only_base=[pair("a", 1, 1)] * 2), width=None, color=False
    )
    assert text.splitlines()[1:3] == ["2 only in base", "1 only in head"]


@pytest.mark.parametrize("width", [40, 60, 100])
def test_tables_fit_their_terminal(width: int):
    long = "a benchmark whose name is far too long for this terminal"
    tables = [
        render_stored(compared(pair(long, 1.0, 2.0)), width=width, color=False),
        render_runs([run(subject="s" * 90, device_class="nvidia-h100-sxm5-80gb")], width=width, color=False),
    ]
    assert [line for table in tables for line in table.splitlines() if len(line) > width] == []


def test_run_says_its_commits_and_how_it_ended():
    first, going, failed = render_runs(
        [run(), run(base=None, outcome=None), run(outcome="infra_failed")], width=None, color=False
    ).splitlines()[1:]
    assert "2026-01-31 12:00" in first
    assert f"  {'a' * 10}  " in first
    assert going.endswith("going on")
    assert failed.endswith("infra failed")


def test_rows_have_a_cell_a_column():
    assert pair_row(pair("b", 1.0, 2.0))[3] == "batch=32"
    assert run_row(run())[:2] == ["12", "measured"]
