"""`docs/control.md`, held against the kit and the rules that it explains."""

import re
from pathlib import Path

import pytest

from app.analysis import grades, health
from app.analysis.machine import DRIFT
from workers.control import pacing
from workers.control.backends import BACKENDS, UNASKED
from workers.control.probes import FULL, GEMM_BF16, GEMM_FP32
from workers.measuring.control import LONGEST_S
from workers.measuring.watching import MAX_CONTROL_DEVIATION

PAGE = (Path(__file__).parents[4] / "docs" / "control.md").read_text(encoding="utf-8")
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in PAGE.splitlines()
    if line.startswith("|")
]
MODULES = {"health": health, "grades": grades}


def row(first):
    return next(cells for cells in ROWS if cells[0] == first)


def test_every_probe_is_explained():
    named = {name for cells in ROWS for name in re.findall(r"`(\w+)`", cells[0])}
    assert {GEMM_BF16, GEMM_FP32, *FULL} - {"gemm"} <= named


@pytest.mark.parametrize("kind", BACKENDS)
def test_every_kind_of_device_has_its_backends_listed(kind):
    cells = next(cells for cells in ROWS if f"`{kind}`" in cells[0] and "`" in cells[1])
    assert re.findall(r"`(\w+)`", cells[1]) == list(UNASKED[kind])
    others = [name for name in BACKENDS[kind] if name not in UNASKED[kind]]
    assert re.findall(r"`(\w+)`", cells[2]) == others


@pytest.mark.parametrize(("mode", "pace"), [("full", pacing.FULL), ("short", pacing.SHORT)])
def test_limits_of_both_kits_are_those_of_the_code(mode, pace):
    _, limit, _, batches = row(mode)
    assert float(limit) == LONGEST_S[mode]
    least, batch_ms = map(int, re.findall(r"at least (\d+)", batches))
    assert (least, batch_ms / 1000) == (pace.least, pace.batch_s)
    assert f"{pace.warm_s:g} s" in PAGE


def test_changes_that_would_be_found_are_those_of_the_code():
    changes = [float(cell.rstrip(" %")) / 100 for cell in row("change")[1:]]
    deviations = map(float, row("largest standard deviation of pairs (ln units)")[1:])
    assert dict(zip(changes, deviations, strict=True)) == pytest.approx(dict(grades.LARGEST_SD))


def test_every_constant_of_the_rules_is_explained_with_its_value():
    explained = {
        tuple(cells[0].strip("`").split(".")): float(cells[1])
        for cells in ROWS
        if re.match(r"`(health|grades)\.", cells[0])
    }
    in_code = {
        (place, name): value
        for place, module in MODULES.items()
        for name, value in vars(module).items()
        if name.isupper() and isinstance(value, int | float)
    }
    assert explained == in_code


def test_thresholds_within_a_run_are_those_of_the_code():
    assert f"more than {MAX_CONTROL_DEVIATION:.1%}".replace("%", " %") in PAGE
    assert f"more than {DRIFT:.0%}".replace("%", " %") in PAGE
