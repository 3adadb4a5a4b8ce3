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


def level(value: float, unit: str, **fields: Any) -> dict[str, Any]:
    given = {
        "metric": "samples_per_s", "unit": unit, "better": "higher", "value": value, "low": None, "high": None, "n": 1,
        "run": "12", "commit": "a" * 40, "source": "measured", "devices": 1, "per": None, "formula": None,
    }  # fmt: skip
    return given | fields


def quantity(
    base: dict[str, Any] | None, head: dict[str, Any] | None, ratio: float | None, **fields: Any
) -> dict[str, Any]:
    told = {"ratio": ratio, "ratio_low": ratio and ratio * 0.9, "ratio_high": ratio and ratio * 1.1}
    return {"better": "higher", "best": None, "base": base, "head": head, "why": []} | told | fields


def hardware(*names: str, head: str = "h100") -> dict[str, Any]:
    joules = level(2.0, "J/sample", source="energy_counter", devices=8)
    its = {
        "params": {},
        "two_commits": False,
        "performance": quantity(level(1e3, "samples/s"), level(2.5e3, "samples/s"), 2.5, best="head"),
        "energy": quantity(joules, None, None, why=["head: no energy_per_iter or perf_per_watt is stored"]),
        "perf_per_watt": quantity(None, None, None),
        "cost": quantity(level(0.5, "EUR", per="million samples", source="stated_price"), None, None),
    }
    mean = {
        "n": 1,
        "better": "higher",
        "best": "head",
        "ratio": 2.5,
        "ratio_low": 2.4,
        "ratio_high": 2.6,
        "why": None,
    }
    price = {"hour": 2.49, "currency": "EUR", "day": "2026-11-01", "devices": "l*"}
    return {
        "sentence": f"Best performance: {head}, 2.50 times as fast as l4 over 1 case.",
        "base": {"device_class": "l4", "price": price, "why": None},
        "head": {"device_class": head, "price": None, "why": f"no [prices] entry fits {head}"},
        "two_commits": 0,
        "means": dict.fromkeys(("performance", "energy", "perf_per_watt", "cost"), mean),
        "cases": [its | {"benchmark": name} for name in names],
    }


def test_two_device_classes_are_told_with_their_prices_and_where_each_number_is_from():
    text = render_stored(
        compared(pair("resize", 1.0, 0.4), hardware=hardware("resize")), width=None, color=False
    )
    lines = text.splitlines()
    assert lines[:3] == [
        "Best performance: h100, 2.50 times as fast as l4 over 1 case.",
        "base: l4, 2.49 EUR an hour, stated for l* as of 2026-11-01",
        "head: h100, price not known: no [prices] entry fits h100",
    ]
    rows = [" ".join(line.split()) for line in lines]
    assert "resize performance 1 k samples/s 2.5 k samples/s 2.50 2.25 … 2.75 head measured" in rows
    assert "resize energy 2 J/sample – – – energy counter, 8 devices" in rows
    assert "resize cost 0.5 EUR per million samples – – – stated price" in rows
    assert "1 stored series compared: 0 worse and 1 better than any value of base" in rows


def test_two_device_classes_without_common_cases_are_one_sentence():
    told = hardware() | {"sentence": "No case is on both device classes."}
    assert render_stored(compared(hardware=told), width=None, color=False).splitlines()[0] == told["sentence"]


def test_only_so_many_cases_have_lines_of_their_own():
    text = render_stored(
        compared(hardware=hardware(*(f"case{i}" for i in range(40)))), width=None, color=False
    )
    assert "case29" in text
    assert "case30" not in text
    assert "and 10 more cases, which GET /api/v1/compare has" in text


@pytest.mark.parametrize("width", [40, 60, 100])
def test_device_classes_fit_their_terminal_whatever_they_are_called(width: int):
    told = hardware(
        "a benchmark whose name is far too long\x1b[31m for this terminal", head="h\x1b[2J\u202e" * 9
    )
    text = render_stored(compared(hardware=told), width=width, color=False)
    assert [line for line in text.splitlines() if len(line) > width] == []
    assert "\x1b" not in text
    assert "\u202e" not in text


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
