"""Results for other programs: JSON Lines and CSV."""

from __future__ import annotations

import csv
import io
import json
import math
from pathlib import Path

import numpy as np
import pytest

from app.analysis.comparison.results import Comparison
from app.analysis.detection.results import ChangePoint, Episode, Examination
from app.domain.verdicts import Verdict
from app.reports import comparison_documents, history_documents
from app.reports.comparison_documents import comparison_document, comparison_row
from app.reports.documents import csv_line, json_line
from app.reports.history_documents import ExaminedSeries, history_document, history_rows

CHANGE = ChangePoint(3, 2, 5, 0.1, 1 / 3, 7 / 3, math.nan, math.inf, 1e-300, "ramp", "suspected")


def series(**differences) -> ExaminedSeries:
    found = Examination((CHANGE,), (Episode(1, 2, "spike", None),), noise=math.nan)
    given = {"name": "a", "x": np.arange(10, 18), "values": np.ones(8), "found": found, **differences}
    return ExaminedSeries(**given)


def test_series_has_the_keys_of_the_contract_first_and_then_more():
    document = history_document(series())
    assert list(document) == ["series", "change_points", "n", "noise", "noise_is_relative", "episodes"]
    (change,) = document["change_points"]
    assert list(change)[:4] == ["index", "before", "after", "p_value"]
    assert change["x"] == 13
    assert (change["kind"], change["standing"], change["start"], change["end"]) == ("ramp", "suspected", 2, 5)
    assert document["episodes"] == [{"kind": "spike", "start": 1, "end": 2, "x": 11, "size": None}]


def test_benchmark_has_the_keys_of_the_contract_first_and_then_more():
    compared = Comparison("k", 0.06, 0.05, 0.07, 0.001, 0.01, Verdict.REGRESSED, 10, 12)
    document = comparison_document(compared)
    assert list(document)[:7] == "benchmark change ci_low ci_high p_value q_value verdict".split()
    assert document["verdict"] == "regressed"
    assert comparison_row(compared) == ["k", 0.06, 0.05, 0.07, 0.001, 0.01, "regressed", 10, 12, None]


def test_json_is_one_compact_line_of_ascii_without_nan_whose_numbers_round_trip():
    line = json_line(history_document(series(name="日本\u202e\n")))
    assert line.endswith("\n")
    assert line.count("\n") == 1
    assert line.isascii()
    assert " " not in line
    assert "NaN" not in line
    assert "Infinity" not in line
    found = json.loads(line)
    assert found["series"] == "日本\u202e\n"
    change = found["change_points"][0]
    assert (change["before"], change["after"], change["p_value"]) == (0.1, 1 / 3, 1e-300)
    assert (change["ci_low"], change["ci_high"], found["noise"]) == (None, None, None)


def test_numbers_of_numpy_become_plain_ones():
    change = ChangePoint(
        np.int64(3),
        np.int64(3),
        np.int64(3),
        np.float64(1),
        np.float64(2),
        None,
        None,
        None,
        np.float64(0.5),
        "step",
        "confirmed",
    )
    document = history_document(series(found=Examination((change,), (), np.float64(0.25))))
    assert json.loads(json_line(document))["change_points"][0]["index"] == 3


def test_csv_has_a_row_for_every_change_under_its_header():
    (row,) = history_rows(series())
    found = dict(zip(history_documents.CSV_HEADER, row, strict=True))
    assert (found["series"], found["index"], found["x"], found["ci_low"]) == ("a", 3, 13, None)
    assert history_rows(series(found=Examination())) == []


def test_csv_header_of_benchmarks_is_the_keys_of_their_json():
    compared = Comparison("k", None, None, None, 1.0, 1.0, Verdict.INCONCLUSIVE, 0, 2)
    assert list(comparison_document(compared)) == comparison_documents.CSV_HEADER


@pytest.mark.parametrize("name", ["=1+1", "+a", "-O2", "@sum", "\tx", "\r=x", "＝1"])
def test_name_that_a_spreadsheet_would_run_gets_an_apostrophe(name: str):
    assert next(csv.reader(io.StringIO(csv_line([name, -0.5]), newline=""))) == [f"'{name}", "-0.5"]


@pytest.mark.parametrize("name", ["plain", "a,b", 'q"q', "two\nlines", "a\rb", "é"])
def test_other_names_come_back_as_they_are(name: str):
    assert next(csv.reader(io.StringIO(csv_line([name, None]), newline=""))) == [name, ""]


def keys_of(document: dict) -> set[str]:
    """Return the keys of a document and of all objects in it."""
    inner = [value for values in document.values() if isinstance(values, list) for value in values]
    return set(document).union(*(keys_of(one) for one in inner))


def test_every_key_and_column_is_documented():
    page = (Path(__file__).parents[3] / "docs" / "detect-and-compare.md").read_text(encoding="utf-8")
    compared = Comparison("k", None, None, None, 1.0, 1.0, Verdict.INCONCLUSIVE, 0, 2)
    keys = keys_of(history_document(series())) | keys_of(comparison_document(compared))
    assert len(keys) > 20
    assert [key for key in keys if f"`{key}`" not in page] == []
    assert ", ".join(f"`{name}`" for name in history_documents.CSV_HEADER) in " ".join(page.split())
