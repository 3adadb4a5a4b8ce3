import json
import math

import numpy as np

from benchmarks.detection import table
from benchmarks.detection.__main__ import finite
from benchmarks.detection.generator import Cell, make
from benchmarks.detection.peers import DETECTORS, Detector, otava

NUMBERS = {
    "f1": 0.876,
    "f1_worst": 0.7,
    "f1_worst_noise": "ar1",
    "delay_5": {"0.01": 3},
    "delay_2": {"0.01": math.inf},
    "seconds_per_1000": {"1000": 1.234},
    "speed_series": {"1000": 40},
}


def row(label: str, numbers: dict) -> str:
    lines = table.grid(table.DETECTION, {"x": numbers})
    return next(line[-1] for line in lines if line[0].startswith(label))


def test_row_shows_the_figure_and_the_worst_noise_model_by_name():
    assert row("F1, all lengths", NUMBERS) == "0.88"
    assert row("F1, worst", NUMBERS) == "0.70 ar1"


def test_delay_that_never_ends_says_never():
    assert row("median delay 5 % / 2 %, cv 1 %", NUMBERS) == "3 / never"


def test_seconds_say_from_how_many_series_they_are_extrapolated():
    assert row("seconds per 1000 series of 1 000", NUMBERS) == "1.23 (40)"


def test_figure_that_was_not_measured_is_a_dash():
    assert row("ramps", NUMBERS) == table.MISSING


def test_peer_that_is_absent_is_not_installed_in_every_row():
    lines = table.grid(table.DETECTION, {"x": {"missing": "no such module"}})
    assert {line[-1] for line in lines[1:]} == {"not installed"}


def test_table_has_columns_of_equal_width():
    lines = table.text(table.grid(table.CHECKS, {"x": NUMBERS})).splitlines()
    assert len({len(line) for line in lines}) == 1


def test_json_has_null_for_what_never_came():
    assert json.loads(json.dumps(finite({"delay": {"0.01": math.inf}, "n": 3}))) == {
        "delay": {"0.01": None},
        "n": 3,
    }


def test_otavas_environment_lies_in_the_cache_folder_that_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("RATCHET_BENCH_CACHE", str(tmp_path))
    assert otava.home().parent == tmp_path


def test_detector_that_takes_positions_gets_those_of_the_prefix():
    seen = []
    series = make(Cell("tuning", "flat", "missing_runs", 0.01, 60))
    Detector("x", "x", lambda values, x: seen.append((values, x)) or [], takes_x=True).find(series, 40)
    ((values, x),) = seen
    assert np.array_equal(values, series.values[:40])
    assert np.array_equal(x, series.x[:40])


def test_every_detector_has_a_module_with_a_loader():
    import importlib

    assert all(callable(importlib.import_module(module).load) for module in DETECTORS.values())
