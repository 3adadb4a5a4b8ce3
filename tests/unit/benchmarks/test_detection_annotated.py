import json
import math
from pathlib import Path

import numpy as np
import pytest

from benchmarks.detection import experiments, table
from benchmarks.detection.__main__ import on_annotated
from benchmarks.detection.annotated import AnnotatedError, covering, f1, matched, read, read_folder
from benchmarks.detection.peers import NotInstalledError, working_scale

FOLDER = Path(__file__).parents[2] / "data" / "detection" / "annotated"
ANNOTATIONS = {"ann": [10], "bob": [], "cleo": [9, 16]}
"""Of two_levels.json, 20 values."""


class InProcess:
    """Stands for `Workers`: does each task here."""

    def map(self, label, function, tasks, chunk=4):
        return [function(task) for task in tasks]


def write(folder, content):
    file = folder / "series.json"
    file.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return file


def test_folder_gives_its_series_by_name():
    assert [series.name for series in read_folder(FOLDER)] == ["around_zero", "two_levels"]


def test_missing_values_are_left_out_and_the_others_keep_their_rows():
    series = read(FOLDER / "around_zero.json")
    assert series.n == 22
    assert series.x.tolist() == [0, 1, 2, *range(5, 18), 19, 20, 21]
    assert series.values[3] == -1.01
    assert np.all(np.isfinite(series.values))


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("{", "JSONDecodeError"),
        ([1, 2], "TypeError"),
        ({"values": [1, 2]}, "KeyError.'annotations'"),
        ({"values": ["fast"], "annotations": {"ann": []}}, "ValueError"),
        ({"values": [1, 2], "annotations": {}}, "no annotators"),
        ({"values": [None], "annotations": {"ann": []}}, "no values"),
        ({"values": [1, 2], "annotations": {"ann": [2]}}, "2 of ann is no index of 2 values"),
        ({"values": [1, 2], "annotations": {"ann": [0.5]}}, "0.5 of ann is no index"),
    ],
)
def test_file_of_another_form_is_refused_by_name_with_what_is_wrong(tmp_path, content, complaint):
    file = write(tmp_path, content)
    with pytest.raises(AnnotatedError, match=complaint) as caught:
        read(file)
    assert str(file) in str(caught.value)


def test_folder_without_series_is_refused(tmp_path):
    with pytest.raises(AnnotatedError, match=r"no \*\.json in"):
        read_folder(tmp_path)


def test_exact_alarms_of_a_single_annotator_score_one():
    assert f1({"ann": [10]}, [10]) == covering({"ann": [10]}, [10], 20) == 1


def test_alarm_five_points_off_is_found_and_six_points_off_is_not():
    assert f1({"ann": [10]}, [15]) == 1
    assert f1({"ann": [10]}, [16]) == pytest.approx(1 / 2)


def test_precision_is_against_all_annotators_and_recall_the_mean_of_each():
    # Alarms 0 and 12 both meet a mark; of ann's two marks both are found, of bob's one, of cleo's three the first two.
    assert f1(ANNOTATIONS, [12]) == pytest.approx(2 / (1 + 1 / np.mean([1, 1, 2 / 3])))
    # Without an alarm the first point alone is found.
    assert f1(ANNOTATIONS, []) == pytest.approx(2 / (1 + 1 / np.mean([1 / 2, 1, 1 / 3])))


def test_one_alarm_explains_one_mark_only():
    assert matched([0, 9, 10], [0, 9], 5) == 2
    assert matched([9, 12], [11, 12], 5) == 2


def test_covering_weighs_the_best_overlap_of_each_segment_by_its_length():
    ann = (10 * 10 / 12 + 10 * 8 / 10) / 20
    bob = 12 / 20
    cleo = (9 * 9 / 12 + 7 * 4 / 11 + 4 * 4 / 8) / 20
    assert covering(ANNOTATIONS, [12], 20) == pytest.approx(np.mean([ann, bob, cleo]))


def test_silence_covers_a_segment_by_its_share_of_the_series():
    assert covering({"ann": [5]}, [], 20) == pytest.approx((5 * 5 + 15 * 15) / 20**2)


def test_detector_is_scored_in_rows_of_the_file_where_values_are_missing():
    numbers = experiments.on_annotated(InProcess(), "reference", read_folder(FOLDER))
    assert numbers["series"]["around_zero"] == {"f1": 1, "covering": 1, "found": [12]}
    assert numbers["series"]["two_levels"]["found"] == [10]
    assert numbers["f1"] == pytest.approx((1 + numbers["series"]["two_levels"]["f1"]) / 2)
    assert numbers["covering"] < 1


def test_table_has_a_column_for_every_detector_and_for_silence(monkeypatch):
    def absent(name):
        raise NotInstalledError(f"no {name}")

    monkeypatch.setattr("benchmarks.detection.__main__.load", absent)
    columns = on_annotated(InProcess(), ["asv"], read_folder(FOLDER))
    lines = [line.split("|") for line in table.annotated_text(columns, long=True).splitlines()]
    rows = {line[1].strip(): [cell.strip() for cell in line[2:-1]] for line in lines}
    assert rows["annotated series"] == ["asv", "no change ever"]
    assert rows["F1"][0] == "not installed"
    assert rows["two_levels"][0] == table.MISSING
    silent = covering({"ann": [12]}, [], 22)
    assert rows["around_zero"][1] == f"{2 / 3:.2f} / {silent:.2f}"


def test_values_that_are_not_all_positive_are_not_taken_as_logarithms():
    assert working_scale(np.array([1.0, math.e])).tolist() == [0, 1]
    assert working_scale(np.array([0.0, 2.0])).tolist() == [0, 2]


@pytest.mark.parametrize("name", ["ours", "reference"])
def test_detector_finds_a_step_through_zero(name):
    numbers = experiments.on_annotated(InProcess(), name, [read(FOLDER / "around_zero.json")])
    assert numbers["f1"] == 1
